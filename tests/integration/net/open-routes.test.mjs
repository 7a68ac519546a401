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
function pipelined(path, n, { token, stays = false, from, port = d.port } = {}) {
  const asked = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${token ? `Authorization: Bearer ${token}\r\n` : ''}\r\n`;

  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress: from }, () => socket.write(asked.repeat(n)));
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

const statusesOf = async (connections, ...what) =>
  (await Promise.all(Array.from({ length: connections }, () => pipelined('/openapi.json', 4000, ...what)))).flatMap((r) => r.statuses);

// What an address is refused that asks until it is: each connection takes 4 MiB, which come back in a second: sooner than one after
// the other takes them.
async function drained(what = {}) {
  let refused = [];

  while (!refused.length)
    refused = (await statusesOf(16, what)).filter((s) => s !== 200);
  return [...new Set(refused)];
}

test('an address gets so much, then 429 with Retry-After; with a token all goes on', async () => {
  assert.deepEqual(await drained(), [429]);
  assert.deepEqual(new Set((await pipelined('/v1/info', 40, { token: d.token, stays: true })).statuses), new Set([200]));
  assert.equal((await c.newSession()).sessionId.length > 0, true);
  assert.equal((await d.http('/health')).status, 200);
});

test('a valid token counts on a route that needs none', async () => {
  await drained();
  assert.deepEqual(new Set((await pipelined('/openapi.json', 100, { token: d.token, stays: true })).statuses), new Set([200]));
  assert.ok((await pipelined('/openapi.json', 100, { token: 'x'.repeat(43) })).statuses.length < 100, 'a wrong token counts as none');
});

// All addresses together have twice what one has, so a daemon from which nobody else has taken any.
test('what one address uses up, another has', async (t) => {
  const other = await Daemon.start();
  t.after(() => endInOrder(other));
  const { port } = other;

  await drained({ from: '127.0.0.2', port });
  assert.deepEqual(new Set(await statusesOf(3, { from: '127.0.0.3', port })), new Set([200]));
});
