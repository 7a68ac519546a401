// SPDX-License-Identifier: Apache-2.0
// Connections at rest cost nothing, in whatever state they are left, and whatever they do next is noticed at once: the daemon waits for them
// by itself, and asks libwebsockets only when there is something to do (net/socket_wait.h).

import assert from 'node:assert/strict';
import net from 'node:net';
import test, { after, before, beforeEach } from 'node:test';
import { AcpClient } from '../../lib/acp.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import * as procs from '../../lib/procs.mjs';
import { OP, RawWs, deadline, frame, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

const initialize = (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } });
const LOOK_MS = 500;

let d, c, sessionId;

before(async () => {
  d = await Daemon.start({ flags: { maxConnections: 700 } });
  c = await d.client();
  ({ sessionId } = await c.newSession());
});
after(() => endInOrder(d));

const open = (opts) => RawWs.open({ port: d.port, token: d.token, ...opts });
const connections = () => d.metric('acpd_connections');
const left = []; // to be ended after each test

beforeEach(() => {
  for (const end of left.splice(0))
    end();
});

async function plain(text) {
  const socket = net.connect(d.port, '127.0.0.1').on('error', () => {});

  await new Promise((resolve) => { socket.once('connect', resolve); });
  left.push(() => socket.destroy());
  socket.write(text);
  return socket;
}

async function websocket(opts) {
  const ws = await open(opts);

  assert.equal(ws.status, 101);
  left.push(() => ws.destroy());
  return ws;
}

const request = (path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${d.port}\r\nAuthorization: Bearer ${d.token}\r\n\r\n`;
const answered = (socket) => deadline(new Promise((resolve) => { socket.once('data', resolve); }), 10000, 'an answer');

const STATES = {
  'WebSockets that say nothing': () => Promise.all(Array.from({ length: 20 }, () => websocket())),
  'half a frame': async () => (await websocket()).bytes(frame({ payload: initialize(1) }).subarray(0, 9)),
  'the first part of a message': async () => (await websocket()).sendFrame({ payload: '{"jsonrpc":', fin: false }),
  'a reader that does not read': async () => {
    const slow = await d.client({ validate: 'none' });
    const session = await slow.newSession();

    left.push(() => slow.ws.destroy());
    slow.ws.pause();
    slow.startPrompt(session.sessionId, 'flood 60000 300');
    await until(async () => (await d.metric('acpd_events_total')) > 60000, 'the flood to be read', 45000);
  },
  'one that has broken the rules, and does not end': async () => {
    const ws = await websocket({ autoClose: false });

    ws.sendFrame({ opcode: 3 });
    await ws.waitFrame((f) => f.opcode === OP.close).catch(() => {});
  },
  'one that has said that it closes, and does not': async () => {
    const ws = await websocket({ autoClose: false });

    ws.socket.allowHalfOpen = true;
    ws.close(1000);
    await ws.waitFrame((f) => f.opcode === OP.close).catch(() => {});
  },
  'half a request': () => plain('GET /health HTTP/1.1\r\nHost: 12'),
  'nothing at all': () => plain(''),
  'a connection that is kept after its answer': async () => answered(await plain(request('/health'))),
  'half a body': async () => {
    await plain(request('/v1/archives/x').replace('GET', 'PUT').replace('\r\n\r\n', '\r\nContent-Length: 100000\r\n\r\nbegin'));
    await sleep(50);
  },
  'a stream of events': async () => answered(await plain(request(`/v1/sessions/${sessionId}/events`))),
  'a stream of events that nobody reads': async () => {
    const socket = await plain(request(`/v1/sessions/${sessionId}/events`));

    await answered(socket);
    socket.pause();
    await c.prompt(sessionId, 'flood 60000 300', { timeout: 60000 });
  },
};

for (const [state, make] of Object.entries(STATES))
  test(`${state}: the loop rests, and others are served`, async () => {
    await make();
    await c.prompt(sessionId, 'echo one');
    await until(async () => {
      const began = procs.loopTime(d.pid);

      await sleep(LOOK_MS);
      return procs.loopTime(d.pid) - began < LOOK_MS / 5;
    }, 'the loop to rest', 30000);
    assert.equal((await d.http('/health')).status, 200);
    assert.equal((await c.prompt(sessionId, 'echo two')).stopReason, 'end_turn');
  });

test('a ping has its pong, at rest and between the frames of a message', async () => {
  const ws = await websocket();

  for (const [i, word] of ['one', 'two', 'three'].entries()) {
    ws.ping(word);
    await ws.waitFrame((f) => f.opcode === OP.pong && `${f.payload}` === word);
    ws.fragments(initialize(i + 1), 3, (part) => ws.ping(`${word}-${part}`));
    await ws.waitFrame((f) => f.opcode === OP.pong && `${f.payload}`.startsWith(`${word}-`)); // one may stand for both
    await ws.waitFrame((f) => f.opcode === OP.text && `${f.payload}`.includes(`"id":${i + 1}`));
  }
});

test('many messages that come together are all answered, and so is one in single bytes', async () => {
  const ws = await websocket();
  const ids = Array.from({ length: 300 }, (_, i) => i + 1);
  const answer = (id) => ws.waitFrame((f) => f.opcode === OP.text && new RegExp(`"id":${id}[,}]`).test(`${f.payload}`));

  ws.bytes(Buffer.concat(ids.map((id) => frame({ payload: initialize(id) }))));
  for (const id of ids)
    await answer(id);
  for (const byte of frame({ payload: initialize(1000) })) {
    ws.bytes(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  await answer(1000);
});

// By one part a second it was 20 times as much.
test('a large message goes out as fast as over the socket, which libwebsockets does not serve', async () => {
  const text = 'x'.repeat(20 * 1024 * 1024);
  const time = async (client) => {
    const session = await client.newSession();
    const began = performance.now();

    await client.prompt(session.sessionId, `echo ${text}`);
    assert.equal(client.chunks(session.sessionId)[0].length, text.length);
    await client.close();
    return performance.now() - began;
  };
  const local = new AcpClient(await LineTransport.unix(d.acpSocket), { daemon: d, validate: 'none' });

  await local.initialize();
  const beside = await time(local);
  const passed = await time(await d.client({ validate: 'none' }));

  assert.ok(passed < 5 * beside, `${passed.toFixed()} ms, ${beside.toFixed()} ms over the socket`);
});

test('an end at rest is noticed, by whatever it comes', async () => {
  const rest = 1; // c

  await until(async () => await connections() === rest, 'those before to be gone');
  const ends = [(ws) => ws.close(1000), (ws) => ws.destroy(), (ws) => ws.reset(), (ws) => ws.socket.end(),
    (ws) => ws.sendFrame({ opcode: 3 }), (ws) => ws.sendFrame({ rsv: 1 })];

  for (const end of ends) {
    const ws = await websocket();

    await until(async () => await connections() === rest + 1, 'it to be counted');
    end(ws);
    await until(async () => await connections() === rest, `${end} to be noticed`, 30000);
  }
});

// By poll(2) it was 8 times as much. Of five measurements the best counts: the loop's own time is hardly changed by other work.
test('a turn beside 500 connections at rest takes the loop as much as alone', async () => {
  const cost = async () => {
    let least = Infinity;

    for (let i = 0; i < 5; i++) {
      const began = procs.loopTime(d.pid);

      for (let k = 0; k < 30; k++)
        await c.prompt(sessionId, 'echo one');
      least = Math.min(least, procs.loopTime(d.pid) - began);
    }
    return least;
  };
  const alone = await cost();

  for (let i = 0; i < 10; i++)
    await Promise.all(Array.from({ length: 50 }, () => websocket()));
  const beside = await cost();

  assert.ok(beside < 3 * alone, `${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside them`);
});
