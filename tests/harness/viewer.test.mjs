// SPDX-License-Identifier: Apache-2.0
// The viewer on a run of each real harness: live, cut off in mid-turn, every side of it, by keys alone, without a violation.

import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { assertAxe, openPage, sees } from '../ui/browser.mjs';
import { tab } from '../ui/viewer.mjs';
import { HARNESSES } from './programs.mjs';
import { startRun } from './viewer-run.mjs';

const WANTED = (process.env.HARNESS || 'codex,opencode,pi').split(',').filter((id) => HARNESSES[id]);

// Between the page and the daemon: cut() ends what is open.
async function cutter(port) {
  const open = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');

    near.pipe(far).pipe(near);
    for (const s of [near, far]) {
      open.add(s);
      s.on('error', () => {});
      s.on('close', () => { open.delete(s); near.destroy(); far.destroy(); });
    }
  });
  const cut = () => open.forEach((s) => s.destroy());

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, cut, close: () => { cut(); server.close(); } };
}

for (const harness of WANTED) {
  test(`${harness}: its run is seen, cut off in mid-turn, on every side and by keys alone`, async () => {
    const run = await startRun(harness);
    const line = await cutter(run.d.port);
    // A connection that is cut is an error of the console; what is wrong besides is asserted all the same.
    const { page, close } = await openPage(run.url(line.port), { origins: [`http://127.0.0.1:${line.port}`], refuses: true });
    const turn = run.prompt();

    await sees(page, '[data-row]', /cart\.mjs/);
    line.cut();
    assert.equal((await turn).stopReason, 'end_turn');
    await sees(page, '.say-agent', /Fixed: total\(\) skipped the first item/);
    assert.equal(await page.locator('.say-agent', { hasText: 'Fixed:' }).count(), 1, 'once, whatever was cut');
    for (const side of ['History', 'Timeline', 'Usage', 'Files', 'Checks', 'Servers', 'Errors']) {
      assert.ok((await (await tab(page, side)).textContent()).length > 10, `${side} is empty`);
      await assertAxe(page);
    }
    assert.match(await (await tab(page, 'Files')).textContent(), /cart\.mjs/);
    await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
    for (let i = 0; i < 40 && !(await page.evaluate(() => document.activeElement?.matches('[role=tab]'))); i++)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    assert.match(await page.evaluate(() => document.activeElement.textContent), /^Timeline/);
    await close();
    line.close();
    await run.end();
  });
}
