// SPDX-License-Identifier: Apache-2.0
// shots.mjs FOLDER - what `make ui-shots` runs: two pictures of a real run in the viewer, its session in the light and its timeline in
// the dark. They stand in the README.

import path from 'node:path';
import { openBrowser } from '../lib/browser.mjs';
import { startRun } from './viewer-run.mjs';

const folder = path.resolve(process.argv[2]);
const run = await startRun(process.env.HARNESS || 'opencode');
const browser = await openBrowser();

await run.prompt();
for (const [name, colorScheme, side, height] of [['session', 'light', 'History', 800], ['timeline', 'dark', 'Timeline', 480]]) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height }, colorScheme })).newPage();

  await page.goto(run.url());
  await page.locator('.say-agent', { hasText: 'Fixed:' }).waitFor();
  await page.getByRole('tab', { name: new RegExp(`^${side}`) }).click();
  if (side === 'History')
    await page.locator('summary, button', { hasText: 'Edit' }).last().click(); // its diff
  await page.waitForTimeout(500); // what moves has come to rest
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}
await browser.close();
await run.end();
