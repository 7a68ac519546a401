// SPDX-License-Identifier: Apache-2.0
// --record-model: the model calls of a session as they passed, by both ways, in its bundle; without secrets, bounded, and
// never in the way of a call.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertManifest, fetchBundle, unpack } from '../../lib/bundles.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { onSmallDisk } from '../../lib/disk.mjs';
import { connectTaker, ModelConnection, listenerOf, PATH, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { wholeLines } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';

const SECRET = 'sk-very-secret-9c1f7e2a';
const MAX = 64 * 1024;
const SETTINGS = { flags: { recordModel: true, recordMax: MAX }, harnesses: [STUB_WITH_PROVIDER] };

let d, taker;
before(async () => {
  d = await Daemon.start(SETTINGS);
  taker = await connectTaker(d);
});
after(() => endInOrder(d, taker.c));

const fileOf = (id, of = d) => path.join(of.stateDir, 'runs', id, 'model/calls.ndjson');
const recorded = (id, of = d) => wholeLines(fileOf(id, of)).map((line) => JSON.parse(line));
const plain = (lines) => lines.map(({ call, ts, ...rest }) => (assert.match(call, /^model-call:[0-9a-f]{32}$/), assert.ok(Date.parse(ts)), rest));

async function membersOf(id, of = d) {
  const got = await fetchBundle(of, id);

  assert.equal(got.status, 200, got.bytes.toString().slice(0, 300));
  return unpack(got.bytes, of.dir);
}

async function open(t, id) {
  const g = await ModelConnection.open(listenerOf(id));

  t.after(() => g.close());
  return g;
}

// A call of the session's harness, up to the client that makes it.
async function begin(t, id, what = {}, to = taker) {
  const n = to.requests.length;
  const g = (await open(t, id)).send(PATH, what);

  return { g, call: (await to.asked(n)).callId };
}

const ended = (id, n = 1, of = d) => until(() => recorded(id, of).filter((l) => l.type === 'end').length === n, 'the end of a call in the recording');

describe('by the client', () => {
  test('a streamed call: request, head, pieces, end, without secrets, and in the bundle by its hash', async (t) => {
    const { sessionId: id } = await taker.newSession({}, {}, { secrets: { MY_TOKEN: SECRET } });
    const body = JSON.stringify({ model: 'm-7', messages: [{ content: `π ${SECRET}` }] });
    const { g, call } = await begin(t, id, { body });

    taker.head(call, 200, { 'content-type': 'text/event-stream', 'x-request-id': 'req-7', 'set-cookie': 'a=b' });
    taker.chunk(call, 'data: one €\n\n');
    taker.chunk(call, `data: ${SECRET.slice(0, 9)}`); // in two pieces
    taker.chunk(call, `${SECRET.slice(9)}\n\n`);
    taker.chunk(call, undefined, { b64: Buffer.from([0xff, 0x00, 0x31]).toString('base64') });
    taker.end(call);
    await until(() => g.body.whole);
    await ended(id);
    const lines = recorded(id);
    const [request, head, ...rest] = plain(lines);
    const answer = Buffer.concat(rest.filter((l) => l.type === 'data').map((l) => (l.b64 ? Buffer.from(l.b64, 'base64') : Buffer.from(l.text))));

    assert.deepEqual(request, { type: 'request', attempt: 1, api: 'openai-chat', method: 'POST', path: PATH, body: body.replace(SECRET, '***') });
    assert.deepEqual(head, { type: 'head', status: 200, headers: { 'content-type': 'text/event-stream', 'x-request-id': 'req-7' } });
    assert.deepEqual(answer, Buffer.concat([Buffer.from('data: one €\n\ndata: ***\n\n'), Buffer.from([0xff, 0x00, 0x31])]));
    assert.deepEqual(rest.at(-1), { type: 'end', how: 'complete' });
    assert.deepEqual([...new Set(lines.map((l) => l.call))], [call]);

    const members = await membersOf(id);
    const manifest = assertManifest(members);
    assert.deepEqual(manifest.recorded, {});
    assert.deepEqual(members['model/calls.ndjson'], fs.readFileSync(fileOf(id)));
    assert.equal(fs.statSync(fileOf(id)).mode & 0o777, 0o600);
    assert.equal(fs.statSync(path.dirname(fileOf(id))).mode & 0o777, 0o700);
    await taker.c.call('session/delete', { sessionId: id });
    assert.ok(!fs.existsSync(fileOf(id)), 'it goes with its session');
  });

  test('a call that the client fails, one that is cut in mid-stream, and one that the harness gives up', async (t) => {
    const { sessionId: id } = await taker.newSession();
    const failed = await begin(t, id);
    taker.fail(failed.call);
    await failed.g.refusal();
    const cut = await begin(t, id);
    taker.head(cut.call);
    taker.chunk(cut.call, 'data: half');
    taker.end(cut.call, { complete: false });
    await until(() => cut.g.closed);
    const left = await begin(t, id);
    taker.head(left.call);
    taker.chunk(left.call, 'data: begun');
    await until(() => recorded(id).some((l) => l.text === 'data: begun'));
    left.g.close();
    await ended(id, 3);
    const ends = recorded(id).filter((l) => l.type === 'end').map(({ call, how, reason }) => [call, how, reason]);

    assert.deepEqual(ends, [[failed.call, 'failed', 'MODEL_CALL_FAILED'], [cut.call, 'failed', 'MODEL_CALL_FAILED'], [left.call, 'cancelled', undefined]]);
    assert.equal(recorded(id).find((l) => l.call === cut.call && l.type === 'data').text, 'data: half');
  });

  test('a call that is asked of two connections has one request', async (t) => {
    const first = await connectTaker(d);
    const { sessionId: id } = await first.newSession();
    const { g, call } = await begin(t, id, {}, first);

    first.c.close();
    const n = taker.requests.length;
    await taker.c.call('session/load', { sessionId: id, cwd: d.workDir, mcpServers: [] });
    await taker.asked(n);
    taker.answer(call);
    await g.head();
    await ended(id);
    assert.deepEqual(recorded(id).map((l) => [l.type, l.attempt]), [['request', 1], ['again', 2], ['head', undefined], ['end', undefined]]);
  });
});

describe('by the daemon itself', () => {
  const KEY = 'sk-direct-0123456789abcdef';

  // A provider: the first call is refused, the second streamed, the third cut.
  async function startProvider(t) {
    let n = 0;
    const server = http.createServer((req, res) => {
      req.resume();
      n++;
      if (n === 1)
        return void res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' }).end(`{"error":{"message":"no more of ${KEY}"}}`);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"choices":[]}\n\n');
      return void (n === 2 ? res.end('data: [DONE]\n\n') : setImmediate(() => res.socket.resetAndDestroy()));
    });

    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    t.after(() => server.close());
    return `http://127.0.0.1:${server.address().port}/v1`;
  }

  test('a refusal of the provider, a streamed answer, a cut one; the key is nowhere', async (t) => {
    const baseUrl = await startProvider(t);
    const { sessionId: id } = await taker.newSession({ via: 'direct', key: KEY, baseUrl });

    for (let i = 1; i <= 3; i++) {
      (await open(t, id)).send(PATH, { body: `{"model":"m-${i}"}` });
      await ended(id, i);
    }
    const lines = plain(recorded(id));
    const text = fs.readFileSync(fileOf(id), 'utf8');

    assert.deepEqual(lines.filter((l) => l.type === 'request').map((l) => l.body), ['{"model":"m-1"}', '{"model":"m-2"}', '{"model":"m-3"}']);
    assert.deepEqual(lines.filter((l) => l.type === 'head').map((l) => [l.status, l.headers['retry-after']]), [[429, '7'], [200, undefined], [200, undefined]]);
    assert.deepEqual(lines.filter((l) => l.type === 'end').map((l) => l.how), ['complete', 'complete', 'failed']);
    assert.match(text, /no more of \*\*\*/);
    assert.ok(!text.includes(KEY) && !text.includes(listenerOf(id).key));
    assert.deepEqual(assertManifest(await membersOf(id)).recorded, {});
  });
});

describe('its bound', () => {
  test('beyond --record-max it stops for good: an event, the manifest and the last line say so; calls go on', async (t) => {
    const { sessionId: id } = await taker.newSession();
    const { g, call } = await begin(t, id);
    const piece = 'x'.repeat(20000);

    taker.head(call);
    for (let i = 0; i < 5; i++)
      taker.chunk(call, piece);
    taker.end(call);
    await until(() => g.body.whole);
    assert.equal(g.body.bytes.length, 5 * piece.length, 'the harness has all of it');
    assert.ok(fs.statSync(fileOf(id)).size <= MAX);
    assert.deepEqual(recorded(id).at(-1), { type: 'stopped', reason: 'RECORD_MAX' });
    assert.equal(recorded(id).filter((l) => l.text === piece).length, 3);
    const told = () => taker.c.notifications.filter((m) => m.method === '_acpd/event' && m.params.event.event === 'recording_stopped');
    await until(() => told().length, 'it is told'); // by another connection than the answer's
    assert.deepEqual(told().map((m) => m.params.event), [{ kind: 'lifecycle', event: 'recording_stopped', reason: 'RECORD_MAX' }]);
    const size = fs.statSync(fileOf(id)).size;
    const next = await begin(t, id);
    taker.answer(next.call);
    await next.g.head();
    assert.equal(fs.statSync(fileOf(id)).size, size);
    assert.deepEqual(assertManifest(await membersOf(id)).recorded, { stopped: 'RECORD_MAX' });
  });

  test('a request that is larger than what is left is not begun', async (t) => {
    const { sessionId: id } = await taker.newSession();
    const { g, call } = await begin(t, id, { body: JSON.stringify({ model: 'm', text: 'y'.repeat(MAX) }) });

    await taker.body(call);
    taker.answer(call);
    await g.head();
    assert.deepEqual(recorded(id), [{ type: 'stopped', reason: 'RECORD_MAX' }]);
  });
});

describe('over a restart of the daemon', () => {
  test('a line that was not whole is gone, later calls follow; what was stopped stays so', async (t) => {
    const own = await Daemon.start(SETTINGS);
    let to = await connectTaker(own);
    t.after(() => endInOrder(own, to.c));
    const whole = (await to.newSession()).sessionId, stopped = (await to.newSession()).sessionId;
    for (const id of [whole, stopped]) {
      const { g, call } = await begin(t, id, {}, to);
      to.answer(call);
      await g.head();
      await ended(id, 1, own);
    }
    await own.kill9();
    fs.appendFileSync(fileOf(whole, own), '{"type":"request","call":"mod');
    fs.appendFileSync(fileOf(stopped, own), '{"type":"stopped","reason":"NO_SPACE"}\n');
    await own.restart();
    to = await connectTaker(own);
    for (const id of [whole, stopped]) {
      await to.c.call('session/load', { sessionId: id, cwd: own.workDir, mcpServers: [] });
      await to.c.prompt(id, 'echo up'); // its harness is there
      const { g, call } = await begin(t, id, {}, to);
      to.answer(call);
      await g.head();
    }
    await ended(whole, 2, own);
    assert.deepEqual(recorded(whole, own).map((l) => l.type), ['request', 'head', 'end', 'request', 'head', 'end']);
    assert.deepEqual(recorded(stopped, own).map((l) => l.type), ['request', 'head', 'end', 'stopped']);
    assert.deepEqual(assertManifest(await membersOf(stopped, own)).recorded, { stopped: 'NO_SPACE' });
  });
});

test('a full disk stops the recording, not the call', async (t) => {
  const { d: small, fill, empty } = await onSmallDisk(t, '4m', { recordModel: true }, { harnesses: [STUB_WITH_PROVIDER] });

  if (!small)
    return;
  const to = await connectTaker(small);
  t.after(() => to.c.close());
  const { sessionId: id } = await to.newSession();
  const { g, call } = await begin(t, id, {}, to);

  to.head(call);
  to.chunk(call, 'data: one\n\n');
  await until(() => recorded(id, small).some((l) => l.type === 'data'));
  fill();
  for (let i = 0; i < 8; i++)
    to.chunk(call, 'z'.repeat(20000));
  to.end(call);
  await until(() => g.body.whole);
  assert.equal(g.body.bytes.length, 11 + 8 * 20000);
  empty();
  assert.ok(fs.readFileSync(fileOf(id, small), 'utf8').endsWith('}\n'), 'no line is half there');
  assert.ok(recorded(id, small).every((l) => l.type !== 'end'));
  assert.deepEqual(assertManifest(await membersOf(id, small)).recorded, { stopped: 'NO_SPACE' });
});

test('without --record-model nothing is written down', async (t) => {
  const own = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  const to = await connectTaker(own);
  t.after(() => endInOrder(own, to.c));
  const { sessionId: id } = await to.newSession();
  const { g, call } = await begin(t, id, {}, to);

  to.answer(call);
  await g.head();
  assert.ok(!fs.existsSync(fileOf(id, own)));
  const manifest = assertManifest(await membersOf(id, own));
  assert.ok(!('recorded' in manifest) && !manifest.files.some((f) => f.path.startsWith('model/')));
});
