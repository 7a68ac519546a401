// SPDX-License-Identifier: Apache-2.0
// The kernel's tables of internet sockets (/proc/net), of this network namespace.

import fs from 'node:fs';

const portOf = (end) => parseInt(end.split(':').at(-1), 16);

// files: 'tcp', 'tcp6', 'udp', 'udp6'. state and remote are as the kernel writes them: HEX, HEX:PORT. queued: the bytes that wait in both queues.
export const internetSockets = (...files) => files.flatMap((file) => fs.readFileSync(`/proc/net/${file}`, 'latin1').split('\n').slice(1).filter(Boolean)
  .map((line) => {
    const [, local, remote, state, queues, , , uid, , inode] = line.trim().split(/\s+/);

    return { state, remote, localPort: portOf(local), remotePort: portOf(remote), uid: Number(uid), inode,
      queued: queues.split(':').reduce((sum, hex) => sum + parseInt(hex, 16), 0) };
  }));
