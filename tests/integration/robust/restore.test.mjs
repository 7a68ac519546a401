// SPDX-License-Identifier: Apache-2.0
// build: both
// A machine that was away: the file with the sandbox's id is written again, with the same id or with another.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test, after } from 'node:test';
import { SANITIZED } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { internetSockets } from '../../lib/internet-sockets.mjs';
import { SLOW, assertNoViolations, deadline, frame } from '../../lib/rawws.mjs';
import { steady, until } from '../../lib/wait.mjs';
import { timesIn } from '../../lib/memory.mjs';
import { turnsOf } from '../ledger.mjs';
import { LineTransport } from '../../lib/lines.mjs';
import { claimed, resumed, sandboxed, unlessReset } from './away.mjs';
import { Tape } from './rig.mjs';

after(assertNoViolations);

const KEY = `sk-${crypto.randomBytes(20).toString('hex')}`;
const SECRET = `s3cret-${crypto.randomBytes(20).toString('hex')}`;

const info = async (d, token = d.token) => (await d.http('/v1/info', { token })).json;
// The states that the daemon went through, oldest first.
const states = (d) => d.logs.filter((l) => l.mod === 'life' && l.msg === 'state').map((l) => l.to);

test('the same id: sockets are reset, sessions, token and turn go on, and clients are told', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one');
  const c = await d.client();
  const local = await LineTransport.unix(d.acpSocket);
  const { sessionId } = await c.newSession();
  const { incarnation, sandboxId, resumed: never } = await info(d);

  assert.deepEqual([sandboxId, never], ['i-one', undefined]);
  assert.equal(c.initializeResult.agentCapabilities._meta.acpd.sandboxId, 'i-one');
  const { step, open } = gate(d), from = Date.now();
  const lost = c.prompt(sessionId, `echo before; ${step}; echo after`).then(() => 'answered', () => 'lost');

  await c.waitFor((m) => m.method === 'session/update' && m.params.update?.content?.text === 'before');
  d.become('i-one');
  assert.equal(await lost, 'lost');
  assert.equal((await deadline(c.ws.closed, 5000, 'the socket ends')).code ?? 1006, 1006);

  await resumed(d);
  const again = await d.client();
  const told = await again.waitFor((m) => m.method === '_acpd/resumed');

  assert.deepEqual(Object.keys(told.params), ['at', 'gapMs', 'incarnation', 'sandboxId']);
  assert.deepEqual([told.params.incarnation, told.params.sandboxId], [incarnation, 'i-one']);
  assert.ok(told.params.gapMs < 1000 + Date.now() - from);
  assert.equal((await info(d)).resumed.at, told.params.at);
  await again.load(sessionId);
  open();
  const end = await again.waitFor((m) => m.method === '_acpd/turn_end');

  assert.equal(end.params.stopReason, 'end_turn');
  assert.equal(turnsOf(d, sessionId)[0].sandboxId, 'i-one');
  assert.equal((await info(d)).incarnation, incarnation);
  assert.deepEqual(states(d), ['ready', 'paused', 'ready']);
  local.close?.();
  local.destroy?.();
});

test('another id: nobody has claimed it, nothing knows a key, sessions want theirs again', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-parent', { harnesses: [{ id: 'caller', quirks: 'copilot' }] });
  const c = await d.client();
  const provider = { api: 'openai-chat', baseUrl: 'http://127.0.0.1:9/v1', key: KEY, via: 'environment' };
  const { sessionId } = await c.newSession({ meta: { harness: 'caller', provider } });
  const { sessionId: other } = await c.newSession({ meta: { secrets: { MY_TOKEN: SECRET } } });
  const { sessionId: plain } = await c.newSession();
  const { incarnation } = await info(d);
  const hosted = d.harnesses();

  if (!SANITIZED)
    assert.ok(timesIn(d.pid, KEY) > 0 && timesIn(d.pid, SECRET) > 0, 'the search finds what is there');
  c.prompt(sessionId, 'echo before; sleep 60000').catch(() => {});
  await c.waitFor((m) => m.method === 'session/update' && m.params.update?.content?.text === 'before');
  d.become('i-child');
  await deadline(c.ws.closed, 5000, 'the socket ends');
  await resumed(d);
  assert.equal((await d.http('/v1/info', { token: d.token })).status, 503, 'UNCLAIMED');
  await d.gone(hosted);
  if (!SANITIZED)
    await until(() => timesIn(d.pid, KEY) === 0 && timesIn(d.pid, SECRET) === 0, 'no key in memory', 5000);

  const token = await claimed(d);
  const child = await info(d, token);

  assert.equal(child.sandboxId, 'i-child');
  assert.notEqual(child.incarnation, incarnation);
  assert.equal((await d.http('/v1/info', { token: d.token })).status, 401, 'the token of the parent');
  const again = await d.client({ token });
  const told = await again.waitFor((m) => m.method === '_acpd/resumed');

  assert.deepEqual([told.params.incarnation, told.params.sandboxId], [child.incarnation, 'i-child']);
  const load = (id, meta) => ({ sessionId: id, cwd: d.workDir, mcpServers: [], ...(meta && { _meta: { acpd: meta } }) });

  assert.equal((await again.fails('session/load', load(sessionId))).data.reason, 'PROVIDER_REQUIRED');
  assert.equal((await again.fails('session/load', load(other))).data.reason, 'ENV_REQUIRED');
  await again.call('session/load', load(sessionId, { provider: { ...provider, key: 'sk-of-the-child-0123456789' } }));
  await again.call('session/load', load(other, { secrets: { MY_TOKEN: 'another-secret-0123456789' } }));
  await again.call('session/load', load(plain));
  for (const id of [sessionId, other, plain])
    assert.equal((await again.prompt(id, 'echo hello')).stopReason, 'end_turn');
  const [first, second] = turnsOf(d, sessionId);

  assert.equal(first.error?.class ?? first.stopReason, 'shutdown');
  assert.equal(second.incarnation, child.incarnation);
  assert.equal(second.sandboxId, 'i-child');
  assert.deepEqual(states(d), ['ready', 'paused', 'provisioning', 'ready']);
});

// What is left of a stream of frames of the daemon behind the last whole one: of a frame that never came to its end.
function cutFrame(bytes) {
  for (let at = 0; ;) {
    const short = bytes[at + 1] & 0x7f;
    const head = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);

    if (bytes.length < at + head)
      return { payload: bytes.subarray(bytes.length), at };
    const length = short === 126 ? bytes.readUInt16BE(at + 2) : short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short;
    if (bytes.length < at + head + length)
      return { payload: bytes.subarray(at + head), at, length };
    at += head + length;
  }
}

// Bytes that the kernel holds for this port, sent and not yet read.
const queued = (port) => internetSockets('tcp').filter((s) => s.localPort === port || s.remotePort === port).reduce((sum, s) => sum + s.queued, 0);

test('a frame that is half sent ends there: nothing is put behind it, and all of it comes again, once', { timeout: 240000 * SLOW }, async (t) => {
  const [TEXTS, SIZE] = [160, 60000]; // more than the kernel takes for somebody who does not read
  const d = await sandboxed(t, 'i-one');
  const c = await d.client({ validate: 'none' }), watcher = await d.client();
  const tape = await Tape.open(c, { flood: TEXTS });
  const { sessionId } = tape;
  const { incarnation } = c.initializeResult.agentCapabilities._meta.acpd;
  const bytes = [];

  c.ws.socket.pause();
  c.ws.socket.on('data', (data) => bytes.push(data));
  c.ws.socket.pause(); // a listener starts it again
  c.startPrompt(sessionId, `flood ${TEXTS} ${SIZE}; sleep 1000; echo end`);
  await until(async () => (await watcher.call('_acpd/status', { sessionId })).sessions[0].seq > TEXTS, 'the daemon has it all');
  assert.deepEqual(bytes, [], 'nothing has been read');
  await steady(() => queued(c.ws.socket.localPort)); // the kernel takes no more, so a frame is half sent
  d.become('i-one');
  await resumed(d);
  await watcher.closed;
  await until(() => d.logs.filter((l) => l.msg === 'connection closed').length === 2, 'both are closed, whether they read or not');
  c.ws.socket.resume();
  assert.equal((await deadline(c.ws.closed, 5000, 'its end')).code, 1006);

  const whole = Buffer.concat(bytes), cut = cutFrame(whole);
  const last = tape.last;
  assert.ok(last > 0 && last < TEXTS, `it had ${last} events`);
  assert.ok(cut.payload.length > 0 && cut.payload.length < cut.length, 'half a frame');
  assert.ok(!whole.includes('_acpd/resumed'));

  const again = await d.client({ validate: 'none' });
  const next = new Promise((resolve) => {
    again.ws.on('message', ({ payload }) => payload.includes(`"seq":${last + 1},`) && resolve(payload));
  });
  tape.attach(again);
  await again.load(sessionId, { meta: { fromSeq: last + 1, incarnation } });
  assert.ok((await deadline(next, 5000, 'the next event')).subarray(0, cut.payload.length).equals(cut.payload), 'it is that event, up to where it was cut');
  await tape.until((x) => x.ends.length, 10000, 'the end of the turn');
  tape.assertWhole();
  assert.equal(tape.numbered, TEXTS);
  assert.deepEqual([...tape.texts.values()].filter((x) => x === 'end'), ['end']);
  const { json, body } = await d.http(`/v1/sessions/${sessionId}/events?since=0`, { token: d.token });
  assert.equal(json, undefined);
  assert.deepEqual(tape.missing, body.trim().split('\n').map((l) => JSON.parse(l)).filter((e) => e.kind === 'prompt').map((e) => e.seq), 'its own prompt');
});

test('a message that is half read is nobody\'s', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one');
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const request = frame({ payload: JSON.stringify({ jsonrpc: '2.0', id: 77, method: 'session/prompt', params: c.promptParams(sessionId, 'echo half') }) });

  c.ws.bytes(request.subarray(0, 60));
  await until(async () => (await d.http('/v1/info', { token: d.token })).status === 200, 'it has had that');
  d.become('i-one');
  await resumed(d);
  try {
    c.ws.bytes(request.subarray(60));
  } catch { /* it is closed already */ }
  await deadline(c.ws.closed, 5000, 'its end');
  const again = await d.client();

  await again.load(sessionId);
  assert.equal((await again.prompt(sessionId, 'echo whole')).stopReason, 'end_turn');
  assert.deepEqual(again.chunks(sessionId), ['whole']);
  assert.equal(turnsOf(d, sessionId).length, 1);
});

test('a file that is made later is learned, and is no other sandbox; nonsense in it is no id', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, null);
  const sandboxId = async () => (await unlessReset(info(d)))?.sandboxId;

  assert.equal((await info(d)).sandboxId, 'of-the-build');
  d.become('i-late');
  await until(async () => await sandboxId() === 'i-late', 'it is learned');
  for (const text of ['', ' ', 'a/b', '"x"', 'x'.repeat(65)]) {
    const n = d.logs.filter((l) => /^resumed/.test(l.msg)).length;

    d.become(text);
    await resumed(d, n + 1);
    await until(async () => await sandboxId() === 'of-the-build', JSON.stringify(text));
  }
  d.become('i-late\n');
  await until(async () => await sandboxId() === 'i-late', 'it is back');
  d.become('i-other');
  await until(async () => (await unlessReset(d.http('/v1/info', { token: d.token })))?.status === 503, 'a copy');
});

test('a copy that is claimed again keeps the servers that it hosts', { timeout: 240000 * SLOW }, async (t) => {
  const config = path.join(fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-mcp-')), 'mcp.json');

  t.after(() => fs.rmSync(path.dirname(config), { recursive: true }));
  fs.writeFileSync(config, JSON.stringify({ mcpServers: { own: { command: process.execPath, args: [path.join(import.meta.dirname, '../../mcp/hosted-server.mjs')] } } }));
  const d = await sandboxed(t, 'i-one', { flags: { mcpConfig: config } });
  const own = async () => (await d.http('/v1/mcp', { token: d.token })).json?.servers?.find((s) => s.name === 'own');
  const children = () => d.harnesses().map((p) => p.pid);

  await until(async () => (await own())?.state === 'ready', 'the server is there');
  const before = children();

  d.become('i-two');
  await resumed(d);
  d.token = await claimed(d);
  await until(async () => (await own())?.state === 'ready', 'the server is still there');
  assert.deepEqual(children(), before);
  await d.stop();
});
