// SPDX-License-Identifier: Apache-2.0
// Statements 31-36, 43, 45, 46: making sessions, and being refused.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { at, isError, isUpdate, say, serve } from './rig.mjs';

const AUTH = { id: 'auth', args: ['--auth'], authMethods: [{ id: 'stub-login', name: 'Stub login', description: 'By word' }] };
const rig = serve({ harnesses: [AUTH, { id: 'secret-auth', args: ['--auth'] }] });
const http = { type: 'http', name: 'h', url: 'https://mcp.example/api', headers: [{ name: 'X-A', value: 'b' }] };
const sse = { type: 'sse', name: 's', url: 'https://mcp.example/sse', headers: [] };
const stdio = { name: 'local', command: '/bin/true', args: ['-x'], env: [{ name: 'K', value: 'v' }] };

test('31 each session/new gives a new non-empty id that is not the harness\'s', async () => {
  const c = await rig.client();
  const made = await Promise.all([1, 2, 3, 4].map(() => c.newSession()));
  const ids = made.map((s) => s.sessionId);

  for (const id of ids)
    assert.match(id, /^[\w-]{8,}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(!ids.some((id) => id.startsWith('stub_')), 'our ids are ours');
  for (const id of ids)
    assert.equal((await say(c, id, 'echo here')).text, 'here');
});

test('31 the id of an update is the session\'s, never the harness\'s', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo a\ntool t1 read x\nplan\nusage\ntitle t\nmode code\nsubagent');
  assert.ok(c.updates.length >= 8);
  for (const u of c.updates)
    assert.equal(u.sessionId, sessionId);
});

test('32 a missing or malformed cwd or mcpServers is -32602 with the field', async () => {
  const c = await rig.client();
  const cwd = rig.d.workDir;
  const bad = [
    [{ mcpServers: [] }, 'cwd', 'FIELD_MISSING'], [{ cwd }, 'mcpServers', 'FIELD_MISSING'], [{}, undefined, 'FIELD_MISSING'],
    [{ cwd: 5, mcpServers: [] }, 'cwd', 'FIELD_INVALID'], [{ cwd: null, mcpServers: [] }, 'cwd'],
    [{ cwd, mcpServers: {} }, 'mcpServers', 'FIELD_INVALID'], [{ cwd, mcpServers: 'x' }, 'mcpServers', 'FIELD_INVALID'],
    [{ cwd, mcpServers: [5] }, undefined, 'FIELD_INVALID'], [{ cwd, mcpServers: [{ command: '/x' }] }, 'mcpServers[0].name'],
    [{ cwd, mcpServers: [stdio, { name: 'x' }] }, 'mcpServers[1].command', 'FIELD_MISSING'],
    [{ cwd, mcpServers: [{ ...stdio, args: [1] }] }, 'mcpServers[0].args', 'FIELD_INVALID'],
    [{ cwd, mcpServers: [{ ...stdio, env: { K: 'v' } }] }, 'mcpServers[0].env', 'FIELD_INVALID'],
    [{ cwd, mcpServers: [{ ...stdio, env: [{ name: 'K' }] }] }, 'mcpServers[0].env', 'FIELD_INVALID'],
  ];

  for (const [params, field, reason] of bad) {
    const error = await c.fails('session/new', params);

    assert.equal(error.code, -32602, JSON.stringify(params));
    if (field)
      assert.equal(error.data.field, field);
    if (reason)
      assert.equal(error.data.reason, reason, JSON.stringify(params));
  }
});

test('32 a relative cwd or additional directory is -32602', async () => {
  const c = await rig.client();

  for (const cwd of ['.', 'a/b', '', '~', 'C:\\x'])
    isError(await c.fails('session/new', { cwd, mcpServers: [] }), -32602, 'CWD_NOT_ABSOLUTE', { field: 'cwd' });
  const full = { cwd: rig.d.workDir, mcpServers: [], _meta: { acpd: { harness: 'full' } } };
  const error = await c.fails('session/new', { ...full, additionalDirectories: ['/tmp', 'a/b'] });
  isError(error, -32602, 'PATH_NOT_ABSOLUTE', { field: 'additionalDirectories[1]' });
  for (const additionalDirectories of [[5], 'x', {}])
    assert.equal((await c.fails('session/new', { ...full, additionalDirectories })).code, -32602);
});

test('32 a cwd that is no directory in the sandbox is -32602', async () => {
  const c = await rig.client();
  const file = path.join(rig.d.workDir, 'file');

  fs.writeFileSync(file, '');
  isError(await c.fails('session/new', { cwd: '/no/such/dir', mcpServers: [] }), -32602, 'CWD_NOT_FOUND');
  isError(await c.fails('session/new', { cwd: file, mcpServers: [] }), -32602, 'CWD_NOT_DIRECTORY');
  isError(await c.fails('session/new', { cwd: '/tmp\u0000/x', mcpServers: [] }), -32602, 'FIELD_INVALID');
});

test('32 null and absent optional lists count as empty', async () => {
  const c = await rig.client();
  const cwd = rig.d.workDir;
  const mcpServers = [{ name: 'x', command: '/bin/true', args: null, env: null }];

  for (const params of [{ cwd, mcpServers: null }, { cwd, mcpServers: [], additionalDirectories: null }, { cwd, mcpServers }])
    assert.ok((await c.call('session/new', params)).sessionId);
});

test('32 a parameter of ours that we do not have is refused, not dropped', async () => {
  const c = await rig.client();

  for (const name of ['whenDetatched', 'fromSeq', 'nope']) {
    const params = { cwd: rig.d.workDir, mcpServers: [], _meta: { acpd: { [name]: 'x' } } };

    isError(await c.fails('session/new', params), -32602, 'PARAM_UNSUPPORTED', { field: `_meta.acpd.${name}` });
  }
  const params = { cwd: rig.d.workDir, mcpServers: [], systemPrompt: { mode: 'append', content: [] } };
  isError(await c.fails('session/new', params), -32602, 'CAPABILITY_MISSING', { field: 'systemPrompt' });
});

test('33 an MCP transport that is not advertised is -32602 in new, load and resume', async () => {
  const { c, sessionId } = await rig.session();
  const { mcpCapabilities } = c.initializeResult.agentCapabilities;

  assert.ok(!mcpCapabilities.http && !mcpCapabilities.sse);
  for (const server of [http, sse, { ...http, type: 'carrier-pigeon' }]) {
    const params = { sessionId, cwd: rig.d.workDir, mcpServers: [stdio, server] };

    for (const method of ['session/new', 'session/load', 'session/resume'])
      isError(await c.fails(method, params), -32602, 'MCP_TRANSPORT_UNSUPPORTED', { field: 'mcpServers[1].type' });
  }
  assert.equal((await say(c, sessionId, 'echo unharmed')).text, 'unharmed');
});

test('33 what is advertised reaches the harness as it was given', async () => {
  const mcpServers = [stdio, http, sse];
  const { c, sessionId } = await rig.session({ meta: { harness: 'full', mcp: { stdio: 'harness' } }, mcpServers });
  const params = JSON.parse((await say(c, sessionId, 'getparams')).text);

  assert.deepEqual(params.mcpServers, mcpServers);
  assert.equal(params.cwd, rig.d.workDir);
});

test('34 login needed: -32000 from session/new until authenticate', async () => {
  const c = await rig.client({ path: '/acp?harness=auth' });

  assert.deepEqual(c.initializeResult.authMethods, AUTH.authMethods);
  isError(await c.fails('session/new', { cwd: rig.d.workDir, mcpServers: [] }), -32000, 'AUTH_REQUIRED');
  isError(await c.fails('authenticate', { methodId: 'no-such' }), -32602, 'AUTH_METHOD_UNKNOWN', { field: 'methodId' });
  assert.equal((await c.fails('authenticate', {})).code, -32602);
  isError(await c.fails('session/new', { cwd: rig.d.workDir, mcpServers: [] }), -32000, 'AUTH_REQUIRED');
  assert.deepEqual(await c.call('authenticate', { methodId: 'stub-login' }), {});
  const { sessionId } = await c.newSession();
  assert.equal((await say(c, sessionId, 'echo in')).text, 'in');
});

test('34 who did not log in cannot prompt or load before a session exists; later the session knows', async () => {
  const c = await rig.client({ path: '/acp?harness=auth' });

  isError(await c.fails('session/load', { sessionId: 'x', cwd: rig.d.workDir, mcpServers: [] }), -32002, 'SESSION_NOT_FOUND');
  await c.call('authenticate', { methodId: 'stub-login' });
  const { sessionId } = await c.newSession();
  await c.call('session/close', { sessionId });
  await c.load(sessionId); // starts the harness again, which wants the login again
  assert.equal((await say(c, sessionId, 'echo back')).text, 'back');
});

test('34 with empty authMethods the answer is never -32000', async () => {
  const c = await rig.client({ path: '/acp?harness=secret-auth' });

  assert.deepEqual(c.initializeResult.authMethods, []);
  const error = await c.fails('session/new', { cwd: rig.d.workDir, mcpServers: [] });
  assert.equal(error.code, -32603, error.message);
  assert.match(error.data.reason, /^[A-Z_]+$/);
});

test('35 nothing of a session is sent before the session/new response', async () => {
  for (const harness of ['early', 'stub', 'full']) {
    const c = await rig.client();

    for (let i = 0; i < 5; i++) {
      const { sessionId } = await c.newSession({ meta: { harness } });
      const response = at(c, (m) => m.result?.sessionId === sessionId);
      await c.waitUpdate((u) => u.sessionId === sessionId && u.update.sessionUpdate === 'available_commands_update');
      const first = at(c, (m) => isUpdate(m, sessionId));

      assert.ok(first > response, `${harness}: the first update came as message ${first}, the response as ${response}`);
    }
  }
});

test('36 load and resume of an unknown id are -32002 with the id', async () => {
  const c = await rig.client();

  for (const sessionId of ['sess_none', '../../etc', `x${'ü'.repeat(100)}`, 'x'.repeat(1024), 'sess_00000000000000000000000000000000']) {
    const params = { sessionId, cwd: rig.d.workDir, mcpServers: [] };

    for (const method of ['session/load', 'session/resume'])
      isError(await c.fails(method, params), -32002, 'SESSION_NOT_FOUND', { sessionId });
  }
  assert.deepEqual((await c.call('session/list', { cwd: '/no/such' })).sessions, []);
});

test('36 load with another cwd than the session\'s is -32602', async () => {
  const { c, sessionId } = await rig.session();
  const error = await c.fails('session/load', { sessionId, cwd: '/tmp', mcpServers: [] });

  isError(error, -32602, 'CWD_MISMATCH', { field: 'cwd' });
});

test('43 close and delete of an unknown id succeed', async () => {
  const c = await rig.client();

  for (const method of ['session/close', 'session/delete']) {
    assert.deepEqual(await c.call(method, { sessionId: 'sess_none' }), {});
    isError(await c.fails(method, {}), -32602, 'FIELD_MISSING', { field: 'sessionId' });
    isError(await c.fails(method, { sessionId: 7 }), -32602, 'FIELD_INVALID', { field: 'sessionId' });
  }
});

// What needs an active session, with its parameters.
const onSession = (sessionId) => [
  ['session/prompt', { sessionId, prompt: [{ type: 'text', text: 'echo no' }] }],
  ['session/set_mode', { sessionId, modeId: 'code' }],
  ['session/set_config_option', { sessionId, configId: 'model', value: 'stub-large' }],
];

test('45 prompt, set_mode and set_config_option on an unknown id are -32002', async () => {
  const c = await rig.client();

  for (const [method, params] of onSession('sess_none'))
    isError(await c.fails(method, params), -32002, 'SESSION_NOT_FOUND', { sessionId: 'sess_none' });
});

test('45 the same on a session that is not active on this connection', async () => {
  const { c, sessionId } = await rig.session();
  const stranger = await rig.client();

  for (const [method, params] of onSession(sessionId))
    isError(await stranger.fails(method, params), -32002, 'SESSION_NOT_ACTIVE', { sessionId });
  assert.equal((await say(c, sessionId, 'RECALL')).text, '[]', 'nothing of it reached the session');
  await stranger.load(sessionId);
  for (const [method, params] of onSession(sessionId))
    isError(await c.fails(method, params), -32002, 'SESSION_NOT_ACTIVE', { sessionId });
  assert.equal((await say(stranger, sessionId, 'echo mine')).text, 'mine');
});

test('46 additionalDirectories are refused where they are not advertised', async () => {
  const { c, sessionId } = await rig.session();
  const params = { sessionId, cwd: rig.d.workDir, mcpServers: [], additionalDirectories: ['/tmp'] };

  assert.equal(c.initializeResult.agentCapabilities.sessionCapabilities.additionalDirectories, undefined);
  for (const method of ['session/new', 'session/load', 'session/resume'])
    isError(await c.fails(method, params), -32602, 'CAPABILITY_MISSING', { field: 'additionalDirectories' });
  assert.ok((await c.call('session/new', { ...params, additionalDirectories: [] })).sessionId);
});

test('46 additionalDirectories reach the harness, and load and resume replace the old ones', async () => {
  const c = await rig.client({ path: '/acp?harness=full' });
  const { sessionId } = await c.newSession({ additionalDirectories: ['/tmp', '/usr'] });
  const dirs = async () => JSON.parse((await say(c, sessionId, 'getparams')).text).additionalDirectories ?? [];

  assert.deepEqual(await dirs(), ['/tmp', '/usr']);
  await c.load(sessionId, { additionalDirectories: ['/var'] });
  assert.deepEqual(await dirs(), ['/var']);
  await c.resumeSession(sessionId, { additionalDirectories: ['/etc', '/tmp'] });
  assert.deepEqual(await dirs(), ['/etc', '/tmp']);
  await c.load(sessionId);
  assert.deepEqual(await dirs(), [], 'omitted means none');
});
