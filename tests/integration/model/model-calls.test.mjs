// SPDX-License-Identifier: Apache-2.0
// Model calls of a harness through the client: what passes, in both directions and byte by byte, what is refused, and what
// becomes of a call when one of its ends goes. With real harnesses and the orchestrator's module: tests/harness.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

const HOLD = 2; // seconds
const [WINDOW, PIECE] = [256 * 1024, 64 * 1024];

let d, taker, sessionId, listener;
before(async () => {
  d = await Daemon.start({ flags: { modelHold: HOLD }, harnesses: [STUB_WITH_PROVIDER] });
  taker = await connectTaker(d);
  ({ sessionId } = await taker.newSession());
  listener = listenerOf(sessionId);
});
after(() => endInOrder(d, taker.c));

async function open(t, where = listener) {
  const g = await ModelConnection.open(where);

  t.after(() => g.close());
  return g;
}

// A call, up to the client: {g, request, id}.
async function begin(t, { to = taker, where = listener, ...what } = {}) {
  const n = to.requests.length;
  const g = (await open(t, where)).send(what.path, what);
  const request = await to.asked(n);

  return { g, request, id: request.callId };
}

describe('what a session is told and given', () => {
  test('the answer to session/new says how the calls are made', async () => {
    const { _meta } = await taker.newSession();

    assert.deepEqual(_meta.acpd.provider, { via: 'tunnel', keyExposed: false, callerChecked: false });
    const own = await taker.newSession({ via: 'environment', baseUrl: 'http://127.0.0.1:9/v1', key: 'sk-mine-12345678' });
    assert.deepEqual(own._meta.acpd.provider, { via: 'environment', keyExposed: true });
  });

  test('an address of its own, not 127.0.0.1, and a key of 256 bits; another session has others', async () => {
    const other = listenerOf((await taker.newSession()).sessionId);

    assert.match(listener.url.hostname, /^127\.\d+\.\d+\.\d+$/);
    assert.notEqual(listener.url.hostname, '127.0.0.1');
    assert.match(listener.key, /^acpd-[0-9a-f]{64}$/);
    assert.notEqual(other.key, listener.key);
    assert.notEqual(other.url.host, listener.url.host);
    for (const name of ['NO_PROXY', 'no_proxy'])
      assert.ok(listener.env[name].split(',').includes(listener.url.hostname), listener.env[name]);
  });

  const refused = [
    ['a key', { via: 'tunnel', key: 'sk-12345678' }, 'FIELD_INVALID', '_meta.acpd.provider.key'],
    ['a baseUrl', { via: 'tunnel', baseUrl: 'http://x/v1' }, 'FIELD_INVALID', '_meta.acpd.provider.baseUrl'],
    ['no key where the harness calls', { via: 'environment' }, 'FIELD_MISSING', '_meta.acpd.provider.key'],
    ['an unknown way', { via: 'pigeon' }, 'PROVIDER_VIA_UNSUPPORTED', '_meta.acpd.provider.via'],
    ['an API that nobody has announced', { api: 'anthropic' }, 'FIELD_MISSING', '_meta.acpd.provider.key'],
  ];
  for (const [what, provider, reason, field] of refused) {
    test(`refused: ${what}`, async () => {
      await assert.rejects(taker.newSession(provider), (e) => {
        assert.deepEqual([e.data.reason, e.data.field], [reason, field], e.message);
        return true;
      });
    });
  }

  test('the key opens nothing once the session is closed', async (t) => {
    const { sessionId: id } = await taker.newSession();
    const where = listenerOf(id);

    await (await open(t, where)).send('/v1/nothing').refusal();
    await taker.c.call('session/close', { sessionId: id });
    await assert.rejects(ModelConnection.open(where), { code: 'ECONNREFUSED' });
  });
});

describe('a request', () => {
  test('reaches the client whole: headers of the list, the body byte for byte, in pieces within the window', async (t) => {
    const body = JSON.stringify({ model: 'm-7', messages: ['π€🙂'.repeat(60000)] });
    const { request, id } = await begin(t, { body, headers: { 'OpenAI-Beta': 'x=1', Cookie: 'a=b', 'X-Own': '1',
      'Accept-Encoding': 'gzip', 'User-Agent': 'h/1' } });

    assert.deepEqual({ ...request, callId: 0, headers: 0 }, { callId: 0, headers: 0, sessionId, api: 'openai-chat', method: 'POST',
      path: '/v1/chat/completions', model: 'm-7', bodyBytes: Buffer.byteLength(body), attempt: 1 });
    assert.deepEqual(request.headers, { 'content-type': 'application/json', 'openai-beta': 'x=1', 'user-agent': 'h/1', 'accept-encoding': 'identity' });
    const sent = () => taker.of('body', id).reduce((n, p) => n + Buffer.byteLength(p.text), 0);
    await until(() => sent() > WINDOW - PIECE, 'the first window');
    await sleep(100);
    assert.ok(sent() <= WINDOW, `${sent()} bytes without credit`);
    for (const given = sent(); sent() < Buffer.byteLength(body); await sleep(5))
      taker.credit(id, Math.max(0, Math.min(PIECE, WINDOW + sent() - given)));
    assert.equal(await taker.body(id), body);
    assert.ok(taker.of('body', id).every((p, i) => p.seq === i && Buffer.byteLength(p.text) <= PIECE));
    taker.answer(id);
  });

  test('in chunks, with a query, announced by Expect', async (t) => {
    const g = await open(t);
    const n = taker.requests.length;

    g.send('/v1/chat/completions?beta=true', { body: null, headers: { 'transfer-encoding': 'chunked', expect: '100-continue' } });
    await until(() => g.text.includes('100 Continue'), '100 Continue');
    g.forget();
    g.socket.write('8\r\n{"model"\r\n');
    await sleep(50);
    g.socket.write('6\r\n:"m-2"\r\n1\r\n}\r\n0\r\n\r\n');
    const request = await taker.asked(n);
    assert.deepEqual([request.path, request.model, request.bodyBytes], ['/v1/chat/completions?beta=true', 'm-2', 15]);
    assert.equal(await taker.body(request.callId), '{"model":"m-2"}');
    taker.answer(request.callId);
  });

  test('GET /v1/models has no body', async (t) => {
    const { request, id, g } = await begin(t, { path: '/v1/models', method: 'GET', body: null });

    assert.deepEqual([request.method, request.bodyBytes, request.model], ['GET', 0, undefined]);
    taker.head(id, 200, { 'content-type': 'application/json' });
    taker.chunk(id, '{"data":[]}');
    taker.end(id);
    await until(() => g.body.whole, 'the answer');
    assert.equal(g.body.bytes.toString(), '{"data":[]}');
  });

  const refusals = [
    ['no key', { key: '' }, 401, 'UNAUTHORIZED'],
    ['a key that is one digit longer', { key: 'more' }, 401, 'UNAUTHORIZED'],
    ['another path', { path: '/v1/embeddings' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['a path that goes up', { path: '/v1/chat/../chat/completions' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['an encoded slash', { path: '/v1%2fchat/completions' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['a slash at the end', { path: '/v1/chat/completions/' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['a path of another API', { path: '/v1/messages' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['another method', { method: 'DELETE' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['without the prefix', { target: '/v1/chat/completions' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['absolute form', { target: 'http://example.com/v1/chat/completions' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['CONNECT', { method: 'CONNECT', target: 'example.com:443' }, 403, 'MODEL_PATH_NOT_ALLOWED'],
    ['Upgrade', { method: 'GET', body: null, headers: { upgrade: 'websocket', connection: 'Upgrade' } }, 426, 'MODEL_UPGRADE'],
    ['a body that is no JSON', { body: '{"model":' }, 400, 'MODEL_REQUEST_INVALID'],
    ['two models', { body: '{"model":"a","model":"b"}' }, 400, 'MODEL_REQUEST_INVALID'],
    ['no body', { body: null }, 400, 'MODEL_REQUEST_INVALID'],
    ['both lengths', { headers: { 'transfer-encoding': 'chunked' } }, 400, 'MODEL_REQUEST_INVALID'],
    ['two lengths', { headers: { 'Content-Length': '5' } }, 400, 'MODEL_REQUEST_INVALID'],
    ['a body of 33 MiB', { body: null, headers: { 'content-length': String(33 << 20) } }, 413, 'MODEL_BODY_TOO_LARGE'],
    ['a head of 65 KiB', { headers: { 'x-long': 'x'.repeat(65 << 10) } }, 431, 'MODEL_HEAD_TOO_LARGE'],
    ['another request behind it', { body: '{"model":"m"}GET /', headers: { 'content-length': '13' } }, 403, 'MODEL_PATH_NOT_ALLOWED'],
  ];
  for (const [what, { path, key, ...request }, status, code] of refusals) {
    test(`refused: ${what}`, async (t) => {
      const before = taker.requests.length;
      const counter = code === 'UNAUTHORIZED' ? 'acpd_model_unauthorized_total' : 'acpd_model_refused_total';
      const counted = await d.metric(counter);
      const g = (await open(t)).send(path, { ...request, ...(key === undefined ? {} : { key: key && `${listener.key}0` }) });

      const { headers, ...answer } = await g.refusal();
      assert.deepEqual(answer, { status, code });
      assert.equal(headers.connection, 'close');
      await g.ended();
      assert.equal(taker.requests.length, before);
      assert.equal(await d.metric(counter), counted + 1);
    });
  }

  for (const [name, value] of [['x-api-key', (key) => key], ['x-goog-api-key', (key) => key], ['Authorization', (key) => `Bearer ${key}`]]) {
    test(`the key in ${name}`, async (t) => {
      const { id } = await begin(t, { key: undefined, headers: { authorization: undefined, [name]: value(listener.key) } });

      taker.answer(id);
    });
  }

  test('the ninth at a time is told to come again', async (t) => {
    const calls = [];

    for (let i = 0; i < 8; i++)
      calls.push(await begin(t));
    const { headers, ...answer } = await (await open(t)).send().refusal();
    assert.deepEqual(answer, { status: 429, code: 'MODEL_TOO_MANY_CALLS' });
    assert.equal(headers['retry-after'], '1');
    for (const { id } of calls) {
      taker.answer(id);
    }
    await Promise.all(calls.map(({ g }) => until(() => g.body.whole, 'the end')));
    const { id } = await begin(t);
    taker.answer(id);
  });

  test('64 connections without a word keep no harness out', async (t) => {
    for (let i = 0; i < 70; i++)
      await open(t);
    const { id, g } = await begin(t);
    taker.answer(id);
    await until(() => g.body.whole, 'the end');
  });
});

describe('an answer', () => {
  test('streams as it comes, byte for byte, text and others; the connection takes the next request', async (t) => {
    const { g, id } = await begin(t);

    taker.head(id, 200, { 'content-type': 'text/event-stream', 'X-Request-Id': 'r-1', 'set-cookie': 'a=b', 'retry-after': '7', 'content-length': '5' });
    const { status, headers } = await g.head();
    assert.equal(status, 200);
    assert.deepEqual(headers, { 'content-type': 'text/event-stream', 'x-request-id': 'r-1', 'retry-after': '7', 'transfer-encoding': 'chunked' });
    taker.chunk(id, 'data: π\0\n');
    await until(() => g.body.bytes.length, 'the first bytes');
    taker.chunk(id, undefined, { b64: Buffer.from([0xff, 0, 0x80]).toString('base64') });
    taker.end(id);
    await until(() => g.body.whole, 'the end');
    assert.deepEqual(g.body.bytes, Buffer.concat([Buffer.from('data: π\0\n'), Buffer.from([0xff, 0, 0x80])]));
    g.forget();
    const n = taker.requests.length;
    g.send();
    const next = await taker.asked(n);
    taker.head(next.callId, 429, { 'retry-after-ms': '5' });
    taker.end(next.callId);
    assert.equal((await g.head()).status, 429);
  });

  test('16 MiB against a harness that reads slowly: credit bounds what waits', async (t) => {
    const { g, id } = await begin(t);
    const total = 16 << 20;
    const piece = 'x'.repeat(PIECE);
    const cancelled = taker.cancelled;
    let sent = 0, most = 0;

    taker.head(id);
    g.socket.pause();
    const credited = () => taker.of('credit', id).reduce((n, p) => n + p.bytes, 0);
    setTimeout(() => g.socket.resume(), 200);
    while (sent < total) {
      most = Math.max(most, sent - credited());
      if (sent + PIECE - credited() <= WINDOW) {
        taker.chunk(id, piece);
        sent += PIECE;
      } else {
        await sleep(1);
      }
    }
    taker.end(id);
    await until(() => g.body.whole, 'all of it', 20000);
    assert.equal(g.body.bytes.length, total);
    assert.ok(most <= WINDOW);
    assert.equal(taker.cancelled, cancelled);
  });

  const failures = [
    ['an error', (id) => taker.fail(id), 502, 'MODEL_CALL_FAILED'],
    ['an end without a head', (id) => taker.end(id), 502, 'MODEL_CALL_FAILED'],
    ['a status that is none', (id) => taker.head(id, 101), 502, 'MODEL_CALL_FAILED'],
    ['a status without a body', (id) => taker.head(id, 204), 502, 'MODEL_CALL_FAILED'],
    ['an answer that is still compressed', (id) => { // fetch() of a client decodes it, and leaves the field that said so
      taker.head(id, 200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      taker.chunk(id, undefined, { b64: gzipSync('{"choices":[]}').toString('base64') });
    }, 502, 'MODEL_CALL_FAILED'],
  ];
  for (const [what, act, status, code] of failures) {
    test(`${what} is ${status} ${code}`, async (t) => {
      const { g, id } = await begin(t);

      act(id);
      const { headers, ...answer } = await g.refusal();
      assert.deepEqual(answer, { status, code });
      assert.equal(headers['content-type'], 'application/json');
    });
  }

  // After its head an answer that fails must not look whole.
  const cuts = [
    ['an error', (id) => taker.fail(id)],
    ['not complete', (id) => taker.end(id, { complete: false })],
    ['a piece that is missing', (id) => {
      taker.chunk(id, 'late', { seq: 5 });
      taker.end(id);
    }],
    ['a piece without bytes', (id) => {
      taker.chunk(id);
      taker.end(id);
    }],
    ['a piece of 65 KiB', (id) => taker.chunk(id, 'x'.repeat(PIECE + 1024))],
  ];
  for (const [what, act] of cuts) {
    test(`cut: ${what}`, async (t) => {
      const { g, id } = await begin(t);

      taker.head(id);
      taker.chunk(id, 'data: 1\n');
      act(id);
      await g.ended();
      assert.deepEqual([g.body.bytes.toString(), g.body.whole], ['data: 1\n', false]);
    });
  }

  test('more than the window ends the call', async (t) => {
    const { g, id } = await begin(t);
    const cancelled = taker.cancelled;

    taker.head(id);
    await g.head();
    g.socket.pause();
    for (let i = 0; i < 200; i++) // far more than the window and the kernel's buffers
      taker.chunk(id, 'x'.repeat(PIECE));
    await until(() => taker.cancelled > cancelled, 'the cancellation');
    g.socket.resume();
    await g.ended();
    assert.equal(g.body.whole, false);
  });

  test('what belongs to no call is dropped, and counted', async (t) => {
    const { g, id } = await begin(t);
    await taker.c.call('_acpd/status', { sessionId }); // all of the test before has arrived
    const counted = await d.metric('acpd_model_messages_dropped_total');

    for (const callId of ['model-call:nobody', `${id}0`]) {
      taker.head(callId);
      taker.chunk(callId, 'x');
      taker.credit(callId, 10);
    }
    taker.c.notify('_acpd/model/chunk', { seq: 0 });
    taker.c.notify('_acpd/model/head', { callId: 7, status: 'x' });
    taker.head(id);
    taker.head(id, 500);
    taker.chunk(id, 'ok');
    taker.end(id);
    await until(() => g.body.whole, 'the end');
    assert.equal((await g.head()).status, 200);
    taker.chunk(id, 'after the end');
    await taker.c.call('_acpd/status', { sessionId });
    assert.equal(g.body.bytes.toString(), 'ok');
    assert.equal(await d.metric('acpd_model_messages_dropped_total'), counted + 10);
  });

  test('a harness that goes cancels the call, before and after the head', async (t) => {
    for (const answered of [false, true]) {
      const cancelled = taker.cancelled;
      const { g, id } = await begin(t);

      if (answered) {
        taker.head(id);
        await g.head();
      }
      g.close();
      await until(() => taker.cancelled > cancelled, 'the cancellation');
    }
  });
});

describe('connections', () => {
  async function own(t, options) {
    const one = await connectTaker(d, options);
    t.after(() => one.c.close().catch(() => {}));
    return one;
  }

  // A session of a client of its own.
  async function session(t, meta = {}) {
    const one = await own(t);
    const { sessionId: id } = await one.c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: 'openai-chat' }, ...meta } });

    t.after(() => taker.c.call('session/close', { sessionId: id }).catch(() => {}));
    return { one, id, where: listenerOf(id) };
  }

  test('a call that has had no byte goes to the next connection, with its id and attempt 2; an older one is not heard', async (t) => {
    const { one, id, where } = await session(t);
    const { g, request } = await begin(t, { to: one, where, body: '{"model":"again"}' });
    const two = await own(t);

    await two.c.resumeSession(id); // fences the first
    const again = await two.asked();
    assert.deepEqual([again.callId, again.attempt], [request.callId, 2]);
    assert.equal(await two.body(again.callId), '{"model":"again"}');
    one.head(request.callId, 500);
    one.chunk(request.callId, 'stale');
    await one.c.call('_acpd/status', {});
    two.head(again.callId);
    two.chunk(again.callId, 'fresh');
    two.end(again.callId);
    await until(() => g.body.whole, 'the end');
    assert.deepEqual([(await g.head()).status, g.body.bytes.toString()], [200, 'fresh']);
  });

  test('after its first byte a call is cut with its connection', async (t) => {
    const { one, id, where } = await session(t, { whenDetached: 'continue' });
    const { g, id: callId } = await begin(t, { to: one, where });

    one.head(callId);
    one.chunk(callId, 'half');
    await until(() => g.body.bytes.length, 'the first bytes');
    one.c.ws.reset();
    await g.ended();
    assert.deepEqual([g.body.bytes.toString(), g.body.whole], ['half', false]);
    const two = await own(t);
    await two.c.resumeSession(id);
    assert.equal(two.requests.length, 0);
  });

  test('nobody comes: 503 after --model-hold; with whenDetached hold it waits', async (t) => {
    const calls = [];

    for (const whenDetached of ['continue', 'hold']) {
      const { one, id, where } = await session(t, { whenDetached });
      one.c.ws.reset();
      await until(async () => (await taker.c.call('_acpd/status', { sessionId: id })).sessions[0].watchers === 0, 'nobody drives it');
      calls.push({ id, at: Date.now(), g: (await open(t, where)).send() });
    }
    const [goes, waits] = calls;
    const { headers, ...answer } = await goes.g.refusal();
    assert.deepEqual(answer, { status: 503, code: 'MODEL_NO_TAKER' });
    assert.ok(Date.now() - goes.at >= HOLD * 900);
    assert.ok(headers['retry-after']);
    await sleep(500);
    assert.equal(waits.g.text.length, 0);
    const two = await own(t);
    await two.c.resumeSession(waits.id);
    const { callId } = await two.asked();
    two.answer(callId);
    await until(() => waits.g.body.whole, 'the end');
  });

  test('a connection that does nothing else is asked first, and fences nobody', async (t) => {
    const { one, id, where } = await session(t);
    const only = await own(t, { only: true });

    await only.c.call('_acpd/model/attach', { sessionIds: [id] });
    const { id: callId, g } = await begin(t, { to: only, where });
    only.answer(callId);
    await until(() => g.body.whole, 'the end');
    assert.equal(one.requests.length, 0);
    assert.equal(one.c.notifications.filter((m) => m.method === '_acpd/detached').length, 0);
    assert.equal((await one.c.prompt(id, 'echo hi')).stopReason, 'end_turn');
    only.c.ws.reset();
    const later = await begin(t, { to: one, where });
    one.answer(later.id);
  });

  test('48 bodies of 256 KiB for a client that does not read: it keeps its connection, and gets them all', async (t) => {
    const one = await own(t);
    const body = JSON.stringify({ model: 'stub-small', text: 'x'.repeat(WINDOW - 64) });
    const where = [];

    for (let i = 0; i < 6; i++) {
      const { sessionId: id } = await one.newSession();
      where.push(listenerOf(id));
      t.after(() => taker.c.call('session/close', { sessionId: id }).catch(() => {}));
    }
    one.c.ws.pause();
    const calls = await Promise.all(where.flatMap((w) => Array.from({ length: 8 }, async () => (await open(t, w)).send(undefined, { body }))));
    await sleep(500);
    one.c.ws.resume();
    await until(() => one.of('body').filter((p) => p.last).length === calls.length, 'all bodies', 20000);
    for (const { callId } of one.requests) {
      assert.equal(await one.body(callId), body);
      one.answer(callId);
    }
    await Promise.all(calls.map((g) => until(() => g.body.whole, 'the end')));
  });

  test('it drives nothing; and only such a one attaches', async (t) => {
    const only = await own(t, { only: true });

    for (const method of ['session/new', 'session/prompt', 'session/list', '_acpd/workspace/diff'])
      assert.equal((await only.c.fails(method, { sessionId, cwd: '/tmp', mcpServers: [] })).data.reason, 'MODEL_CONNECTION');
    assert.equal((await taker.c.fails('_acpd/model/attach', { sessionIds: [sessionId] })).data.reason, 'MODEL_NOT_ANNOUNCED');
    const unknown = await only.c.fails('_acpd/model/attach', { sessionIds: [sessionId, 'nobody'] });
    assert.deepEqual([unknown.data.reason, unknown.data.sessionId], ['SESSION_NOT_FOUND', 'nobody']);
  });

  test('after a restart of the daemon a session needs no provider again: nothing of it was secret', async (t) => {
    const d2 = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
    t.after(() => d2.discard());

    const one = await connectTaker(d2);
    const { sessionId: id } = await one.newSession({ model: 'stub-large' });
    await one.c.prompt(id, 'echo hi');
    const first = listenerOf(id);
    await d2.kill9();
    await d2.restart();
    const two = await connectTaker(d2);
    t.after(() => two.c.close());
    await two.c.load(id, { cwd: d2.workDir });
    const where = listenerOf(id);
    assert.notEqual(where.key, first.key);
    const { id: callId, g } = await begin(t, { to: two, where, body: '{"model":"stub-large"}' });
    two.answer(callId);
    await until(() => g.body.whole, 'the end');
  });
});
