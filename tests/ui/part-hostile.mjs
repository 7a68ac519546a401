// SPDX-License-Identifier: Apache-2.0
// The corpus of hostile texts the whole way: from an agent, through the daemon, into every part of the page that shows what it says, and from
// the names and contents of files in a workspace, through git, into the diff.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { ALLOWED } from './part-xss.mjs';
import { sees } from './browser.mjs';
import { startWatched, tab } from './viewer.mjs';
import { corpus, faults, watch } from './xss.mjs';

const MORE = ['article', 'aside', 'dd', 'dl', 'dt', 'h1', 'header', 'nav', 'script', 'strong', 'textarea', 'time'];
const LONG = 10_000; // of a text so long one place has to do
const TALL = { viewport: { width: 1280, height: 3000 } };

const allowed = { ...ALLOWED, elements: [...ALLOWED.elements, ...MORE], attributes: [...ALLOWED.attributes, 'maxlength', 'placeholder', 'rows', 'spellcheck'], title: undefined }; // it is the session's, which is hostile, too
// A step of the stub: a semicolon would end it.
const step = (directive, value) => `${directive} ${JSON.stringify(value).replaceAll(';', '\\u003b')}`;
const update = (sessionUpdate, more) => step('update', { sessionUpdate, ...more });
const text = (t) => ({ type: 'text', text: t });

// All that an agent can say with this text in it.
function saying({ id, text: t }) {
  const call = { toolCallId: id, title: t.slice(0, LONG), kind: 'execute', status: 'completed', rawInput: { [t.slice(0, 100)]: t }, content: [{ type: 'content', content: text(t) }] };

  if (t.length > LONG)
    return [update('agent_message_chunk', { content: text(t) }), update('tool_call', { ...call, rawInput: {} })].join(';');
  return [
    update('agent_message_chunk', { messageId: id, content: text(t) }), update('agent_thought_chunk', { content: text(t) }),
    update('tool_call', { ...call, rawOutput: { out: t }, locations: [{ path: `/${t}` }],
      content: [...call.content, { type: 'diff', path: `/${t}`, oldText: t, newText: `${t}\n${t}` }, { type: 'terminal', terminalId: t }],
      _meta: { terminal_output: { terminal_id: t, data: t } } }),
    update('plan', { entries: [{ content: t, priority: 'high', status: 'pending' }] }),
    update('agent_message_chunk', { content: { type: 'resource_link', uri: t, name: t, title: t } }),
    update('agent_message_chunk', { content: { type: 'image', mimeType: t, data: 'AAAA' } }),
    update('session_info_update', { title: t }),
  ].join(';');
}

const asking = (t) => step('ask session/request_permission', { toolCall: { toolCallId: t.slice(0, 60) || 'x', title: t }, options: [{ optionId: 'a', name: t.slice(0, 200) || 'a', kind: 'allow_once' }] });

describe('hostile texts from an agent', () => {
  let w, sessionId, cwd;
  before(async () => {
    w = await startWatched();
    ({ sessionId, cwd } = await w.session({ meta: { workspace: { baseline: true } } }));
    for (const entry of corpus())
      await w.c.prompt(sessionId, saying(entry));
  });
  after(() => w.end());

  const hold = async (page, where) => assert.deepEqual(await page.evaluate(faults, allowed), [], where);
  const opened = async () => {
    const seen = await w.open(sessionId, { ...TALL, init: watch });

    await seen.page.waitForFunction((n) => document.querySelectorAll('.turnend').length && document.querySelector('[data-row]').ariaSetSize > n, corpus().length * 3);
    return seen;
  };

  test('in the history, with everything unfolded', async () => {
    const { page, close } = await opened();
    let seen = 0;

    await page.keyboard.press('Home');
    for (let at = 0, size = 1; at < size;) {
      await page.waitForFunction((n) => {
        const list = document.querySelector('.list'), row = list.querySelector(`[data-row="${n}"]`);

        if (row) row.scrollIntoView({ block: 'start' });
        else list.scrollTop += (n < Number(list.querySelector('[data-row]')?.dataset.row) ? -0.5 : 0.5) * list.clientHeight; // heights have changed
        return row && !list.querySelector('.row-loading');
      }, at);
      await page.evaluate(() => { for (const d of document.querySelectorAll('[data-row] details:not([open])')) d.open = true; });
      await hold(page, `row ${at}`);
      [at, size] = await page.evaluate(() => {
        const last = [...document.querySelectorAll('[data-row]')].at(-1);

        return [Number(last.dataset.row), Number(last.ariaSetSize) - 1];
      });
      seen++;
    }
    assert.ok(seen > 3);
    await close();
  });

  test('on the other sides, wide and narrow, and in a replay', async () => {
    const { page, close } = await opened();

    for (const name of ['Timeline', 'Usage', 'Files', 'Errors']) {
      await tab(page, name);
      for (const button of await page.getByRole('button', { name: 'Show as a table' }).all()) await button.click();
      await hold(page, name);
    }
    await page.setViewportSize({ width: 700, height: 3000 });
    await tab(page, 'State');
    await hold(page, 'State');
    await tab(page, 'History');
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('slider').press('End');
    await page.waitForFunction(() => document.querySelectorAll('.turnend').length > 0);
    await hold(page, 'replay');
    await close();
  });

  test('in a question, in an error and in the list of sessions', async () => {
    const short = corpus().filter((e) => e.text.length <= 2000);
    const { sessionId: asked } = await w.session();

    w.c.startPrompt(asked, short.slice(0, 40).map((e) => asking(e.text)).join(';'));
    const { page, close } = await w.open(asked, { ...TALL, init: watch });

    for (const { id } of short.slice(0, 40)) {
      await page.waitForSelector('.question-open button');
      await hold(page, `question ${id}`);
      const row = await page.locator('.question-open').evaluate((e) => e.closest('[data-row]').dataset.row);
      await page.locator('.question-open button').first().click();
      await page.waitForFunction((n) => !document.querySelector(`[data-row="${n}"] .question-open`), row);
    }
    await sees(page, '.turnend', /Turn 1/);
    for (const { text: t } of short.slice(40))
      await w.c.prompt(asked, step('error 1', t)).catch(() => {});
    await tab(page, 'Errors');
    await sees(page, '.tab-bad', new RegExp(`^${short.length - 40}$`));
    await hold(page, 'errors');
    await close();
  });

  test('in names and contents of files, through git', async () => {
    let made = 0;

    for (const { id, text: t } of corpus()) {
      const name = t.replaceAll('/', '\u2215').replaceAll('\0', '');
      const cut = [...name].reduce((all, ch) => (Buffer.byteLength(all + ch) > 200 ? all : all + ch), '');

      try {
        fs.writeFileSync(`${cwd}/${id} ${cut}`, t);
        made++;
      } catch { /* the file system does not take the name */ }
    }
    assert.ok(made > corpus().length / 2);
    const { page, close } = await opened();

    await tab(page, 'Files');
    await page.waitForSelector('.changes .diff-file');
    for (let more = page.locator('.changes .diff > .button'); await more.count();) await more.first().click();
    for (let i = 0; i < made; i += 10) {
      await page.evaluate((n) => { [...document.querySelectorAll('.changes details.diff-file')].forEach((d, k) => { d.open = k >= n && k < n + 10; }); }, i);
      await page.waitForFunction((n) => document.querySelectorAll('.changes details.diff-file[open] :is(table, .diff-empty)').length >= n, Math.min(10, (await page.locator('.changes .diff-file').count()) - i));
      await hold(page, `files ${i}`);
    }
    await close();
  });
});
