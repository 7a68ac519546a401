// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// Directories that turn into links and back while an archive is unpacked between them, by a process of the same user.
// What becomes of the tree is the business of who spoils it; what may not happen is that anything outside is touched.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { FORMATS } from '../../archives/cases/common.mjs';
import { Box, LAYOUTS, NOBODY, extract, temporary } from '../../archives/run.mjs';
import { SLOW, deadline } from '../../lib/rawws.mjs';
import { roomy } from '../../lib/roomy.mjs';

const ROUNDS = 30;
const SWAPPER = fileURLToPath(new URL('../../archives/swapper.mjs', import.meta.url));
const NAMES = ['d0', 'd1', 'd0/deep', 'd2'];
// The directories again and again, so that each is left and entered many times.
const FILES = Array.from({ length: 3000 }, (_, i) => ({ file: `${NAMES[i % 4]}/f${i}`, data: 'pwned if this is outside' }));
const LINKS = [{ link: 'd1/link', to: '../d0/f0' }, { hard: 'd2/hard', to: 'd0/f0' }];
let root;

before(() => {
  root = temporary('acpd-race-', roomy());
});
after(() => {
  if (!process.env.ACPD_TEST_KEEP)
    fs.rmSync(root, { recursive: true, force: true });
});

// Swaps in the parent of a box while doing() runs. -> how many dots the swapper made
async function spoiling(box, uid, doing) {
  const child = spawn(process.execPath, [SWAPPER, String(uid), box.parent, `${box.parent}/outside`, ...NAMES], { stdio: ['ignore', 'pipe', 'inherit'], cwd: '/' });
  let said = '';
  const gone = new Promise((resolve) => { child.on('close', resolve); });
  const ready = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => reject(new Error('the swapper ended')));
    child.stdout.on('data', (data) => {
      said += data;
      if (said.includes('ready'))
        resolve();
    });
  });

  try {
    await deadline(ready, 10000, 'the swapper starts');
    await doing();
  } finally {
    child.kill('SIGKILL');
    await gone;
  }
  return said.length - 'ready\n'.length;
}

const usable = LAYOUTS.filter((l) => ['own', 'own-filled', 'uid-parent', 'uid-filled'].includes(l.name))
  .filter((l) => (process.geteuid() === 0) === (l.uid !== undefined));

for (const layout of usable) {
  test(`${ROUNDS} archives while directories are swapped for links (${layout.name})`, async () => {
    const uid = layout.uid ?? process.geteuid();
    const archives = { 'a.tar': FORMATS.ustar([...FILES, ...LINKS]), 'a.zip': FORMATS.zip(FILES), 'a.tar.zst': FORMATS.zst([...FILES, ...LINKS]) };
    const ends = {};
    let swaps = 0;

    for (let round = 0; round < ROUNDS; round++) {
      const dir = fs.mkdtempSync(path.join(root, 'box-'));
      const [name, data] = Object.entries(archives)[round % 3];
      const box = new Box(dir, layout);

      fs.chmodSync(dir, 0o755);
      fs.writeFileSync(path.join(dir, name), data);
      if (layout.filled && round % 2) {
        fs.mkdirSync(`${box.dest}/d0/deep`, { recursive: true });
        [`${box.dest}/d0`, `${box.dest}/d0/deep`].forEach((p) => fs.chownSync(p, uid, uid));
      }
      box.mark();
      swaps += await spoiling(box, uid, async () => {
        const r = await extract(path.join(dir, name), box.dest, box.args);

        assert.ok(!r.late && [0, 1, 3].includes(r.code), `round ${round}: exit ${r.code ?? r.signal} ${r.stdout} ${r.stderr}`);
        ends[r.code] = (ends[r.code] ?? 0) + 1;
      });
      // The swapper may leave its own things beside DEST; the canaries it cannot excuse.
      const faults = box.outsideFaults().filter((text) => !text.startsWith('beside DEST stand now'));

      assert.deepEqual(faults.slice(0, 10), [], `round ${round} with ${name}`);
      box.remove();
    }
    assert.ok(swaps > 0, 'no directory was swapped, so nothing was tested');
    assert.equal(Object.values(ends).reduce((a, b) => a + b), ROUNDS);
  });
}

test('the race would be seen: bytes written through a swapped directory change the canary', { skip: process.geteuid() !== 0 && 'needs root' }, async () => {
  const box = new Box(fs.mkdtempSync(path.join(root, 'box-')), { name: 'check', uid: NOBODY, parent: NOBODY, filled: true });

  fs.mkdirSync(`${box.dest}/d2`);
  [box.dest, `${box.dest}/d2`].forEach((p) => fs.chownSync(p, NOBODY, NOBODY));
  fs.chmodSync(box.dir, 0o755);
  box.mark();
  await spoiling(box, NOBODY, async () => {
    const end = Date.now() + 10000 * SLOW;

    // What an extractor does that opens by path.
    for (let i = 0; Date.now() < end && box.outsideFaults().every((t) => t.startsWith('beside DEST stand')); i++) {
      for (let k = 0; k < 500; k++) {
        try {
          fs.writeFileSync(`${box.dest}/d2/f${k}`, 'x');
        } catch {
          // it was away just then
        }
      }
    }
  });
  assert.notDeepEqual(box.outsideFaults().filter((t) => t.startsWith('beside DEST: ')), []);
});
