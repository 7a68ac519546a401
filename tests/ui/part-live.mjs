// SPDX-License-Identifier: Apache-2.0
// A session of a daemon, live in the page: seen, answered, prompted, by mouse and by keys alone, in the light and in the dark, wide and narrow.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../lib/wait.mjs';
import { assertAxe, PHONE, sees } from './browser.mjs';
import { startWatched, tab } from './viewer.mjs';

const SHOWN = ['title Fix the failing test', 'think Let me look first', 'plan', 'echo I have **changed** `a.c`', 'write a.c int main(void)', 'tool t9 execute Run the tests', 'usage', 'image'].join('; ');
const TABS = ['History', 'Timeline', 'Usage', 'Files', 'Checks', 'Servers', 'Errors'];
const NARROW = ['History', 'Files', 'State']; // where the width changes more than the width

describe('a live session', () => {
  let w, shown;
  before(async () => {
    w = await startWatched();
    shown = await w.session({ meta: { mcp: { builtin: true }, checks: [{ id: 'there', kind: 'command', argv: ['test', '-e', 'a.c'] }] }, prompts: [SHOWN] });
    await w.c.prompt(shown.sessionId, 'error 1 it broke').catch(() => {});
  });
  after(() => w.end());

  for (const [name, options] of Object.entries({ 'in the light': { colorScheme: 'light' }, 'a phone in the dark': { ...PHONE, colorScheme: 'dark' } })) {
    test(`${name}: every side of it, without a violation`, async () => {
      const { page, close } = await w.open(shown.sessionId, options);

      await sees(page, '.say-agent', /I have changed a\.c/);
      for (const side of options.isMobile ? [...TABS, 'State'] : TABS) {
        const pane = await tab(page, side);
        await page.waitForFunction((id) => document.querySelector(`[role=tab][aria-selected=true]`)?.textContent.startsWith(id), side);
        assert.ok((await pane.textContent()).length > 10, `${side} is empty`);
        if (!options.isMobile || NARROW.includes(side)) await assertAxe(page);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${side} scrolls to the side`);
      }
      assert.equal(await page.getByRole('tab', { name: 'State' }).count(), options.isMobile ? 1 : 0);
      await close();
    });
  }

  test('what each side says is true', async () => {
    const { page, close } = await w.open(shown.sessionId);

    await sees(page, '.say-agent', /I have changed a\.c/);
    assert.equal(await page.evaluate(() => location.href.includes('token')), false, 'the token has left the address');
    for (const [name, says] of [['Servers', /acpd.*builtin/], ['Checks', /Turn 1.*there/s], ['Errors', /Turn 2.*it broke/s], ['Usage', /120/]]) {
      await tab(page, name);
      await sees(page, '[role=tabpanel]', says); // some of it is asked for by itself
    }
    const files = await tab(page, 'Files');
    await sees(page, '.changes', /There is nothing to compare with/);
    assert.match(await files.textContent(), /1 file changed/);
    await files.getByRole('button', { name: /a\.c$/ }).click();
    await page.waitForFunction(() => document.activeElement?.matches('[data-row]') && /Run the tests/.test(document.activeElement.textContent));
    await close();
  });

  test('a question is answered by its button, and the answer reaches the agent', async () => {
    const { sessionId } = await w.session();
    const turn = w.c.startPrompt(sessionId, 'perm p1');
    const { page, close } = await w.open(sessionId);

    await page.getByRole('button', { name: 'Allow once' }).click();
    await sees(page, '.say-agent', /permission:allow/);
    await turn.answer;
    await sees(page, '.question-over', /Allow/);
    assert.equal(await page.getByRole('button', { name: 'Allow once' }).count(), 0);
    await close();
  });

  test('by keys alone: find, read, answer, take over, prompt, cancel', async () => {
    const { sessionId } = await w.session({ prompts: ['title Only keys; echo here'] });
    w.c.startPrompt(sessionId, 'perm p1; sleep 600000');
    const { page, close } = await w.open();
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
    const goTo = async (what, key = 'Tab') => {
      await page.waitForFunction((w) => [...document.querySelectorAll('*')].some((e) => e.textContent === w || e.localName === w), what);
      for (let i = 0; i < 60; i++) {
        await press(key);
        if (await page.evaluate((w) => document.activeElement?.textContent === w || document.activeElement?.localName === w, what)) return;
      }
      assert.fail(`no way to ${what}`);
    };

    await page.waitForSelector('.session');
    await press('/');
    await page.keyboard.type('only keys');
    await page.waitForFunction(() => document.querySelectorAll('.session').length === 1 && /needs you/.test(document.querySelector('.session').textContent));
    await goTo(await page.locator('.session').textContent());
    await press('Enter');
    await sees(page, '.question-open', /asks for permission/);
    await press('n');
    await page.waitForFunction(() => document.activeElement?.matches('[data-row]') && document.activeElement.querySelector('.question-open'));
    await goTo('Reject');
    await press('Enter');
    await sees(page, '.say-agent', /permission:reject/);
    await press('2');
    await page.waitForSelector('.timeline-picture');
    await press('1');
    await goTo('Prompt…');
    await press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Take over', 'the focus is in the question');
    await press('Enter');
    await page.waitForFunction(() => document.activeElement?.localName === 'textarea');
    await goTo('Cancel turn');
    await press('Enter');
    await sees(page, '.turnend', /Cancelled/);
    await page.waitForFunction(() => document.querySelector('.composer .button-main')?.textContent === 'Send');
    await goTo('textarea', 'Shift+Tab');
    await page.keyboard.type('echo typed by hand');
    await press('Enter');
    await sees(page, '.say-agent', /typed by hand/);
    await press('Escape');
    await press('Escape');
    await page.waitForSelector('.page-none');
    await close();
    await until(() => w.c.notifications.some((m) => m.method === '_acpd/detached' && m.params.sessionId === sessionId), 'the other driver is told');
  });
});
