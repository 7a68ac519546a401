// SPDX-License-Identifier: Apache-2.0
// Statements 1-8: the WebSocket itself.

import assert from 'node:assert/strict';
import test from 'node:test';
import { OP, bearerProtocol, deadline } from '../../lib/rawws.mjs';
import { closeCode, serve, silent } from './rig.mjs';

const rig = serve();
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'session/list', params: {} });

test('01 a valid upgrade gives 101 with a connection id of its own', async () => {
  const sockets = await Promise.all([1, 2, 3, 4].map(() => rig.d.ws()));
  const ids = sockets.map((ws) => ws.headers['acp-connection-id']);

  for (const ws of sockets) {
    assert.equal(ws.status, 101);
    assert.equal(ws.headers.upgrade.toLowerCase(), 'websocket');
    assert.equal(ws.headers.connection.toLowerCase(), 'upgrade');
    assert.ok(ws.acceptOk, 'Sec-WebSocket-Accept proves the key');
    assert.match(ws.headers['acp-connection-id'] ?? '', /^[0-9A-Za-z-]{16,}$/);
    ws.destroy();
  }
  assert.equal(new Set(ids).size, ids.length, 'ids are unique');
});

test('01 the endpoint is /acp, with or without a query', async () => {
  for (const [path, status] of [['/acp?harness=full', 101], ['/acp?x=1', 101], ['/acp/', 404], ['/', 404], ['/ACP', 404]]) {
    const ws = await rig.d.ws({ path });

    assert.equal(ws.status, status, path);
    ws.destroy();
  }
});

test('02 GET /acp without an upgrade is answered 426, never left hanging', async () => {
  const { d } = rig;
  const res = await d.http('/acp', { token: d.token });

  assert.equal(res.status, 426);
  assert.match(res.headers.upgrade ?? '', /websocket/i);
  assert.equal(res.json.error.reason, 'UPGRADE_REQUIRED');
});

test('02 half an upgrade is an HTTP error, never a hang', async () => {
  const halves = [{ Upgrade: null }, { Connection: null }, { Connection: 'keep-alive' }, { 'Sec-WebSocket-Key': null },
    { 'Sec-WebSocket-Version': null }, { 'Sec-WebSocket-Version': '12' }, { Upgrade: 'foo' }];

  for (const headers of halves) {
    const ws = await rig.d.ws({ headers, timeout: 5000 });

    assert.ok(ws.status >= 400 && ws.status < 500, `${JSON.stringify(headers)} gives ${ws.status}`);
    ws.destroy();
  }
});

test('03 a wrong or missing token is 401, a foreign Origin 403, before 101 and without any ACP state', async () => {
  const { d } = rig;
  const wrong = await d.ws({ token: 'x'.repeat(40) });
  const missing = await d.ws({ token: null });
  const origin = await d.ws({ headers: { Origin: 'https://evil.example' } });

  assert.deepEqual([wrong.status, missing.status, origin.status], [401, 401, 403]);
  for (const ws of [wrong, missing, origin]) {
    assert.equal(ws.headers['acp-connection-id'], undefined);
    ws.destroy();
  }
  const { json } = await d.http('/ready', { token: d.token });
  assert.deepEqual([json.connections, json.sessions, json.children], [0, 0, 0]);
});

test('04 one of the offered subprotocols is selected, or the handshake refused', async () => {
  const { d } = rig;
  const cases = [
    { protocols: [], status: 101, selected: undefined },
    { protocols: ['acp.v1'], status: 101, selected: 'acp.v1' },
    { protocols: ['chat', 'acp.v1'], status: 101, selected: 'acp.v1' },
    { protocols: ['acp.v1', bearerProtocol(d.token)], token: null, status: 101, selected: 'acp.v1' },
    { protocols: [bearerProtocol(d.token), 'acp.v1'], token: null, status: 101, selected: 'acp.v1' },
    { protocols: ['chat'], status: 400, selected: undefined },
    { protocols: [bearerProtocol(d.token)], token: null, status: 400, selected: undefined },
  ];

  for (const { protocols, status, selected, ...opts } of cases) {
    const ws = await d.ws({ protocols, ...opts });

    assert.equal(ws.status, status, protocols.join());
    assert.equal(ws.headers['sec-websocket-protocol'], selected, protocols.join());
    assert.ok(!ws.rawHead.includes('acpd.bearer'), 'the token is never echoed');
    ws.destroy();
  }
});

test('05 each message is one unmasked text frame of UTF-8 with one JSON-RPC object', async () => {
  const c = await rig.client({ record: true });
  const { sessionId } = await c.newSession();
  const words = 'Grüße, 世界, 🦀, \\ " \u0001 \u2028';

  await c.prompt(sessionId, `echo ${words}\nflood 3 70000\nflood 3 200\nflood 1 400000`);
  const frames = c.ws.frames.filter((f) => f.opcode <= OP.binary);
  assert.ok(frames.length >= 10);
  for (const f of frames) {
    assert.deepEqual([f.opcode, f.fin, f.rsv, f.masked, f.minimal], [OP.text, true, 0, false, true]);
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(f.payload);
    const msg = JSON.parse(decoded);
    assert.equal(Object.prototype.toString.call(msg), '[object Object]');
    assert.equal(msg.jsonrpc, '2.0');
    assert.ok(!decoded.includes('\n'), 'no line break inside');
  }
  assert.equal(c.chunks(sessionId)[0], words);
});

test('06 fragmented messages work, with pings between the fragments', async () => {
  const c = await rig.client({ record: true });
  const list = async (send) => {
    const { text } = c.ws;

    c.ws.text = send;
    const { answer } = c.request('session/list', { _meta: { pad: 'ü'.repeat(300) } });
    c.ws.text = text;
    return deadline(answer, 10000, 'answer to a fragmented request');
  };

  for (const n of [2, 3, 50]) {
    const { result } = await list((t) => c.ws.fragments(t, n));
    assert.ok(Array.isArray(result.sessions));
  }
  const { result } = await list((t) => c.ws.fragments(t, 400, (i) => i === 200 && c.ws.ping('between')));
  assert.ok(Array.isArray(result.sessions));
  assert.ok(c.ws.frames.some((f) => f.opcode === OP.pong && f.payload.toString() === 'between'));
});

test('06 a ping is answered by a pong with the same payload, also inside a message', async () => {
  const c = await rig.client({ record: true });
  const data = Buffer.from(LIST);
  const pong = async (payload) => {
    const from = c.ws.frames.length;

    c.ws.ping(payload);
    const f = await c.ws.waitFrame((x) => x.opcode === OP.pong, { from });
    assert.ok(f.payload.equals(Buffer.from(payload)), `pong of ${payload.length} bytes`);
  };

  for (const payload of ['', 'x', Buffer.alloc(125, 0xff)])
    await pong(payload);
  c.request('session/list', {}, { id: 1, raw: '{"jsonrpc":"2.0","method":"_nothing"}' });
  c.ws.sendFrame({ opcode: OP.text, fin: false, payload: data.subarray(0, 10) });
  await pong('first');
  c.ws.sendFrame({ opcode: OP.cont, fin: false, payload: '' });
  await pong('second');
  c.ws.sendFrame({ opcode: OP.cont, fin: true, payload: data.subarray(10) });
  const answer = await c.waitFor((m) => m.id === 1 && m.result?.sessions);
  assert.ok(Array.isArray(answer.result.sessions));
});

test('06 text that is not UTF-8 ends that connection with 1007 and no other', async () => {
  const [bad, good] = [await rig.client(), await rig.client()];

  bad.ws.sendFrame({ payload: Buffer.from([0x22, 0xc3, 0x28, 0x22]) });
  assert.equal(await closeCode(bad), 1007);
  assert.ok(Array.isArray((await good.call('session/list')).sessions));
});

test('07 binary frames are ignored and the connection stays usable', async () => {
  const c = await rig.client();

  await silent(c, () => {
    c.ws.binary(LIST.replace('"id":1', '"id":777'));
    c.ws.sendFrame({ opcode: OP.binary, fin: false, payload: LIST.slice(0, 9) });
    c.ws.ping('within');
    c.ws.sendFrame({ opcode: OP.cont, fin: true, payload: LIST.slice(9) });
    c.ws.binary(Buffer.alloc(300000, 0xff));
    c.ws.binary('');
  });
});

test('08 permessage-deflate may be offered: it is declined and everything works', async () => {
  const offer = 'permessage-deflate; client_max_window_bits';
  const c = await rig.client({ headers: { 'Sec-WebSocket-Extensions': offer } });
  const { sessionId } = await c.newSession();

  assert.equal(c.ws.headers['sec-websocket-extensions'], undefined);
  await c.prompt(sessionId, 'echo uncompressed');
  assert.deepEqual(c.chunks(sessionId), ['uncompressed']);
});

test('08 a compressed frame that nobody agreed on ends the connection with 1002', async () => {
  const c = await rig.client({ headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' } });

  c.ws.sendFrame({ rsv: 4, payload: LIST });
  assert.equal(await closeCode(c), 1002);
});
