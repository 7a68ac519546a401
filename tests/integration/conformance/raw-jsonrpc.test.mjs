// SPDX-License-Identifier: Apache-2.0
// Statements 9-17: JSON-RPC.

import assert from 'node:assert/strict';
import test from 'node:test';
import { isError, oneAnswer, answersSince, serve, silent } from './rig.mjs';

const rig = serve();

test('09 invalid JSON -> -32700 id:null, connection stays usable', async () => {
  const c = await rig.client();
  const broken = ['{', '}', 'not json', '', ' ', '{"jsonrpc":"2.0",}', '{"jsonrpc":"2.0"}}', '{"a":"\u0001"}', '{"a":01}',
    "{'a':1}", '{"a":"\\x"}', '{"a":"\\ud800x}', '{"a":nul}', '{"a":1e}', '{"a":+1}', '\ufeff{}', '{"a" 1}', '{"a":1 "b":2}',
    '{"jsonrpc":"2.0","id":5,"method":"session/list","params":{}'];

  for (const raw of broken)
    isError((await oneAnswer(c, raw)).error, -32700, 'PARSE_ERROR');
  assert.ok(c.ws.isOpen);
});

test('09 JSON that is nested too deeply is refused with id:null, connection stays usable', async () => {
  const c = await rig.client();
  const nest = (n) => `{"jsonrpc":"2.0","id":1,"method":"_x","params":{"a":${'['.repeat(n)}${']'.repeat(n)}}}`;
  const { error } = await oneAnswer(c, nest(100000));

  assert.equal(error.code, -32700);
});

test('10 an array gets one -32600 with id:null and nothing in it runs', async () => {
  const c = await rig.client();
  const before = (await c.call('session/list')).sessions.length;
  const make = { jsonrpc: '2.0', id: 1, method: 'session/new', params: { cwd: rig.d.workDir, mcpServers: [] } };
  const arrays = [[], [make], [make, { ...make, id: 2 }], [1], [[make]]];

  for (const array of arrays)
    isError((await oneAnswer(c, JSON.stringify(array))).error, -32600, 'BATCH_UNSUPPORTED');
  isError((await oneAnswer(c, ` \n[${JSON.stringify(make)}]`)).error, -32600, 'BATCH_UNSUPPORTED');
  assert.equal((await c.call('session/list')).sessions.length, before);
});

test('10 an array that is no JSON is a parse error', async () => {
  const c = await rig.client();

  for (const raw of ['[', '[1,', '[1 2]', '[]]'])
    isError((await oneAnswer(c, raw)).error, -32700, 'PARSE_ERROR');
});

test('11 a scalar, or an object that is no message, gets -32600 with id:null', async () => {
  const c = await rig.client();
  const bad = ['42', '-0.5e3', '"text"', 'null', 'true', 'false', '{}', '{"id":1}', '{"jsonrpc":"2.0"}', '{"params":{}}',
    '{"jsonrpc":"2.0","id":7}', '{"jsonrpc":"1.0","id":7,"method":"session/list"}', '{"jsonrpc":2,"id":7,"method":"session/list"}',
    '{"jsonrpc":"2.0","id":7,"method":5}', '{"jsonrpc":"2.0","id":{},"method":"session/list"}',
    '{"jsonrpc":"2.0","id":true,"method":"session/list"}'];

  for (const raw of bad)
    isError((await oneAnswer(c, raw)).error, -32600, 'INVALID_REQUEST');
});

test('11 params that are no object get -32602 with the id of the request', async () => {
  const c = await rig.client();

  for (const params of ['[]', '[{}]', '1', '"x"', 'true']) {
    const { error } = await oneAnswer(c, `{"jsonrpc":"2.0","id":"p","method":"_x/y","params":${params}}`, 'p');

    isError(error, -32602, 'PARAMS_INVALID', { field: 'params' });
  }
  const { error } = await oneAnswer(c, '{"jsonrpc":"2.0","id":"n","method":"session/prompt","params":null}', 'n');
  isError(error, -32602, 'FIELD_MISSING');
});

test('12 the id of a response is the id of the request, byte for byte', async () => {
  const c = await rig.client({ validate: 'none' });
  const ids = ['0', '-0', '1', '-7', '2147483648', '9007199254740993', '-9223372036854775808', '""', '"a"', '"1"', '"-7"',
    '"6f1c2b1e-50c0-4a5c-8f3e-0c9d1d6a7b11"', '"ünï ✓"', '"q\\"\\\\\\n"', '"\\u0041"', '"null"', 'null'];
  const seen = [];

  c.ws.on('message', ({ payload }) => seen.push(payload.toString()));
  for (const id of ids)
    c.ws.text(`{"jsonrpc":"2.0","id":${id},"method":"session/list","params":{}}`);
  for (const id of ids)
    c.ws.text(`{"jsonrpc":"2.0","id":${id},"method":"_no/such","params":{}}`);
  await c.call('session/list', {}, { id: 'end' });
  const good = seen.filter((s) => s.includes('"sessions"')).map((s) => s.match(/"id":(.*?),"result"/)[1]);
  const bad = seen.filter((s) => s.includes('METHOD_NOT_FOUND')).map((s) => s.match(/"id":(.*?),"error"/)[1]);
  assert.deepEqual(good, [...ids, '"end"']);
  assert.deepEqual(bad, ids);
});

test('13 exactly one response per request, in a burst of good and bad ones', async () => {
  const c = await rig.client();
  const calls = Array.from({ length: 60 }, (_, i) => {
    const [method, params] = [['session/list', {}], ['_x/y', {}], ['session/prompt', {}], ['session/list', { cursor: 1 }]][i % 4];

    if (i % 3 === 0)
      c.notify('session/cancel', { sessionId: 'none' });
    return c.request(method, params).answer;
  });
  const from = 1; // behind initialize
  const got = await Promise.all(calls);
  await c.call('session/list');
  const ids = answersSince(c, from).map((m) => m.id);

  assert.equal(ids.length, 61);
  assert.equal(new Set(ids).size, 61);
  assert.deepEqual(got.slice(0, 4).map((m) => m.error?.code), [undefined, -32601, -32602, -32602]);
});

test('13 no response to a notification: known, unknown, malformed', async () => {
  const c = await rig.client();
  const notes = [
    ['session/cancel', { sessionId: 'sess_none' }], ['session/cancel', {}], ['session/cancel', { sessionId: 5 }],
    ['session/cancel', []], ['session/cancel', 'x'], ['$/cancel_request', { requestId: 12 }], ['$/cancel_request', {}],
    ['$/cancel_request', { requestId: {} }], ['session/prompt', { sessionId: 'x', prompt: [] }], ['session/new', {}],
    ['session/new', { cwd: '/', mcpServers: [] }], ['initialize', { protocolVersion: 1 }], ['_acpd/ack', { sessionId: 'x' }],
    ['no/such', {}], ['', {}], ['x'.repeat(2000), {}],
  ];

  await silent(c, () => {
    for (const [method, params] of notes)
      c.notify(method, params);
    c.ws.text('{"jsonrpc":"2.0","method":5}');
    c.ws.text('{"jsonrpc":"2.0","method":"no/such"}');
  });
  assert.ok(Array.isArray((await c.call('session/list')).sessions));
});

test('14 unknown methods get -32601, private and $/ ones too', async () => {
  const c = await rig.client();
  const unknown = ['no/such', 'session/nope', '_x/y', '_acpd/nope', '$/x', '$/cancel_request', 'session/cancel', 'Initialize',
    'session/new ', '', 'x'.repeat(5000), 'session/new\u0000', 'session/update', 'fs/read_text_file'];

  for (const method of unknown)
    isError(await c.fails(method, {}), -32601, 'METHOD_NOT_FOUND');
});

test('14 unknown notifications meet silence, private and $/ ones too', async () => {
  const c = await rig.client();

  await silent(c, () => {
    for (const method of ['_x/y', '_acpd/nope', '$/x', 'no/such', 'session/nope'])
      c.notify(method, { a: 1 });
  });
});

test('15 unknown members are ignored at every level', async () => {
  const c = await rig.connect();
  const extra = { extra: { deep: [1, { x: null }] }, 'ünknown': 'x' };
  const envelope = { type: 'com.agentclientprotocol.rpc.JsonRpcRequest', ...extra };
  const call = (method, params) => {
    const id = `u-${method}`;

    return c.call(method, params, { id, raw: JSON.stringify({ ...envelope, jsonrpc: '2.0', id, method, params }) });
  };

  const init = await call('initialize', {
    protocolVersion: 1, ...extra, clientInfo: { name: 'x', version: '1', ...extra },
    clientCapabilities: { fs: { readTextFile: true, ...extra }, session: extra, elicitation: extra, ...extra },
  });
  assert.equal(init.protocolVersion, 1);
  const mcpServers = [{ name: 'm', command: '/bin/true', args: [], env: [{ name: 'A', value: 'b', ...extra }], ...extra }];
  const { sessionId } = await call('session/new', { cwd: rig.d.workDir, mcpServers, ...extra });
  const prompt = [{ type: 'text', text: 'echo fine', annotations: { audience: ['user'], ...extra }, ...extra }];
  const done = await call('session/prompt', { sessionId, prompt, ...extra });
  assert.equal(done.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['fine']);
});

test('15 an envelope without jsonrpc is tolerated, a duplicate member is not', async () => {
  const c = await rig.client();
  const answer = await oneAnswer(c, '{"id":"bare","method":"_x/y"}', 'bare');

  isError(answer.error, -32601, 'METHOD_NOT_FOUND');
  const twice = await oneAnswer(c, '{"jsonrpc":"2.0","id":1,"method":"session/list","method":"_x"}');
  isError(twice.error, -32600, 'DUPLICATE_MEMBER');
});

test('16 our request ids are unique integers below 2^31, in a space of their own', async () => {
  const c = await rig.client();
  const [a, b] = [await c.newSession(), await c.newSession()];
  const start = (sessionId, id) => c.request('session/prompt', c.promptParams(sessionId, 'perm t1'), { id });
  const one = start(a.sessionId, 1); // the number our first request will have
  const first = await c.waitRequest('session/request_permission');
  const two = start(b.sessionId, first.id + 1);
  const second = await c.waitRequest('session/request_permission', { from: 1 });

  assert.notEqual(first.id, second.id);
  for (const { id } of [first, second])
    assert.ok(Number.isInteger(id) && id >= 1 && id < 2 ** 31);
  assert.equal(first.id, 1, 'ids of both sides meet in this test');
  c.respond(second.id, { outcome: { outcome: 'selected', optionId: 'reject' } });
  assert.equal((await two.answer).result.stopReason, 'end_turn');
  c.respond(first.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
  assert.equal((await one.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(a.sessionId), ['permission:allow']);
  assert.deepEqual(c.chunks(b.sessionId), ['permission:reject']);
});

test('17 responses to ids we never used are ignored', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1');
  const asked = await c.waitRequest('session/request_permission');
  const allow = { outcome: { outcome: 'selected', optionId: 'allow' } };

  await silent(c, () => {
    c.respond(asked.id + 1, allow);
    c.respond(-asked.id, allow);
    c.respond(String(asked.id), allow); // an id of the wrong type is another id
    c.respond(null, allow);
    c.respond(2 ** 40, allow);
    c.respondError(999, -32603, 'no');
    c.send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
  });
  assert.deepEqual(c.chunks(sessionId), []);
  c.respond(asked.id, allow);
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['permission:allow']);
  await silent(c, () => c.respond(asked.id, allow)); // and once more, late
});

test('17 a message that is request and response at once has one answer and does no harm', async () => {
  const c = await rig.client();
  const { error } = await oneAnswer(c, '{"jsonrpc":"2.0","id":"both","method":"_x/y","params":{},"result":{}}', 'both');

  isError(error, -32601, 'METHOD_NOT_FOUND');
});
