// SPDX-License-Identifier: Apache-2.0
// The corpus of hostile texts: what agents, tools, files and patches may say to the viewer. An entry is `text`, repeated `times`, between
// `before` and `then`. What they try is to call alert, to fetch from xss.invalid, to look like something else, or to take for ever.

import fs from 'node:fs';

export const corpus = () => JSON.parse(fs.readFileSync(new URL('xss-corpus.json', import.meta.url), 'utf8'))
  .map(({ id, text, times = 1, before = '', then = '' }) => ({ id, text: before + text.repeat(times) + then }));

// Runs in the page before anything else: counts what must not happen.
export function watch() {
  const happened = [];

  window.happened = happened;
  for (const name of ['alert', 'confirm', 'prompt', 'open'])
    window[name] = (...args) => { happened.push(`${name}(${args})`); };
  document.addEventListener('securitypolicyviolation', (e) => happened.push(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  // What Chromium says of an observer that has more to tell in the next frame is no error of anybody.
  window.addEventListener('error', (e) => { if (!e.message.startsWith('ResizeObserver loop')) happened.push(`error: ${e.message}`); });
  window.addEventListener('unhandledrejection', (e) => happened.push(`rejection: ${e.reason}`));
}

// Runs in the page: what is wrong with the document, in words. Elements and attributes are those that the viewer makes, addresses those that
// may be followed, and nothing hides or turns the text.
export function faults(allowed) {
  const found = new Set(window.happened);
  const hidden = /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
  const elements = document.querySelectorAll('body *');

  for (const e of elements) {
    if (!allowed.elements.includes(e.localName)) found.add(`element ${e.localName}`);
    for (const { name, value } of e.attributes) {
      if (!allowed.attributes.includes(name) && !name.startsWith('aria-') && !name.startsWith('data-')) found.add(`attribute ${name} of ${e.localName}`);
      if (name === 'href' && !/^(https?:|mailto:)/.test(value)) found.add(`href ${value.slice(0, 80)}`);
      if (name === 'src' && !/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/.test(value)) found.add(`src ${value.slice(0, 80)}`);
      if (name === 'style' && /url|expression|@|\\|;\s*position/i.test(value)) found.add(`style ${value.slice(0, 80)}`);
      if (hidden.test(value)) found.add(`hidden characters in ${name} of ${e.localName}`);
    }
    if (e.localName === 'a' && !/noopener/.test(e.rel)) found.add('a link without noopener');
  }
  if (hidden.test(document.body.textContent)) found.add('hidden characters in the text');
  if (({}).polluted !== undefined || Object.keys(Object.prototype).length) found.add('the prototype of objects is changed');
  if (allowed.title !== undefined && document.title !== allowed.title) found.add(`the title is ${document.title}`);
  if (hidden.test(document.title)) found.add('hidden characters in the title');
  if (elements.length > allowed.most) found.add(`${elements.length} elements`);
  return [...found];
}
