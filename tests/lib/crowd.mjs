// SPDX-License-Identifier: Apache-2.0
// A crowd of connections that say nothing, at a port or at a path; for tests and for make bench.

import net from 'node:net';

// Makes n of them, `width` on the way at a time, and does not mind which of them the daemon ends. end() destroys those that are left.
export async function crowd(n, where, { width = 200, say } = {}) {
  const sockets = new Set();
  let left = n;
  const one = () => new Promise((resolve) => {
    const s = typeof where === 'string' ? net.connect(where) : net.connect(where, '127.0.0.1');

    sockets.add(s);
    s.on('connect', () => {
      if (say)
        s.write(say);
      resolve(true);
    });
    s.on('error', () => resolve(false));
    s.on('close', () => {
      sockets.delete(s);
      resolve(false);
    });
  });

  await Promise.all(Array.from({ length: width }, async () => {
    while (left > 0) {
      left--;
      if (!await one()) // the listener's queue is full for the moment
        await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
  }));
  return {
    get open() { return sockets.size; },
    end() {
      for (const s of sockets)
        s.destroy();
    },
  };
}
