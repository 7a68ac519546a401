// SPDX-License-Identifier: Apache-2.0
// What an agent can make too much of: files, depth, processes; for tests and for make bench.

import fs from 'node:fs';
import path from 'node:path';
import { STUB } from './daemon.mjs';

// Directories within each other. From the bottom up, 500 levels at a time: no path is ever too long.
export function deepTree(dir, levels) {
  const [top, next] = [path.join(dir, 'd'), path.join(dir, 'next')];

  for (let i = 0; i < levels; i += 500) {
    const chunk = path.join(next, ...Array(500).fill('d'));

    fs.mkdirSync(chunk, { recursive: true });
    fs.writeFileSync(path.join(chunk, 'f'), 'x');
    if (i)
      fs.renameSync(top, path.join(chunk, 'd'));
    fs.renameSync(next, top);
  }
}

// Empty files, a thousand to a directory.
export function manyFiles(dir, n) {
  for (let i = 0; i < n; i++) {
    const below = path.join(dir, `many-${Math.floor(i / 1000)}`);

    if (i % 1000 === 0)
      fs.mkdirSync(below);
    fs.closeSync(fs.openSync(path.join(below, `f${i}`), 'w'));
  }
}

// A harness with n processes beside it, each with an environment of 1 MB (a variable may have 128 KiB).
const BIG = 'v=$(head -c 125000 /dev/zero | tr "\\0" x); export a=$v b=$v c=$v d=$v e=$v f=$v g=$v h=$v';

export const crowded = (id, n) => ({
  id, command: '/bin/sh', args: ['-c', `${BIG}; for i in $(seq ${n}); do sleep 600 & done; unset a b c d e f g h v; exec ${STUB} "$@"`, 'sh'],
});
