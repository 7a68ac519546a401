// SPDX-License-Identifier: Apache-2.0
// Devices as udev leaves them, open to everyone, in a mount namespace of a program's own: root only, and nothing of the machine changes.

import fs from 'node:fs';
import path from 'node:path';

const NODES = [['/dev/fuse', 229], ['/dev/net/tun', 200]]; // minor numbers of the major 10

export const hasDevices = process.getuid() === 0 && NODES.every(([file]) => fs.existsSync(file));

// Shell commands for such a namespace; the directory is covered.
export const openDevices = (dir) => [`mount -t tmpfs -o mode=755 devices ${dir}`,
  ...NODES.map(([file, minor]) => `mknod -m 666 ${dir}/${minor} c 10 ${minor} && mount --bind ${dir}/${minor} ${file}`)].join(' && ');

// A program that starts another one there.
export function insideDevices(dir, command) {
  const file = path.join(dir, 'inside-devices'), devices = path.join(dir, 'devices');

  fs.mkdirSync(devices);
  fs.writeFileSync(file, `#!/bin/sh\nexec unshare --mount sh -c '${openDevices(devices)} && exec ${command} "$@"' sh "$@"\n`, { mode: 0o755 });
  return file;
}
