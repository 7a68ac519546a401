// SPDX-License-Identifier: Apache-2.0
// The statements as the official client sees them: the connection, initialize, sessions, history.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { acp, connectSdk } from '../../lib/sdk.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { FULL } from './rig.mjs';

const AUTH = { id: 'auth', args: ['--auth'], authMethods: [{ id: 'stub-login', name: 'Stub login' }] };
const { agent } = acp.methods;
const open = [];
let d;

before(async () => {
  d = await Daemon.start({ harnesses: [FULL, AUTH] });
});
after(async () => {
  await Promise.all(open.map((c) => c.close().catch(() => {})));
  await endInOrder(d);
});

async function connect(handlers, options) {
  const c = await connectSdk(d, handlers, options);

  open.push(c);
  return c;
}

async function client(handlers, { init, ...options } = {}) {
  const c = await connect(handlers, options);

  await c.initialize(init);
  return c;
}

const kinds = (c, sessionId) => c.updates.filter((u) => u.sessionId === sessionId).map((u) => u.update.sessionUpdate);

async function refused(promise, code, reason, data = {}) {
  const e = await promise.then((r) => assert.fail(`should have failed: ${JSON.stringify(r)}`), (x) => x);

  assert.ok(e instanceof acp.RequestError, String(e));
  assert.deepEqual([e.code, e.data?.reason], [code, reason], e.message);
  for (const [key, value] of Object.entries(data))
    assert.deepEqual(e.data[key], value);
}

const params = (sessionId, more) => ({ sessionId, cwd: d.workDir, mcpServers: [], ...more });
const say = async (c, sessionId, prompt) => {
  const from = c.updates.length;

  await c.prompt(sessionId, prompt);
  return c.chunks(sessionId, from).join('');
};

test('01 the stream opens and the 101 carries a connection id', async () => {
  const c = await client();

  assert.equal(c.seen.upgrade.status, 101);
  assert.match(c.seen.upgrade.headers['acp-connection-id'], /^[0-9A-Za-z-]{16,}$/);
});

test('03 a wrong token surfaces as a refused socket', async () => {
  for (const token of ['w'.repeat(40), null]) {
    const c = await connectSdk(d, {}, { token });

    await assert.rejects(c.initialize());
    assert.equal(c.seen.refusal.status, 401);
  }
});

test('04 a token in the subprotocol: acp.v1 is selected', async () => {
  const c = await client({}, { auth: 'protocol' });

  assert.equal(c.seen.socket.protocol, 'acp.v1');
  assert.ok((await c.newSession()).sessionId);
});

test('08 the client offers permessage-deflate and gets on without', async () => {
  const c = await client();

  assert.equal(c.seen.socket.extensions, '');
});

test('14 unknown requests are RequestError -32601', async () => {
  const c = await client();

  for (const method of ['no/such', '_x/y', 'session/archive', 'logout'])
    await refused(c.request(method, {}), -32601, 'METHOD_NOT_FOUND');
});

test('22 a request before initialize is refused', async () => {
  const c = await connectSdk(d);

  await assert.rejects(c.newSession(), (e) => e.code === -32600 || /closed|not connected/i.test(e.message));
});

test('23 version 1 is negotiated, whatever is asked for', async () => {
  for (const protocolVersion of [1, 0, 2, 99]) {
    const c = await connect();

    assert.equal((await c.initialize({ protocolVersion })).protocolVersion, 1);
  }
  assert.equal(acp.PROTOCOL_VERSION, 1);
});

test('24 a malformed version is -32602', async () => {
  const c = await connect();

  await refused(c.initialize({ protocolVersion: 70000 }), -32602, 'FIELD_OUT_OF_RANGE', { field: 'protocolVersion' });
});

test('25 initialize tells capabilities and who answers', async () => {
  const c = await client();
  const { agentCapabilities, agentInfo, authMethods } = c.initializeResult;

  assert.equal(agentInfo.name, 'acpd');
  assert.equal(agentCapabilities.loadSession, true);
  assert.deepEqual(Object.keys(agentCapabilities.sessionCapabilities).sort(), ['close', 'delete', 'list', 'resume']);
  assert.deepEqual(authMethods, []);
});

test('28 a second initialize is refused and the connection works on', async () => {
  const c = await client();

  await refused(c.initialize(), -32600, 'ALREADY_INITIALIZED');
  assert.ok((await c.newSession()).sessionId);
});

test('31 session/new gives different ids', async () => {
  const c = await client();
  const [a, b] = await Promise.all([c.newSession(), c.newSession()]);

  assert.ok(a.sessionId && b.sessionId && a.sessionId !== b.sessionId);
  assert.equal(a.modes.currentModeId, 'ask');
});

test('32 a relative or missing cwd is -32602', async () => {
  const c = await client();

  await refused(c.newSession({ cwd: 'a/b' }), -32602, 'CWD_NOT_ABSOLUTE', { field: 'cwd' });
  await refused(c.newSession({ cwd: '/no/such/dir' }), -32602, 'CWD_NOT_FOUND', { field: 'cwd' });
});

test('33 an MCP transport that is not advertised is -32602', async () => {
  const c = await client();
  const mcpServers = [{ type: 'http', name: 'x', url: 'https://mcp.example/', headers: [] }];

  await refused(c.newSession({ mcpServers }), -32602, 'MCP_TRANSPORT_UNSUPPORTED', { field: 'mcpServers[0].type' });
});

test('34 authenticate, then session/new', async () => {
  const c = await client({}, { url: `${d.url}?harness=auth` });

  assert.equal(c.initializeResult.authMethods[0].id, 'stub-login');
  await refused(c.newSession(), -32000, 'AUTH_REQUIRED');
  await refused(c.request(agent.authenticate, { methodId: 'nope' }), -32602, 'AUTH_METHOD_UNKNOWN');
  await c.request(agent.authenticate, { methodId: 'stub-login' });
  assert.ok((await c.newSession()).sessionId);
});

test('36 load and resume of an unknown session are -32002', async () => {
  const c = await client();

  for (const method of [agent.session.load, agent.session.resume])
    await refused(c.request(method, params('sess_none')), -32002, 'SESSION_NOT_FOUND', { sessionId: 'sess_none' });
});

test('37 load replays all of it before it answers', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'think hm\necho one\ntool t1 read File\nplan\necho two');
  const other = await client();
  await other.load(sessionId);
  const got = kinds(other, sessionId).filter((k) => !/commands|usage/.test(k));
  assert.deepEqual(got, ['user_message_chunk', 'agent_thought_chunk', 'agent_message_chunk', 'tool_call', 'tool_call_update',
    'tool_call_update', 'plan', 'agent_message_chunk']);
  assert.deepEqual(other.chunks(sessionId), ['one', 'two']);
});

test('38 a session outlives its socket', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo kept');
  c.seen.socket.terminate();
  const other = await client();
  await other.load(sessionId);
  assert.equal(await say(other, sessionId, 'RECALL'), '["echo kept"]');
});

test('39 load while a turn runs: no gap, no duplicate', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();
  const { step, open } = gate(d);
  const steps = Array.from({ length: 30 }, (_, i) => `echo ${i}\n${i === 25 ? step : 'sleep 10'}`).join('\n');
  const turn = c.prompt(sessionId, steps).catch((e) => e);
  let ended;
  const end = new Promise((resolve) => { ended = resolve; });

  while (!c.updates.some((u) => u.update.content?.text === '5'))
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  const other = await client({ onNotification: (method) => method === '_acpd/turn_end' && ended() });
  await other.load(sessionId);
  open();
  await deadline(end, 10000, 'the end of the turn');
  assert.deepEqual(other.chunks(sessionId), Array.from({ length: 30 }, (_, i) => String(i)));
  assert.equal((await turn).data.reason, 'DETACHED');
});

test('40 resume: no history, but the context', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo before');
  const other = await client();
  await other.request(agent.session.resume, params(sessionId));
  assert.deepEqual(kinds(other, sessionId), []);
  assert.equal(await say(other, sessionId, 'RECALL'), '["echo before"]');
});

test('41 list by cwd', async () => {
  const c = await client();
  const cwd = path.join(d.workDir, 'listed');

  fs.mkdirSync(cwd);
  const { sessionId } = await c.newSession({ cwd });
  const { sessions } = await c.request(agent.session.list, { cwd });
  assert.deepEqual(sessions.map((s) => [s.sessionId, s.cwd]), [[sessionId, cwd]]);
  await refused(c.request(agent.session.list, { cursor: 'bogus' }), -32602, 'CURSOR_INVALID', { field: 'cursor' });
});

test('42 close ends the turn as cancelled and the session stays loadable', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();
  const order = [];
  const turn = c.prompt(sessionId, 'echo a\nsleep 60000').then((r) => order.push(r.stopReason));

  while (!c.chunks(sessionId).length)
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  await c.request(agent.session.close, { sessionId }).then(() => order.push('closed'));
  await turn;
  assert.deepEqual(order, ['cancelled', 'closed']);
  await refused(c.prompt(sessionId, 'echo x'), -32002, 'SESSION_NOT_ACTIVE', { sessionId });
  await c.load(sessionId);
  assert.equal(await say(c, sessionId, 'echo y'), 'y');
});

test('43 close and delete of an unknown session succeed', async () => {
  const c = await client();

  await c.request(agent.session.close, { sessionId: 'sess_none' });
  await c.request(agent.session.delete, { sessionId: 'sess_none' });
});

test('44 delete removes it for good', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();

  await c.request(agent.session.delete, { sessionId });
  const { sessions } = await c.request(agent.session.list, {});
  assert.ok(!sessions.some((s) => s.sessionId === sessionId));
  await refused(c.load(sessionId), -32002, 'SESSION_NOT_FOUND', { sessionId });
  await c.request(agent.session.delete, { sessionId });
});

test('45 a prompt on a session of another connection is -32002', async () => {
  const [c, other] = [await client(), await client()];
  const { sessionId } = await c.newSession();

  await refused(other.prompt(sessionId, 'echo x'), -32002, 'SESSION_NOT_ACTIVE', { sessionId });
});

test('47 set_mode, and a change by the agent', async () => {
  const c = await client();
  const { sessionId } = await c.newSession();

  await c.request(agent.session.setMode, { sessionId, modeId: 'code' });
  assert.equal((await c.load(sessionId)).modes.currentModeId, 'code');
  await c.prompt(sessionId, 'mode ask\necho x');
  const update = c.updates.find((u) => u.update.sessionUpdate === 'current_mode_update').update;
  assert.equal(update.currentModeId, 'ask');
  await refused(c.request(agent.session.setMode, { sessionId, modeId: 'nope' }), -32602, 'MODE_UNKNOWN');
});

test('48 set_config_option, with booleans for who announced them', async () => {
  const c = await client({}, { init: { caps: { session: { configOptions: { boolean: {} } } } } });
  const { sessionId, configOptions } = await c.newSession();
  const set = (configId, value, more) => c.request(agent.session.setConfigOption, { sessionId, configId, value, ...more });

  assert.deepEqual(configOptions.map((o) => o.id), ['model', 'mode', 'web']);
  const large = await set('model', 'stub-large');
  assert.deepEqual(large.configOptions.map((o) => o.currentValue), ['stub-large', 'ask', false]);
  const web = await set('web', true, { type: 'boolean' });
  assert.deepEqual(web.configOptions.map((o) => o.currentValue), ['stub-large', 'ask', true]);
  await refused(set('model', 'gpt-99'), -32602, 'CONFIG_VALUE_UNKNOWN', { field: 'value' });
});
