// SPDX-License-Identifier: Apache-2.0
// A session of 100 000 events: some hundred rows are in the page and bounded memory is taken, wherever in it one is, and whatever was
// dropped is read again.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../lib/wait.mjs';
import { startWatched } from './viewer.mjs';

const CALLS = 33_400; // three events each
const TURNS = 10;
const ROWS_MAX = 500;
const HEAP_MAX = 64 * 2 ** 20; // of which pages may take 24 MiB
const PAD = 'p'.repeat(400);

describe('a long session', () => {
  let w, sessionId;
  before(async () => {
    w = await startWatched({ roomy: true });
    const c = await w.d.client();

    ({ sessionId } = await c.newSession());
    for (let turn = 0; turn < TURNS; turn++)
      c.startPrompt(sessionId, Array.from({ length: CALLS / TURNS }, (_, i) => `tool c${i} read number ${turn * CALLS / TURNS + i} ${PAD}`).join(';'));
    await c.close(); // nobody has to take 100 000 updates here
    await until(async () => {
      const { turns, turn, queued } = (await w.d.http(`/v1/sessions/${sessionId}`, { token: w.d.token })).json;

      return turns === TURNS && !turn && !queued;
    }, 'all turns', 120_000);
  });
  after(() => w.end());

  test('has few rows in the page and bounded memory', async () => {
    const { page, close } = await w.open(sessionId);
    const cdp = await page.context().newCDPSession(page);
    const heap = async () => {
      await cdp.send('HeapProfiler.collectGarbage');
      return (await cdp.send('Runtime.getHeapUsage')).usedSize;
    };
    const hold = async (where) => {
      const rows = await page.locator('[data-row]').count(), used = await heap();

      assert.ok(rows > 0 && rows <= ROWS_MAX, `${rows} rows ${where}`);
      assert.ok(used <= HEAP_MAX, `${used} bytes ${where}`);
    };
    const shows = (n) => page.waitForFunction((text) => [...document.querySelectorAll('[data-row]')].some((r) => r.textContent.includes(text)), `number ${n} `);

    const read = [];

    page.on('request', (r) => { if (/format=ndjson/.test(r.url())) read.push(r.url()); });
    await shows(CALLS - 1);
    assert.ok((await w.d.http(`/v1/sessions/${sessionId}`, { token: w.d.token })).json.seq >= 100_000);
    assert.ok(Number(await page.locator('[data-row]').first().getAttribute('aria-setsize')) >= CALLS);
    await page.locator('[data-row]').last().focus();
    await hold('at the end');
    for (const [key, n] of [['Home', 0], ['End', CALLS - 1]]) {
      await page.keyboard.press(key);
      await shows(n);
      await hold(`after ${key}`);
    }
    for (const part of [0.25, 0.75, 0.5]) {
      await page.evaluate((p) => { const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight * p; }, part);
      await page.waitForFunction(([p, all]) => {
        const top = document.querySelector('.list').getBoundingClientRect().top + 10;
        const seen = [...document.querySelectorAll('[data-row]')].find((r) => r.getBoundingClientRect().bottom > top);

        return Math.abs(Number(seen?.textContent.match(/number (\d+) /)?.[1]) / all - p) < 0.05;
      }, [part, CALLS]);
      await hold(`at ${part}`);
    }
    assert.ok(read.some((url) => url.includes('/events?')), 'pages were dropped, and read again');
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.waitForSelector('.timeline-mark');
    assert.ok(await page.locator('.timeline-mark').count() <= 1200);
    assert.ok(await heap() <= HEAP_MAX);
    await close();
  });
});
