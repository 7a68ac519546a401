// SPDX-License-Identifier: Apache-2.0
// What the daemon sends to clients without a token: so much on one connection, so much in all, and nobody with a token waits for it.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

// All that comes back for n requests in one write, until the daemon ends the connection or, where it is to stay, until all are answered.
function pipelined(path, n, { token, stays = false } = {}) {
  const asked = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}\r\n`;

  return new Promise((resolve) => {
    const socket = net.connect(d.port, '127.0.0.1', () => socket.write(asked.repeat(n)));
    const statuses = [];
    let bytes = 0, tail = '';

    socket.on('data', (piece) => {
      const text = tail + piece.toString('latin1');

      bytes += piece.length;
      for (const m of text.matchAll(/HTTP\/1\.1 (\d\d\d) /g))
        statuses.push(Number(m[1]));
      tail = text.slice(text.lastIndexOf('\n') + 1).slice(-12);
      if (stays && statuses.length === n)
        socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve({ statuses, bytes }));
  });
}

test('one connection is closed after 4 MiB, or 256 answers', async () => {
  const { statuses, bytes } = await pipelined('/openapi.json', 4000);

  assert.ok(statuses.length > 1 && statuses.every((s) => s === 200), statuses.join(' '));
  assert.ok(bytes < 5 << 20, `${bytes} bytes`);
  assert.ok((await pipelined('/health', 4000)).statuses.length <= 256);
});

test('all of them together get so much, then 429 with Retry-After; with a token all goes on', async () => {
  let refused = [];

  while (!refused.length) // each takes 4 MiB, which come back in half a second: sooner than one connection after the other takes them
    refused = (await Promise.all(Array.from({ length: 16 }, () => pipelined('/openapi.json', 4000)))).flatMap((r) => r.statuses).filter((s) => s !== 200);
  assert.deepEqual([...new Set(refused)], [429]);
  assert.deepEqual(new Set((await pipelined('/v1/info', 40, { token: d.token, stays: true })).statuses), new Set([200]));
  assert.equal((await c.newSession()).sessionId.length > 0, true);
  assert.equal((await d.http('/health')).status, 200);
});
