// SPDX-License-Identifier: Apache-2.0
import fs from 'node:fs';
import os from 'node:os';

// A directory with room for a thousand trees: in memory where there is some, because a disk costs these tests more than all that they
// test. (ext4 does not give an inode again for a while, and looks through all that it must not give.)
export function roomy() {
  try {
    const { bavail, bsize, ffree } = fs.statfsSync('/dev/shm');

    return bavail * bsize >= 512 << 20 && ffree >= 500000 ? '/dev/shm' : os.tmpdir();
  } catch {
    return os.tmpdir();
  }
}
