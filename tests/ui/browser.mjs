// SPDX-License-Identifier: Apache-2.0
// One Chromium for all parts of a test file, and what each page of it is held to.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { after } from 'node:test';
import { openBrowser } from '../lib/browser.mjs';
import { patience } from '../lib/rawws.mjs';

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const DESK = { viewport: { width: 1100, height: 800 } };
export const WIDE = { viewport: { width: 1280, height: 800 } };
export const PHONE = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true };

let browser;
export const theBrowser = () => (browser ??= openBrowser());
after(async () => (await browser)?.close());

export async function assertAxe(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'], preload: false }));

  assert.deepEqual(found.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 150)} ${n.any[0]?.message ?? ''}`)]), []);
  assert.ok(found.passes.some((p) => p.id === 'color-contrast'), 'contrast was looked at');
}

// A page of its own, which asks nobody but these origins, and where nothing goes wrong. refuses: requests may be refused.
export async function openPage(url, { origins = [new URL(url).origin], refuses = false, init, ...options } = {}) {
  const page = await (await (await theBrowser()).newContext({ ...WIDE, ...options })).newPage();
  const wrong = [];

  page.setDefaultTimeout(patience(60_000));

  const own = (asked) => /^(data|blob):/.test(asked) || origins.some((o) => asked.startsWith(o) || asked.startsWith(o.replace(/^http/, 'ws')));

  page.on('pageerror', (e) => wrong.push(e.message));
  page.on('console', (m) => { if (m.type() === 'error' && !(refuses && /Failed to load resource|CORS policy|WebSocket connection/.test(m.text()))) wrong.push(m.text()); });
  page.on('request', (r) => { if (!own(r.url())) wrong.push(`asked ${r.url()}`); });
  page.on('websocket', (w) => { if (!own(w.url())) wrong.push(`asked ${w.url()}`); });
  page.on('popup', (p) => wrong.push(`a window: ${p.url()}`));
  page.on('dialog', (dialog) => { wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  if (init)
    await page.addInitScript(init);
  await page.goto(url);
  return { page, wrong, async close() {
    assert.deepEqual(wrong, []);
    await page.context().close();
  } };
}

const SHOWN = 600; // characters of a page, told with a failure

// Waits until the text that a locator finds is like this.
export async function sees(page, selector, what) {
  await page.waitForFunction(([where, source, flags]) => [...document.querySelectorAll(where)].some((e) => new RegExp(source, flags).test(e.textContent)),
    [selector, what.source, what.flags]).catch(async (e) => {
    const shown = await page.evaluate((n) => document.body.innerText.slice(0, n), SHOWN).catch(String);

    throw new Error(`no ${selector} with ${what}: ${e.message}; the page has: ${shown}`);
  });
}
