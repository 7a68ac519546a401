// SPDX-License-Identifier: Apache-2.0
// Crowds of connections that say nothing: whoever has a token is served beside 5 000 of them, on every socket, and does not wait for the
// end of their time; those who have shown one are not sent away for strangers; what is refused is told in the log, and the log cannot be
// filled with it.

import assert from 'node:assert/strict';
import net from 'node:net';
import test, { after, before } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { crowd } from '../../lib/crowd.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { SLOW, deadline, sleep } from '../../lib/rawws.mjs';
import { constant } from '../../lib/tables.mjs';
import { until } from '../../lib/wait.mjs';

const CROWD = 5000;
let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

// The daemon bears the silence of a connection for HANDSHAKE_SECS, 15 s. Who had to wait for that would be served when the last of the
// crowd is gone, and in no round before.
async function whileTheyStand(others, rounds, serve) {
  let stood = 0;

  for (let round = 1; round <= rounds; round++) {
    await serve(round);
    stood += others.open > 0;
  }
  assert.ok(stood > 0, `served in ${rounds} rounds, and in none while the crowd stood`);
}

const request = (path, token = d.token) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;

// A kept connection; ask() resolves with the status.
async function kept() {
  const socket = net.connect(d.port, '127.0.0.1').on('error', () => {});

  return {
    socket,
    ask: (path = '/ready', token) => deadline(new Promise((resolve) => {
      socket.once('data', (data) => resolve(Number(/ (\d{3}) /.exec(data)[1])));
      socket.once('close', () => resolve(undefined));
      socket.write(request(path, token));
    }), 10000, path),
  };
}

test('a newcomer with a token is served beside 5 000 silent TCP connections, while they stand', async () => {
  const others = await crowd(CROWD, d.port);

  await whileTheyStand(others, 3, async (round) => {
    const c = await d.client();

    assert.equal((await d.http('/ready', { token: d.token })).status, 200, `round ${round}`);
    await c.close();
  });
  assert.ok(d.fdCount() < 1000, `${d.fdCount()} descriptors are bounded`);
  others.end();
});

test('those who have shown a token stay while strangers come and go', async () => {
  const client = await d.client();
  const http = await kept();

  assert.equal(await http.ask(), 200);
  const others = await crowd(1000, d.port, { say: 'GET /health HT' });
  assert.equal(await http.ask(), 200, 'a kept connection');
  const sessionId = (await client.newSession()).sessionId;
  assert.ok(sessionId, 'a WebSocket');
  await client.close();
  http.socket.destroy();
  others.end();
});

test('connections kept for more requests have a budget of their own, the one unused for longest goes', async () => {
  const first = await kept();
  assert.equal(await first.ask(), 200);
  const many = [];

  for (let i = 0; i < 150; i++) {
    const c = await kept();

    assert.equal(await c.ask('/ready'), 200, `connection ${i}`);
    many.push(c);
    if (i % 50 === 0)
      assert.equal(await first.ask(), 200, 'it is used');
  }
  assert.ok(many.slice(0, 20).some((c) => c.socket.destroyed || c.socket.readableEnded) || await many[0].ask() === undefined,
    'the oldest are gone');
  assert.equal(await first.ask(), 200, 'who is busy stays');
  for (const c of [first, ...many])
    c.socket.destroy();
});

test('a newcomer is served beside 5 000 silent connections to the UNIX sockets, while they stand', async () => {
  for (const [path, say] of [[d.acpSocket, undefined], [d.controlSocket, '{"jsonrpc"']]) {
    const others = await crowd(CROWD, path, { say });

    await whileTheyStand(others, 3, async () => {
      const c = new AcpClient(await LineTransport.unix(d.acpSocket), { daemon: d });
      await c.initialize();
      const control = await LineTransport.unix(d.controlSocket);

      control.record = true;
      control.socket.write('{"jsonrpc":"2.0","id":1,"method":"sessions"}\n');
      await until(() => control.lines.length, 'the answer of control.sock');
      assert.match(String(control.lines[0]), /"sessions":/);
      control.socket.destroy();
      await c.close();
    });
    assert.ok(d.fdCount() < 1000, `${d.fdCount()} descriptors`);
    others.end();
  }
});

test('the log names what was refused and why, once for many', async () => {
  const before = d.logs.length, from = performance.now();
  let refused;

  // the crowds of before may have used up all the lines there are for a while
  await until(async () => {
    const wrong = await kept();

    assert.equal(await wrong.ask('/ready', 'nobody-knows-this-token'), 401);
    wrong.socket.destroy();
    refused = d.logs.find((l) => l.msg === 'refused' && l.reason === 'UNAUTHORIZED');
    return refused;
  }, 'a line of the refusal', 30000);
  assert.equal(refused.status, '401');
  const others = await crowd(600, d.port);
  others.end();
  for (let i = 0; i < 200; i++) {
    const c = await kept();

    await c.ask('/ready', 'nobody-knows-this-token');
    c.socket.destroy();
  }
  const lines = d.logs.slice(before).filter((l) => l.msg === 'refused');
  const most = 2 * constant('LOG_BURST') + (performance.now() - from) / constant('LOG_EACH_MS');
  assert.ok(lines.length <= most, `${lines.length} lines for 800 refusals, may be ${most}`);
  await until(async () => {
    const wrong = await kept();

    await wrong.ask('/ready', 'nobody-knows-this-token');
    wrong.socket.destroy();
    return d.logs.some((l) => l.msg === 'refused' && Number(l.leftOut) > 0);
  }, 'what is left out is counted');
  const id = (await d.ws()).headers['acp-connection-id'];
  await d.waitLog((l) => l.msg === 'connection accepted' && l.connection === id);
});

test('without descriptors the daemon rests until there are some, on every socket', async () => {
  const wrap = process.env.ACPD_WRAP;
  let own;

  process.env.ACPD_WRAP = `${wrap ?? ''} prlimit --nofile=48:48`;
  try {
    own = await Daemon.start();
  } finally {
    if (wrap === undefined)
      delete process.env.ACPD_WRAP;
    else
      process.env.ACPD_WRAP = wrap;
  }
  try {
    for (const where of [own.port, own.acpSocket]) {
      const others = await crowd(100, where);

      await sleep(200 * SLOW);
      const began = own.cpu();
      await sleep(1000);
      const used = own.cpu() - began;
      assert.ok(used < 0.5, `${used.toFixed(2)} s of CPU in a second, waiting on ${where}`);
      others.end();
      await (await own.client()).close();
    }
    assert.ok(own.logs.filter((l) => l.level === 'error').length < 5, 'the log is not filled');
    await own.stop();
  } finally {
    await own.discard();
  }
});
