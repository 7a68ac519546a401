// SPDX-License-Identifier: Apache-2.0
// A draft in the page: begun, looked at, refused, applied, dropped; and nothing of it before a person has said so twice.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { assertAxe, sees } from './browser.mjs';
import { startWatched, tab } from './viewer.mjs';

describe('a draft', () => {
  let w;
  // The page has become the driver: this connection takes the session back, and the page again when it acts.
  const mine = async (sessionId, text) => {
    await w.c.resumeSession(sessionId, { cwd: (await w.d.http(`/v1/sessions/${sessionId}`, { token: w.d.token })).json.cwd });
    await w.c.prompt(sessionId, text);
  };
  before(async () => { w = await startWatched(); });
  after(() => w.end());

  test('is shown, applied as shown, and dropped', async () => {
    const { sessionId, cwd } = await w.session({ files: { 'old.txt': 'one\n' } });
    const { page, close } = await w.open(sessionId);
    const pane = await tab(page, 'Files');
    const act = async (name, sure = true) => {
      await pane.getByRole('button', { name: `${name}…` }).click();
      const asks = page.getByRole('alertdialog', { name });
      await (sure ? asks.getByRole('button', { name }) : asks.getByRole('button', { name: 'Keep it as it is' })).click();
    };

    await act('Begin a draft', false);
    assert.equal((await w.d.http(`/v1/sessions/${sessionId}`, { token: w.d.token })).json.draft, undefined);
    await act('Begin a draft');
    await sees(page, '.changes', /Changes of the draft.*The draft has begun/s);
    await mine(sessionId, 'write new.txt from the draft; write old.txt two');
    await sees(page, '.diff', /2 files/);
    await sees(page, '.changes', /2 paths in all/);
    assert.equal(fs.existsSync(`${cwd}/new.txt`), false, 'the workspace is as it was');
    await assertAxe(page);
    await act('Apply', false);
    assert.equal(fs.existsSync(`${cwd}/new.txt`), false, 'it was only asked');
    await act('Apply');
    await sees(page, '.draft', /Applied to the workspace/);
    assert.deepEqual([fs.readFileSync(`${cwd}/new.txt`, 'utf8'), fs.readFileSync(`${cwd}/old.txt`, 'utf8')], ['from the draft', 'two']);
    await sees(page, '.changes', /Nothing has changed/);

    await mine(sessionId, 'write gone.txt never');
    await sees(page, '.diff', /gone\.txt/);
    await act('Drop');
    await sees(page, '.changes', /Changes of the workspace.*Dropped/s);
    assert.equal(fs.existsSync(`${cwd}/gone.txt`), false);
    await close();
  });

  test('what others have changed meanwhile is said, and nothing is applied over it', async () => {
    const { sessionId, cwd } = await w.session({ files: { 'a.txt': 'one\n' }, meta: { draft: true }, prompts: ['write a.txt mine'] });
    const { page, close } = await w.open(sessionId);
    const pane = await tab(page, 'Files');

    await sees(page, '.diff', /a\.txt/);
    fs.writeFileSync(`${cwd}/a.txt`, 'theirs\n');
    await pane.getByRole('button', { name: 'Apply…' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Apply' }).click();
    await sees(page, '.draft', /Others have changed the same files/);
    await sees(page, '.changes', /1 path changed in the workspace itself.*a\.txt/s);
    assert.equal(fs.readFileSync(`${cwd}/a.txt`, 'utf8'), 'theirs\n');
    await close();
  });
});
