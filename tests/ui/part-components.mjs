// SPDX-License-Identifier: Apache-2.0
// The components with plausible data in Chromium: in light and dark and on a phone without a violation of accessibility, by keyboard, and
// with as much data as a run can have.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAxe, DESK, PHONE, theBrowser } from './browser.mjs';
import { servePage } from './page.mjs';

let browser, gallery, hostile;

async function open(site, options = DESK) {
  const page = await (await browser.newContext(options)).newPage();
  const wrong = [];

  page.on('pageerror', (e) => wrong.push(e.message));
  page.on('console', (m) => { if (m.type() === 'error') wrong.push(m.text()); });
  page.on('request', (r) => { if (!r.url().startsWith(site.url) && !r.url().startsWith('data:')) wrong.push(r.url()); });
  await page.goto(site.url);
  await page.waitForSelector('#app', { state: 'attached' });
  return { page, wrong, close: () => page.context().close() };
}

describe('components', () => {
  before(async () => {
    [gallery, hostile] = [await servePage('gallery'), await servePage('hostile')];
    browser = await theBrowser();
  });
  after(async () => {
    await gallery?.close();
    await hostile?.close();
  });

  for (const [name, options] of Object.entries({ 'in the light': { ...DESK, colorScheme: 'light' }, 'a phone in the dark': { ...PHONE, colorScheme: 'dark' } })) {
    test(`${name}: nothing that axe finds, nothing wider than the page`, async () => {
      const { page, wrong, close } = await open(gallery, options);

      for (const id of ['timeline', 'usage']) await page.locator(`#${id}`).getByRole('button', { name: 'Show as a table' }).click();
      await assertAxe(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'it scrolls to the side');
      assert.deepEqual(wrong, []);
      await close();
    });
  }

  describe('by hand', () => {
    let page, wrong, close;
    before(async () => { ({ page, wrong, close } = await open(gallery)); });
    after(async () => {
      await close();
      assert.deepEqual(wrong, []);
    });
    const asked = () => page.evaluate(() => window.asks.splice(0));

    test('a question is answered by its button', async () => {
      await page.locator('#questions').getByRole('button', { name: 'Always allow' }).focus();
      await page.keyboard.press('Enter');
      assert.deepEqual(await asked(), [{ optionId: 'b' }]);
    });
    test('a form says what is missing, and sends what was given', async () => {
      const form = page.locator('#questions form');

      await form.getByRole('button', { name: 'Send' }).click();
      assert.deepEqual(await asked(), []);
      assert.match(await form.getByRole('alert').textContent(), /Not sent/);
      await form.getByLabel('Region').selectOption({ label: 'America' });
      await form.getByLabel('Replicas').fill('3');
      await form.getByLabel('worker').check();
      await form.getByLabel('Only try it').uncheck();
      await page.keyboard.press('Tab');
      await form.getByRole('button', { name: 'Send' }).click();
      assert.deepEqual(await asked(), [{ action: 'accept', content: { region: 'us-1', replicas: 3, dry: false, parts: ['worker'] } }]);
    });
    test('the timeline zooms by keys, buttons, wheel and pointer, and opens what is clicked', async () => {
      const box = page.locator('#timeline');
      const said = () => box.locator('[aria-live]').textContent();
      const picture = box.locator('svg.timeline-picture');
      const whole = await said();
      const changes = async (act) => {
        await box.getByRole('button', { name: 'All' }).evaluate((b) => b.click());
        await page.waitForFunction((text) => document.querySelector('#timeline [aria-live]').textContent === text, whole);
        await act();
        await page.waitForFunction((text) => document.querySelector('#timeline [aria-live]').textContent !== text, whole);
      };

      await picture.scrollIntoViewIfNeeded();
      const at = await picture.boundingBox();
      await changes(async () => { await picture.focus(); await page.keyboard.press('+'); });
      await changes(() => box.getByRole('button', { name: 'Zoom in' }).click());
      await changes(async () => {
        await page.mouse.move(at.x + 300, at.y + 50);
        await page.mouse.down();
        await page.mouse.move(at.x + 350, at.y + 50);
        await page.mouse.move(at.x + 500, at.y + 50);
        await page.mouse.up();
      });
      await changes(async () => { await picture.focus(); await page.mouse.wheel(0, -300); });
      await asked();
      await box.getByRole('button', { name: 'All' }).click();
      await box.locator('.timeline-turn rect').first().click();
      assert.deepEqual((await asked()).map((s) => s.label), ['Turn 1']);
      await box.getByRole('button', { name: 'Show as a table' }).click();
      await box.getByRole('button', { name: /more row/ }).click();
      await box.getByRole('table').getByRole('button', { name: 'npm publish' }).click();
      assert.deepEqual((await asked()).map((s) => s.label), ['npm publish']);
    });
    test('a replay is sought by keys, and says where it is', async () => {
      const seek = page.locator('#replay').getByRole('slider');

      assert.match(await seek.getAttribute('aria-valuetext'), /^1 minute 23 seconds of 5 minutes 12 seconds, turn 3 of 7$/);
      await seek.focus();
      await page.keyboard.press('Home');
      await page.locator('#replay').getByRole('combobox').selectOption('50');
      await page.locator('#replay').getByRole('button', { name: 'Play', exact: true }).click();
      assert.deepEqual(await asked(), [0, 50, true]);
    });
    test('the chart has the same numbers as its table', async () => {
      const box = page.locator('#usage');
      const sum = Number((await box.locator('.usagechart-sum').textContent()).replace(/\D/g, ''));

      await box.getByRole('button', { name: 'Show as a table' }).click();
      const rows = await box.getByRole('table').locator('tbody tr td:last-child').allTextContents();
      assert.equal(rows.reduce((n, text) => n + Number(text.replace(/\D/g, '')), 0), sum);
    });
    test('a diff is side by side or unified, as asked', async () => {
      const box = page.locator('#diff-of-a-patch');

      assert.equal(await box.locator('.diff-table-split').count(), 3);
      await box.getByRole('button', { name: 'Unified' }).click();
      assert.equal(await box.locator('.diff-table-unified').count(), 3);
      assert.equal(await box.locator('.diff-note').first().textContent(), ' no newline at the end');
    });
  });

  describe('as much as there can be', () => {
    let page, wrong, close;
    before(async () => { ({ page, wrong, close } = await open(hostile)); });
    after(async () => {
      await close();
      assert.deepEqual(wrong, []);
    });

    test('of a diff of 100 000 lines some rows are in the page, wherever one is in it', async () => {
      const lines = Array.from({ length: 50_000 }, (_, i) => `-old line ${i}\n+new line ${i}\n`).join('');

      await page.evaluate((t) => window.show(t, 8), `--- a/big\n+++ b/big\n@@ -1,50000 +1,50000 @@\n${lines}`);
      for (const part of [0, 0.3, 0.77, 1]) {
        await page.evaluate((p) => window.scrollTo(0, document.documentElement.scrollHeight * p), part);
        await page.waitForFunction(() => [...document.querySelectorAll('.diff-block tr')].some((r) => { const b = r.getBoundingClientRect(); return b.top < innerHeight && b.bottom > 0; }));
        assert.ok(await page.locator('.diff-block tr').count() <= 400);
      }
      await page.waitForFunction(() => {
        window.scrollTo(0, document.documentElement.scrollHeight);
        return [...document.querySelectorAll('.diff-text')].at(-1)?.textContent.includes('new line 49999');
      });
    });
    test('of 100 000 spans the timeline draws some marks, at every zoom', async () => {
      await page.evaluate(() => window.spans(100_000));
      await page.locator('.timeline-picture').focus();
      for (let zoom = 0; zoom < 24; zoom++) {
        if (zoom % 6 === 0) {
          const count = await page.locator('.timeline-mark').count();

          assert.ok(count > 0 && count <= 1200, `${count}`);
        }
        await page.keyboard.press('+');
      }
      assert.match(await page.locator('.timeline-label').first().textContent(), /^span \d+$|^× \d+$/);
    });
  });
});
