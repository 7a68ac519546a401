// SPDX-License-Identifier: Apache-2.0
// Statements 22-30: initialize.

import assert from 'node:assert/strict';
import test from 'node:test';
import { closeCode, isError, serve, silent } from './rig.mjs';

const terminal = { type: 'terminal', id: 'tty-login', name: 'Login in a terminal', args: ['login'] };
const rig = serve({
  harnesses: [{ id: 'tty', args: ['--auth'], authMethods: [terminal, { id: 'stub-login', name: 'Stub login' }] }],
});
const init = { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'x', version: '1' } };
const caps = (result) => result.agentCapabilities;

test('22 a first request other than initialize gets -32600, then close 1002, and nothing runs', async () => {
  const judge = await rig.client();
  const before = (await judge.call('session/list')).sessions.length;
  const first = [['session/new', { cwd: rig.d.workDir, mcpServers: [] }], ['session/list', {}], ['no/such', {}], ['_x/y', {}],
    ['session/prompt', { sessionId: 'x', prompt: [] }], ['authenticate', { methodId: 'x' }]];

  for (const [method, params] of first) {
    const c = await rig.connect();

    isError(await c.fails(method, params, { id: 'one' }), -32600, 'NOT_INITIALIZED', { sessionId: undefined });
    assert.equal(await closeCode(c), 1002, method);
  }
  assert.equal((await judge.call('session/list')).sessions.length, before);
});

test('22 what follows in the same write as a wrong first message is not executed either', async () => {
  const judge = await rig.client();
  const before = (await judge.call('session/list')).sessions.length;
  const c = await rig.connect();
  const text = (m) => c.ws.text(JSON.stringify({ jsonrpc: '2.0', ...m }));

  c.ws.socket.cork();
  text({ method: 'session/cancel', params: { sessionId: 'x' } });
  c.request('initialize', init);
  c.request('session/new', { cwd: rig.d.workDir, mcpServers: [] });
  c.ws.socket.uncork();
  assert.equal(await closeCode(c), 1002);
  assert.deepEqual(c.messages, []);
  assert.equal((await judge.call('session/list')).sessions.length, before);
});

test('22 a first notification, or initialize without an id, closes with 1002 and no answer', async () => {
  for (const msg of [{ method: 'initialize', params: init }, { method: '$/x' }, { method: 'session/cancel', params: {} },
    { id: null, method: 'initialize', params: init }]) {
    const c = await rig.connect();

    c.send({ jsonrpc: '2.0', ...msg });
    assert.equal(await closeCode(c), 1002, JSON.stringify(msg));
    assert.deepEqual(c.messages, []);
  }
});

test('22 a response, or what is no message at all, does not spoil the handshake', async () => {
  const c = await rig.connect();

  c.respond(1, {});
  c.ws.binary('x');
  c.ws.text('{');
  isError(await c.waitFor((m) => m.id === null).then((m) => m.error), -32700, 'PARSE_ERROR');
  assert.equal((await c.initialize()).protocolVersion, 1);
});

test('23 whatever version is asked for, 1 is the answer', async () => {
  const both = { info: { name: 'v2', version: '2' }, capabilities: {} };

  for (const protocolVersion of [1, 0, 2, 99, 65535]) {
    const c = await rig.connect();
    const result = await c.call('initialize', { ...init, ...both, protocolVersion });

    assert.equal(result.protocolVersion, 1, `asked for ${protocolVersion}`);
    assert.ok(caps(result).loadSession);
    assert.ok((await c.newSession()).sessionId);
  }
});

test('24 a missing or malformed protocolVersion is -32602', async () => {
  for (const protocolVersion of [undefined, '1', -1, 65536, 1.5, null, true, [1], {}, 1e30]) {
    const c = await rig.connect();
    const error = await c.fails('initialize', { ...init, protocolVersion });

    assert.equal(error.code, -32602, `asked for ${protocolVersion}`);
    assert.equal(error.data.field, 'protocolVersion');
    assert.match(error.data.reason, /^FIELD_(MISSING|INVALID|OUT_OF_RANGE)$/);
  }
});

test('25 the result passes the schema and says who we are', async () => {
  const c = await rig.client();
  const { agentCapabilities, authMethods, agentInfo } = c.initializeResult;

  assert.deepEqual(authMethods, []);
  assert.equal(agentInfo.name, 'acpd');
  assert.match(agentInfo.version, /^\d+\.\d+\.\d+/);
  assert.equal(agentCapabilities.loadSession, true);
  assert.deepEqual(agentCapabilities.promptCapabilities, { image: false, audio: false, embeddedContext: false });
  assert.deepEqual(agentCapabilities.mcpCapabilities, { acp: true, http: false, sse: false });
  assert.deepEqual(agentCapabilities.sessionCapabilities, { list: {}, resume: {}, close: {}, delete: {} });
  const ours = agentCapabilities._meta.acpd;
  assert.match(ours.incarnation, /^[0-9a-f]{32}$/);
  assert.equal(ours.version, agentInfo.version);
  assert.deepEqual(ours.harnesses.filter((h) => ['stub', 'full', 'early', 'tty'].includes(h)).sort(), ['early', 'full', 'stub', 'tty']);
  // what is in neither list does not exist, what is in both is not true
  assert.deepEqual(['codex', 'opencode', 'pi'].filter((h) => ours.harnesses.includes(h) === ours.harnessesNotInstalled.includes(h)), []);
  assert.equal(ours.limits.messageBytes, 32 * 1024 * 1024);
  assert.equal(typeof ours.features, 'object');
});

test('25 the capabilities are those of the harness in the URL', async () => {
  const c = await rig.client({ path: '/acp?harness=full' });
  const got = caps(c.initializeResult);

  assert.deepEqual(got.promptCapabilities, { image: true, audio: true, embeddedContext: true });
  assert.deepEqual(got.mcpCapabilities, { acp: true, http: true, sse: true });
  assert.deepEqual(got.sessionCapabilities.additionalDirectories, {});
  const { _meta } = await c.newSession();
  assert.equal(_meta.acpd.harness, 'full');
});

test('25 an unknown harness in the URL is -32602 with the known ones', async () => {
  const c = await rig.connect({ path: '/acp?harness=none' });

  isError(await c.fails('initialize', init), -32602, 'HARNESS_UNKNOWN', { field: 'harness' });
  const other = await rig.client();
  const error = await other.fails('session/new', { cwd: rig.d.workDir, mcpServers: [], _meta: { acpd: { harness: 'none' } } });
  isError(error, -32602, 'HARNESS_UNKNOWN', { field: '_meta.acpd.harness' });
  assert.ok(error.data.known.includes('stub'));
});

test('26 methods that are not advertised get -32601', async () => {
  const { c, sessionId } = await rig.session();
  const gated = ['session/archive', 'session/unarchive', 'session/status', 'session/set_title',
    'auth/status', 'logout', 'authenticate', 'nes/start', 'nes/suggest',
    'mcp/message', 'proxy/initialize', 'session/steering'];

  for (const method of gated) {
    const params = { sessionId, cwd: rig.d.workDir, mcpServers: [], title: 'x', methodId: 'x', modelId: 'x' };

    isError(await c.fails(method, params), -32601, 'METHOD_NOT_FOUND');
  }
});

test('26 each advertised feature works', async () => {
  const { c, sessionId } = await rig.session();
  const listed = async () => (await c.call('session/list')).sessions.some((s) => s.sessionId === sessionId);

  await c.prompt(sessionId, 'echo hello');
  assert.ok(await listed());
  assert.deepEqual(await c.call('session/close', { sessionId }), {});
  assert.equal(typeof await c.load(sessionId), 'object');
  assert.equal(typeof await c.resumeSession(sessionId), 'object');
  assert.deepEqual(await c.call('session/delete', { sessionId }), {});
  assert.ok(!await listed());
});

test('27 malformed capabilities and client info do not fail initialize', async () => {
  const bad = ['x', 5, [], null, true, { fs: 3, session: 'x', elicitation: [], _meta: 7 },
    { fs: { readTextFile: 'yes' }, session: { configOptions: 1 }, _meta: { acpd: true } }];

  for (const value of bad) {
    const c = await rig.connect();
    const result = await c.call('initialize', { protocolVersion: 1, clientCapabilities: value, clientInfo: value, _meta: value });

    assert.equal(result.protocolVersion, 1);
    assert.ok((await c.newSession()).sessionId);
  }
  const bare = await rig.connect();
  assert.equal((await bare.call('initialize', { protocolVersion: 1 })).protocolVersion, 1);
});

test('28 a second initialize is -32600 and the first negotiation stays valid', async () => {
  const c = await rig.client({ init: { acpd: true } });

  isError(await c.fails('initialize', init), -32600, 'ALREADY_INITIALIZED');
  isError(await c.fails('initialize', { protocolVersion: 'x' }), -32600, 'ALREADY_INITIALIZED');
  const { sessionId } = await c.newSession();
  await c.prompt(sessionId, 'echo still here');
  assert.deepEqual(c.chunks(sessionId), ['still here']);
  await c.waitFor((m) => m.method === '_acpd/turn_end', { what: 'the turn_end that the first one asked for' });
});

test('29 several connections at once, each with its own capabilities', async () => {
  const all = { session: { notices: {}, configOptions: { boolean: {} } } };
  const clients = await Promise.all([
    rig.client({ init: { acpd: true, caps: all } }), rig.client({ init: { acpd: false } }),
    rig.client({ init: { acpd: true } }), rig.client({ init: { acpd: false, caps: all } }),
  ]);
  const seen = await Promise.all(clients.map(async (c) => {
    const { sessionId, configOptions } = await c.newSession();

    await c.prompt(sessionId, 'notice\necho done');
    await c.call('session/list');
    return {
      notice: c.updatesOf(sessionId, 'notice').length > 0,
      boolean: configOptions.some((o) => o.type === 'boolean'),
      turnEnd: c.notifications.some((m) => m.method === '_acpd/turn_end'),
    };
  }));

  assert.deepEqual(seen, [
    { notice: true, boolean: true, turnEnd: true }, { notice: false, boolean: false, turnEnd: false },
    { notice: false, boolean: false, turnEnd: true }, { notice: true, boolean: true, turnEnd: false },
  ]);
});

test('29 no private notification reaches a client that did not announce them', async () => {
  const { c, sessionId } = await rig.session({ init: { acpd: false } });

  await c.prompt(sessionId, 'echo one');
  const other = await rig.client({ init: { acpd: false } });
  await other.load(sessionId); // fences the first
  await silent(c, () => {});
  for (const client of [c, other])
    assert.deepEqual(client.notifications.filter((m) => m.method.startsWith('_')), []);
});

test('30 no terminal auth method over the WebSocket, whatever the client can', async () => {
  for (const auth of [undefined, { terminal: true }]) {
    const c = await rig.client({ path: '/acp?harness=tty', init: { caps: { auth } } });
    const { authMethods } = c.initializeResult;

    assert.deepEqual(authMethods.map((m) => m.id), ['stub-login']);
    isError(await c.fails('authenticate', { methodId: 'tty-login' }), -32602, 'AUTH_METHOD_UNKNOWN');
  }
});
