// SPDX-License-Identifier: Apache-2.0
// A bundle in the page: dropped on it from a disk, without any daemon; and imported into one.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { fetchBundle, sha256 } from '../lib/bundles.mjs';
import { assertAxe, openPage, sees } from './browser.mjs';
import { BUILT } from './page.mjs';
import { startWatched, tab } from './viewer.mjs';

describe('a bundle', () => {
  let w, bytes, sessionId;
  before(async () => {
    w = await startWatched();
    ({ sessionId } = await w.session({ files: { 'old.txt': 'one\n' }, meta: { workspace: { baseline: true } }, prompts: ['title A run to keep; echo first; write new.txt from the agent', 'sleep 700; echo last'] }));
    await w.c.call('_acpd/artifact/put', { sessionId, name: 'report.txt', type: 'text/plain', text: 'the report' });
    ({ bytes } = await fetchBundle(w.d, sessionId));
    await w.c.call('session/delete', { sessionId });
  });
  after(() => w.end());

  async function fromDisk(options) {
    return openPage(pathToFileURL(`${BUILT}/index.html`).href, { origins: [pathToFileURL(BUILT).href], acceptDownloads: true, ...options });
  }
  async function drop(page, name, data) {
    const dataTransfer = await page.evaluateHandle(([text, called]) => {
      const all = new DataTransfer();

      all.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], called));
      return all;
    }, [data.toString('base64'), name]);

    await page.dispatchEvent('body', 'drop', { dataTransfer });
  }
  const saved = async (page, click) => {
    const [download] = await Promise.all([page.waitForEvent('download'), click()]);

    return fs.readFileSync(await download.path(), 'utf8');
  };

  test('dropped on the page that was opened from a disk is shown, replayed, and asks nobody', async () => {
    const { page, close } = await fromDisk();

    await assertAxe(page);
    await drop(page, 'run.acpd', bytes);
    await sees(page, '.say-agent', /first/);
    await sees(page, 'h1', /A run to keep/);
    const files = await tab(page, 'Files');
    await sees(page, '.changes .diff', /new\.txt.*from the agent/s);
    assert.equal(await saved(page, () => files.getByRole('button', { name: 'Save report.txt' }).click()), 'the report');
    assert.equal(await page.getByRole('button', { name: /Prompt|Begin a draft/ }).count(), 0);
    await assertAxe(page);
    await tab(page, 'History');
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('combobox').selectOption('50');
    await page.locator('.transport').getByRole('button', { name: 'Play from the beginning' }).waitFor();
    await sees(page, '.say-agent', /last/);
    await page.getByRole('button', { name: 'Close the bundle' }).click();
    await page.getByText('A bundle file').waitFor();
    await close();
  });

  // As on a busy machine: what Preact leaves until after a frame comes when the whole bundle has been read.
  test('is shown by a page whose effects are late', async () => {
    const { page, close } = await fromDisk({ init: () => {
      const soon = window.setTimeout;

      window.setTimeout = (f, ms, ...args) => soon(f, ms ?? 1500, ...args);
    } });

    await drop(page, 'run.acpd', bytes);
    await sees(page, '.say-agent', /first/);
    await close();
  });

  test('that was changed, or is none, is refused by name', async () => {
    const { page, close } = await fromDisk();
    const changed = Buffer.from(bytes);

    changed[changed.length >> 1] ^= 1;
    for (const [name, data, says] of [['changed.acpd', changed, /changed\.acpd is refused \(BUNDLE_(TAMPERED|INVALID)\)/], ['empty', Buffer.alloc(0), /empty is refused/], ['a.txt', Buffer.from('hello'), /a\.txt is refused \(BUNDLE_INVALID\)/]]) {
      await drop(page, name, data);
      await sees(page, '[role=alert]', says);
    }
    await close();
  });

  test('that was imported is shown with its changes and artifacts, and nothing is offered that cannot be', async () => {
    const digest = `sha256:${sha256(bytes)}`, auth = { headers: { Authorization: `Bearer ${w.d.token}` } };
    const at = `http://127.0.0.1:${w.d.port}/v1`;

    assert.ok((await fetch(`${at}/archives/${digest}`, { method: 'PUT', body: bytes, ...auth })).ok);
    assert.equal((await fetch(`${at}/bundles?archive=${digest}`, { method: 'POST', ...auth })).status, 201);
    const { page, close } = await w.open(sessionId, { acceptDownloads: true });

    await sees(page, '.say-agent', /last/);
    await sees(page, '.page-head', /from a bundle/);
    await sees(page, '.composer', /came from a bundle: it can be looked at, and nothing else/);
    const files = await tab(page, 'Files');
    assert.equal(await files.getByRole('button', { name: 'Begin a draft…' }).count(), 0);
    await files.getByRole('button', { name: 'Fetch it' }).click();
    await sees(page, '.changes .diff', /new\.txt.*from the agent/s);
    assert.equal(await saved(page, () => files.getByRole('button', { name: 'Save report.txt' }).click()), 'the report');
    await close();
  });
});
