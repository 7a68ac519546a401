// SPDX-License-Identifier: Apache-2.0
// MCP over HTTP: who gets in, what a message has to look like, both generations on one path, sessions, streams.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Raw } from '../../lib/archives.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { McpHttp, modernMeta, startHosting } from '../../lib/mcp-http.mjs';
import { FIXTURE, LEGACY, META, MODERN, member } from '../../lib/mcp.mjs';
import { mint } from '../../lib/tokens.mjs';
import { until } from '../../lib/wait.mjs';

const SLOW_SERVER = path.join(import.meta.dirname, '../../mcp/slow-server.mjs');
const WHERE = '/mcp/fixture';
let d;

before(async () => {
  d = await startHosting({ fixture: { command: FIXTURE }, slow: { command: process.execPath, args: [SLOW_SERVER] } });
});
after(() => endInOrder(d));

const client = (where = WHERE, opts) => new McpHttp(d, where, opts);
const legacy = async (where, opts) => {
  const c = client(where);

  await c.initialize(opts);
  return c;
};
const why = ({ status, json: { error } }) => [status, error.code, error.data.reason];
const call = (c, name, args = {}, opts) => c.call('tools/call', { name, arguments: args }, opts);
const modernCall = (c, name, args = {}, opts) => c.modern('tools/call', { name, arguments: args }, opts);
const textOf = (res) => res.answer.result.content[0].text;
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

describe('who gets in', () => {
  test('the token, the Host and the Origin are checked as everywhere', async () => {
    const c = client();
    const rows = [[{ Authorization: undefined }, 401], [{ Authorization: 'Bearer wrong-wrong-wrong-wrong' }, 401], [{ Host: 'evil.example' }, 403],
      [{ Origin: 'http://evil.example' }, 403]];

    for (const method of ['POST', 'GET', 'DELETE']) {
      for (const [headers, status] of rows)
        assert.equal((await c.post(method === 'POST' ? ping : undefined, { method, headers })).status, status, `${method} ${JSON.stringify(headers)}`);
    }
    assert.equal((await c.post(ping, { where: `${WHERE}?token=${d.token}`, headers: { Authorization: undefined } })).status, 401);
  });

  test('an unclaimed daemon answers 503', async () => {
    const own = await Daemon.start({ token: null });

    try {
      const c = new McpHttp(own, '/mcp');

      for (const method of ['POST', 'GET', 'DELETE']) {
        const res = await c.post(method === 'POST' ? ping : undefined, { method });
        assert.deepEqual([res.status, res.json.error.reason], [503, 'UNCLAIMED']);
      }
      await own.stop();
    } finally {
      await own.discard();
    }
  });
});

describe('what is posted', () => {
  test('what is no message, or not sent as one, is refused by name', async () => {
    const c = client();
    const rows = [
      ['{"jsonrpc":', {}, 400, -32700, 'PARSE_ERROR'],
      ['', {}, 400, -32700, 'PARSE_ERROR'],
      [Buffer.from('{"a":"\xff"}', 'latin1'), {}, 400, -32700, 'PARSE_ERROR'],
      [[ping], {}, 400, -32600, 'BATCH_UNSUPPORTED'],
      ['null', {}, 400, -32600, 'INVALID_REQUEST'],
      [{ ...ping, id: null }, {}, 400, -32600, 'INVALID_REQUEST'],
      [{ ...ping, params: [] }, {}, 400, -32602, 'PARAMS_INVALID'],
      [ping, { 'Content-Type': 'text/plain' }, 415, -32600, 'CONTENT_TYPE_UNSUPPORTED'],
      [ping, { 'Content-Type': undefined }, 415, -32600, 'CONTENT_TYPE_UNSUPPORTED'],
      [ping, { 'Content-Type': 'application/jsonp' }, 415, -32600, 'CONTENT_TYPE_UNSUPPORTED'],
      [ping, { Accept: undefined }, 406, -32600, 'NOT_ACCEPTABLE'],
      [ping, { Accept: 'application/json' }, 406, -32600, 'NOT_ACCEPTABLE'],
      [ping, { Accept: 'text/event-stream' }, 406, -32600, 'NOT_ACCEPTABLE'],
      [ping, {}, 400, -32600, 'SESSION_REQUIRED'],
      [ping, { 'Mcp-Session-Id': 'no-such-session' }, 404, -32600, 'SESSION_NOT_FOUND'],
      [ping, { 'Mcp-Session-Id': 'x'.repeat(5000) }, 404, -32600, 'SESSION_NOT_FOUND'],
    ];

    for (const [body, headers, ...want] of rows)
      assert.deepEqual(why(await c.post(body, { headers })), want, `${JSON.stringify(body)} ${JSON.stringify(headers)}`);
    for (const [headers, body] of [[{ 'Content-Type': 'Application/JSON; charset=utf-8' }, ping], [{ Accept: '*/*' }, ping], [{ Accept: 'text/*;q=0.5, application/*' }, ping]])
      assert.deepEqual(why(await c.post(body, { headers }))[2], 'SESSION_REQUIRED', JSON.stringify(headers));
  });

  test('servers, queries and methods that there are not', async () => {
    const c = client();
    const rows = [['POST', '/mcp/none', 404, 'MCP_SERVER_UNKNOWN'], ['GET', '/mcp/none', 404, 'MCP_SERVER_UNKNOWN'], ['DELETE', '/mcp/none', 404, 'MCP_SERVER_UNKNOWN'],
      ['POST', `${WHERE}?x=1`, 400, 'QUERY_UNKNOWN'], ['POST', `${WHERE}?session=`, 400, 'QUERY_INVALID']];

    for (const [method, where, status, reason] of rows) {
      const res = await c.post(method === 'POST' ? ping : undefined, { method, where });
      assert.deepEqual([res.status, res.json.error.data.reason], [status, reason], `${method} ${where}`);
    }
    for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
      const res = await c.post(undefined, { method });
      assert.equal(res.status, 405, method);
      assert.deepEqual(res.headers.allow?.split(', ').sort(), ['DELETE', 'GET', 'POST']);
    }
    assert.equal((await c.post(ping, { where: '/mcp/a/b' })).status, 404);
  });

  test('a message above the limit is 413, before a byte of it if its length is known', async () => {
    const c = client();
    const big = Buffer.alloc(33 << 20, ' ');
    const head = await Raw.open(d);

    await head.request('POST', WHERE, { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Content-Length': big.length });
    const first = await head.answer(); // nothing has been sent of the body
    head.destroy();
    assert.deepEqual(why(first), [413, -32600, 'MESSAGE_TOO_LARGE']);
    assert.deepEqual(why(await c.post(big)), [413, -32600, 'MESSAGE_TOO_LARGE']);
    const chunked = await c.post(big, { headers: { 'Transfer-Encoding': 'chunked' } });
    assert.deepEqual(why(chunked), [413, -32600, 'MESSAGE_TOO_LARGE']);
  });

  test('line breaks around tokens, chunks and a long body do no harm', async () => {
    const c = await legacy();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'raw_echo', arguments: { a: 'x'.repeat(3 << 20) } } }, null, 2)
      .replaceAll('\n', '\r\n');
    const res = await c.post(body, { headers: { 'Transfer-Encoding': 'chunked' } });

    assert.equal(res.status, 200);
    assert.equal(JSON.stringify(res.json).length > 3 << 20, true);
  });
});

describe('modern requests', () => {
  test('the headers have to say what the body says', async () => {
    const c = client();
    const rows = [
      [{ 'MCP-Protocol-Version': undefined }, -32020], [{ 'MCP-Protocol-Version': LEGACY }, -32020], [{ 'Mcp-Method': undefined }, -32020],
      [{ 'Mcp-Method': 'TOOLS/CALL' }, -32020], [{ 'Mcp-Name': undefined }, -32020], [{ 'Mcp-Name': 'other' }, -32020],
      [{ 'Mcp-Name': '=?base64?%%%?=' }, -32020], [{ 'Mcp-Name': 'x'.repeat(5000) }, -32020],
    ];

    for (const [headers, code] of rows) {
      const res = await (await modernCall(c, 'raw_echo', {}, { headers, id: 'q' })).over();
      assert.deepEqual([res.status, res.json.error.code, res.json.id], [400, code, 'q'], JSON.stringify(headers));
    }
    for (const headers of [{ 'Mcp-Name': '  raw_echo  ' }, { 'Mcp-Name': `=?base64?${Buffer.from('raw_echo').toString('base64')}?=` }])
      assert.equal((await (await modernCall(c, 'raw_echo', {}, { headers })).over()).status, 200, JSON.stringify(headers));
  });

  test('what is missing, not served or not there', async () => {
    const c = client();
    const ask = async (...args) => (await c.modern(...args)).over();
    const noCaps = { [`${META}protocolVersion`]: MODERN };
    const future = { ...modernMeta(), [`${META}protocolVersion`]: '2099-01-01' };

    assert.deepEqual(why(await ask('tools/list', {}, { meta: {} })), [400, -32602, 'META_MISSING']);
    assert.deepEqual(why(await ask('tools/list', {}, { meta: noCaps })), [400, -32602, 'META_MISSING']);
    const res = await ask('tools/list', {}, { meta: future, headers: { 'MCP-Protocol-Version': '2099-01-01' } });
    assert.deepEqual([...why(res), res.json.error.data.supported, res.json.error.data.requested],
      [400, -32022, 'PROTOCOL_VERSION_UNSUPPORTED', [MODERN], '2099-01-01']);
    for (const method of ['ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'no/such']) {
      const none = await ask(method, {}, { id: 5 });
      assert.deepEqual([none.status, none.json.error.code, none.json.id], [404, -32601, 5], method);
    }
  });

  test('GET and DELETE are not theirs', async () => {
    for (const method of ['GET', 'DELETE']) {
      const res = await client().post(undefined, { method, headers: { 'MCP-Protocol-Version': MODERN } });
      assert.deepEqual([res.status, res.headers.allow], [405, 'POST'], method);
    }
  });

  test('a notification is taken and answered by 202 without a body', async () => {
    const res = await client().post({ jsonrpc: '2.0', method: 'notifications/whatever' }, { headers: { 'MCP-Protocol-Version': MODERN } });

    assert.deepEqual([res.status, res.text, res.headers['content-type']], [202, '', undefined]);
  });

  test('the same id may be open any number of times', async () => {
    const c = client('/mcp/slow');
    const all = await Promise.all([1, 2, 3].map(() => modernCall(c, 'wait', { ms: 200 }, { id: 1 })));

    for (const res of all)
      assert.equal(textOf(await res.over()), 'waited');
  });
});

describe('sessions', () => {
  test('begin with initialize, are known by their id, and end with DELETE', async () => {
    const c = client();
    const res = await c.initialize();

    assert.match(c.session, /^[0-9a-f]{32}$/);
    assert.deepEqual([res.status, res.answer.result.protocolVersion], [200, LEGACY]);
    assert.deepEqual((await c.post(ping)).json, { jsonrpc: '2.0', id: 1, result: {} });
    assert.deepEqual(why(await c.post({ jsonrpc: '2.0', id: 2, method: 'initialize', params: {} })), [400, -32600, 'ALREADY_INITIALIZED']);
    const gone = await c.post(undefined, { method: 'DELETE' });
    assert.deepEqual([gone.status, gone.text], [200, '']);
    for (const method of ['POST', 'GET', 'DELETE'])
      assert.deepEqual(why(await c.post(method === 'POST' ? ping : undefined, { method })), [404, -32600, 'SESSION_NOT_FOUND'], method);
    assert.deepEqual(why(await c.post({ jsonrpc: '2.0', id: 3, method: 'initialize', params: {} })), [400, -32600, 'ALREADY_INITIALIZED']);
  });

  test('are of one server, one revision, and independent of each other', async () => {
    const [a, b] = await Promise.all([legacy(WHERE, { revision: '2025-06-18' }), legacy()]);

    assert.deepEqual([a.revision, b.revision], ['2025-06-18', LEGACY]);
    assert.notEqual(a.session, b.session);
    assert.deepEqual(why(await a.post(ping, { where: '/mcp/slow' })), [404, -32600, 'SESSION_NOT_FOUND']);
    for (const version of ['2024-11-05', 'x'])
      assert.deepEqual(why(await a.post(ping, { headers: { 'MCP-Protocol-Version': version } }))[0], 400, version);
    assert.equal((await a.post(ping, { headers: { 'MCP-Protocol-Version': undefined } })).status, 200);
    await a.post(undefined, { method: 'DELETE' });
    assert.equal((await b.post(ping)).status, 200);
    // the body decides: a modern request with a session's id is a modern request
    assert.equal((await (await b.modern('tools/list', {}, { headers: { 'Mcp-Session-Id': b.session } })).over()).answer.result.resultType, 'complete');
  });

  test('are those of the token that opened them', async () => {
    const c = await legacy(), { token } = await mint(d, 'tools');

    assert.deepEqual(why(await c.post(ping, { headers: { Authorization: `Bearer ${token}` } })), [404, -32600, 'SESSION_NOT_FOUND']);
    assert.equal((await c.post(ping)).status, 200);
  });

  test('a failed initialize begins none', async () => {
    const c = client();
    const res = await c.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 7 } });

    assert.deepEqual([res.status, res.json.error.code, res.headers['mcp-session-id']], [200, -32602, undefined]);
  });

  test('are limited: the one that was not used for longest goes', async () => {
    const first = await legacy();
    const kept = await legacy();
    const stream = await kept.listen();
    let last;

    for (let i = 0; i < 256; i++)
      last = await legacy();
    assert.equal((await first.post(ping)).status, 404);
    assert.equal((await last.post(ping)).status, 200);
    assert.equal((await kept.post(ping)).status, 200, 'an open stream is use');
    stream.close();
  });

  test('DELETE ends what is open', async () => {
    const c = await legacy('/mcp/slow');
    const stream = await c.listen();
    const waiting = call(c, 'hang');

    await until(async () => (await (await call(c, 'state')).over()).answer.result.structuredContent.open.includes('hang'), 'the call is open');
    await c.post(undefined, { method: 'DELETE' });
    assert.equal((await stream.over()).ended, true);
    assert.deepEqual(why(await (await waiting).over()), [404, -32600, 'SESSION_ENDED']);
  });

  test('questions of the server reach the client on the stream of its call, and its answer the server', async () => {
    const c = await legacy(WHERE, { capabilities: { elicitation: {} } });
    const res = await call(c, 'test_elicitation', { message: 'hello?' });
    const { events: [asked] } = await res.until((r) => r.events.length > 0);

    assert.equal(asked.method, 'elicitation/create');
    const taken = await c.post({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { username: 'u', email: 'u@example.org' } } });
    assert.deepEqual([taken.status, taken.text], [202, '']);
    assert.match(JSON.stringify((await res.over()).answer.result), /accept/);
  });
});

describe('answers', () => {
  test('come as JSON if at once, as a stream if something comes before, or nothing for long', async () => {
    for (const [c, ask] of [[await legacy('/mcp/slow'), call], [client('/mcp/slow'), modernCall]]) {
      const quick = await (await ask(c, 'wait', { ms: 10 })).over();
      const slow = await (await ask(c, 'wait', { ms: 2500 })).over();

      assert.deepEqual([quick.streams, textOf(quick)], [false, 'waited']);
      assert.deepEqual([slow.streams, textOf(slow), slow.events.length], [true, 'waited', 1]);
      assert.equal(slow.headers['x-accel-buffering'], 'no');
      assert.equal(slow.headers['cache-control'], 'no-store');
    }
  });

  test('progress comes before the result, in order, with the token as it was', async () => {
    for (const token of [0, 'a"b']) {
      const c = await legacy('/mcp/slow');
      const res = await (await c.call('tools/call', { name: 'flood', arguments: { count: 200, bytes: 10 }, _meta: { progressToken: token } })).over();
      const progress = res.events.slice(0, -1);

      assert.deepEqual(progress.map((e) => [e.method, e.params.progressToken, e.params.progress]),
        Array.from({ length: 200 }, (_, i) => ['notifications/progress', token, i]));
      assert.equal(textOf(res), 'flooded');
    }
  });

  test('every byte of arguments and results is kept, but for half of a surrogate pair', async () => {
    const args = '{"big":9007199254740993,"f":1.0,"e":1E+2,"lone":"\\ud83d","nul":null,"\\u0061":[ ],"slash":"\\/"}';

    for (const meta of ['', `,"_meta":${JSON.stringify(modernMeta())}`]) {
      const c = meta ? client() : await legacy();
      const headers = meta ? { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'raw_echo' } : {};
      const res = await c.post(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"raw_echo","arguments":${args}${meta}}}`, { headers });

      assert.equal(res.status, 200);
      assert.equal(member(res.text, 'id'), '12345678901234567890');
      assert.ok(res.text.includes(args.replace('\\ud83d', '\\ufffd')), res.text.slice(0, 500));
    }
  });
});

describe('GET streams', () => {
  const change = async (c) => (await call(c, 'change')).over();
  const changes = (s) => s.events.filter((e) => e.method === 'notifications/tools/list_changed').length;
  // The first changes may come before the subscription, or before the end of another stream is seen.
  const told = (c, s) => until(async () => (await change(c), changes(s) > 0), 'a change is told');

  test('what belongs to no request goes to the newest of them, and to one alone', async () => {
    const c = await legacy('/mcp/slow');
    const [one, two] = [await c.listen(), await c.listen()];

    for (const s of [one, two])
      assert.deepEqual([s.status, s.headers['content-type']], [200, 'text/event-stream']);
    await told(c, two);
    assert.equal(changes(one), 0);
    two.close();
    await told(c, one);
    one.close();
  });

  test('the fifth ends the first', async () => {
    const c = await legacy();
    const all = [];

    for (let i = 0; i < 5; i++)
      all.push(await c.listen());
    assert.equal((await all[0].over()).ended, true);
    assert.deepEqual(all.slice(1).map((s) => s.ended || s.cut), [false, false, false, false]);
    all.forEach((s) => s.close());
  });

  test('need a session and the right Accept', async () => {
    const c = await legacy();

    assert.deepEqual(why(await c.post(undefined, { method: 'GET', headers: { Accept: 'application/json' } })), [406, -32600, 'NOT_ACCEPTABLE']);
    assert.deepEqual(why(await client().post(undefined, { method: 'GET' })), [400, -32600, 'SESSION_REQUIRED']);
  });
});
