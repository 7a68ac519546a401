// SPDX-License-Identifier: Apache-2.0
// A daemon whose state is on a small disk of its own, which the test may fill.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Daemon } from './daemon.mjs';

// size: as mount takes it. flags: further ones of the daemon; more: its other settings. All of it goes with the test. Without the right to mount the test is skipped, and the answer
// is empty; else
//   d            the daemon
//   fill(bytes)  makes the disk full, or a file of so many bytes; empty() removes it
export async function onSmallDisk(t, size, flags, more) {
  const disk = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? os.tmpdir(), 'acpd-disk-'));
  const mounted = process.getuid() === 0 &&
    spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', disk]).status === 0;
  const filler = path.join(disk, 'filler');
  let d;

  t.after(async () => {
    await d?.discard();
    if (mounted)
      spawnSync('umount', ['-R', disk]);
    fs.rmSync(disk, { recursive: true, force: true });
  });
  if (!mounted) {
    t.skip('no right to mount a small disk');
    return {};
  }
  d = await Daemon.start({ ...more, flags: { state: path.join(disk, 'state'), ...flags } });
  const fill = (bytes) => {
    fs.writeFileSync(filler, Buffer.alloc(bytes ?? 0));
    if (bytes === undefined)
      assert.throws(() => {
        for (;;)
          fs.appendFileSync(filler, Buffer.alloc(4096));
      }, { code: 'ENOSPC' });
  };

  return { d, fill, empty: () => fs.rmSync(filler) };
}
