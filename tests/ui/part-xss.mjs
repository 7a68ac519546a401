// SPDX-License-Identifier: Apache-2.0
// Every component of the viewer with every text of the corpus in every place, in Chromium and under the daemon's policy: nothing runs,
// nothing is fetched, no element or attribute appears that the viewer does not make, nothing hides, and nothing is without end.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { theBrowser } from './browser.mjs';
import { servePage } from './page.mjs';
import { corpus, faults, watch } from './xss.mjs';

export const ALLOWED = {
  title: 'acpd',
  most: 20_000, // of all components together: ten of them show a message each
  elements: ['a', 'b', 'bdi', 'blockquote', 'br', 'button', 'circle', 'code', 'col', 'colgroup', 'defs', 'del', 'details', 'div', 'em', 'fieldset', 'form', 'g', 'h1', 'h2',
    'h3', 'h4', 'h5', 'h6', 'hr', 'img', 'input', 'label', 'legend', 'li', 'line', 'main', 'mark', 'noscript', 'ol', 'option', 'p', 'path', 'pattern', 'pre', 'rect', 'section',
    'select', 'span', 'strong', 'summary', 'svg', 'table', 'tbody', 'td', 'text', 'th', 'thead', 'title', 'tr', 'ul'],
  attributes: ['alt', 'autocomplete', 'checked', 'class', 'colspan', 'd', 'dir', 'disabled', 'fill', 'for', 'height', 'href', 'id', 'loading', 'max', 'min', 'novalidate', 'open',
    'patternTransform', 'patternUnits', 'rel', 'role', 'rx', 'scope', 'selected', 'src', 'start', 'step', 'stroke', 'stroke-linecap', 'stroke-linejoin', 'stroke-width', 'style', 'tabindex', 'target', 'title',
    'type', 'value', 'viewBox', 'width', 'x', 'x1', 'x2', 'y', 'y1', 'y2'],
};

describe('every component with every hostile text', () => {
  let site, browser, page;
  const asked = [];
  before(async () => {
    site = await servePage('hostile');
    browser = await theBrowser();
    page = await (await browser.newContext({ viewport: { width: 500, height: 200 } })).newPage(); // little to paint
    page.on('request', (request) => asked.push(request.url()));
    page.on('popup', (popup) => asked.push(`a window: ${popup.url()}`));
    page.on('dialog', (dialog) => { asked.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
    await page.addInitScript(watch);
    await page.goto(site.url);
  });
  after(async () => {
    await page?.context().close();
    await site?.close();
  });

  test('the watch itself sees an element, an attribute, a script that runs, a request and a hidden character', async () => {
    const probe = await (await browser.newContext()).newPage();

    await probe.addInitScript(watch);
    await probe.goto(site.url);
    await probe.evaluate(() => {
      const image = document.createElement('img');

      image.setAttribute('onerror', 'alert(1)');
      image.src = 'https://xss.invalid/a.png';
      document.body.append(image, document.createElement('marquee'), 'a\u202eb');
      window.alert(1);
      document.title = 'x';
    });
    await probe.waitForFunction(() => window.happened.length >= 3);
    const found = await probe.evaluate(faults, ALLOWED);

    for (const what of [/element marquee/, /attribute onerror/, /alert\(1\)/, /src https/, /policy: img-src/, /policy: script-src/, /hidden characters/, /the title is x/])
      assert.ok(found.some((f) => what.test(f)), `${what} is not in ${JSON.stringify(found)}`);
    await probe.context().close();
  });

  for (const { id, text } of corpus()) {
    test(id, async () => {
      await page.evaluate((t) => window.show(t), text);
      assert.deepEqual(await page.evaluate(faults, ALLOWED), []);
      const own = new RegExp(`^${site.url}(app\\.js|app\\.css)?$|^data:image/`);
      assert.deepEqual(asked.filter((url) => !own.test(url)), []);
      assert.equal(page.url(), site.url);
    });
  }
});
