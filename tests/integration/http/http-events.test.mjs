// SPDX-License-Identifier: Apache-2.0
// build: both
// slow
// A session's event log over HTTP: every kind, resuming without loss or doubling, slow and vanishing readers, the framing.

import assert from 'node:assert/strict';
import net from 'node:net';
import test, { after, before, describe } from 'node:test';
import { chance } from '../../lib/chance.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { assertGrown, mib, peakRss } from '../../lib/memory.mjs';
import { SLOW, deadline, sleep } from '../../lib/rawws.mjs';
import { steady, until } from '../../lib/wait.mjs';

const KINDS = ['plan', 'tool_call', 'result', 'check', 'ask_approval', 'complete', 'prompt', 'message', 'thought',
  'usage', 'artifact', 'lifecycle', 'error'];

const daemons = new Set();
after(async () => {
  for (const d of daemons)
    await d.discard();
});

async function daemon(t, flags, more = {}) {
  const d = await Daemon.start({ flags, ...more });

  daemons.add(d);
  t?.after(async () => {
    if (!d.exit)
      await d.discard();
    daemons.delete(d);
  });
  return d;
}

const where = (sessionId, query = '') => `/v1/sessions/${sessionId}/events${query}`;

const run = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const whole = async (d, sessionId, query = '') => (await (await Stream.open(d, where(sessionId, query))).until((s) => s.ended)).events;

describe('events', () => {
  let d, c;

  before(async () => {
    d = await daemon();
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  test('every kind, in order, with seq, ts, sessionId, turnId and traceparent', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { sessionId } = await c.newSession();

    c.onPermission('allow');
    await c.prompt(sessionId, 'plan; echo hi; think hm; tool t1 execute ls; perm t2; usage; title T; mode code; notice; compaction',
      { meta: { traceparent } });
    await assert.rejects(c.prompt(sessionId, 'echo x; error -32603 broken'));
    const events = await whole(d, sessionId);
    assert.deepEqual(events.map((e) => e.seq), run(1, events.length));
    for (const e of events) {
      assert.ok(KINDS.includes(e.kind), `kind ${e.kind}`);
      assert.equal(e.sessionId, sessionId);
      assert.match(e.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(Math.abs(Date.now() - Date.parse(e.ts)) < 60000 * SLOW);
    }
    const turn1 = events.filter((e) => e.turnId === 1);
    const order = [...new Set(turn1.map((e) => e.kind))];
    assert.deepEqual(order, ['prompt', 'plan', 'message', 'thought', 'tool_call', 'result', 'ask_approval', 'usage', 'lifecycle', 'complete']);
    for (const e of turn1)
      assert.equal(e.traceparent, traceparent, `traceparent of ${e.kind}`);
    const of = (kind) => turn1.filter((e) => e.kind === kind);
    assert.equal(of('prompt')[0].content.text.slice(0, 4), 'plan');
    assert.equal(of('message')[0].content.text, 'hi');
    assert.equal(of('thought')[0].content.text, 'hm');
    assert.ok(of('plan')[0].entries.length);
    assert.deepEqual([of('tool_call')[0].toolCallId, of('tool_call')[0].toolKind, of('tool_call')[0].event], ['t1', 'execute', 'tool_call']);
    assert.deepEqual([of('result')[0].toolCallId, of('result')[0].status], ['t1', 'completed']);
    const asks = of('ask_approval');
    assert.equal(asks.length, 2, 'the question and its answer');
    assert.ok(asks[0].options.length && asks[0].toolCallId === 't2');
    assert.deepEqual(of('complete').map((e) => [e.final, e.stopReason]), [[true, 'end_turn']]);
    assert.equal(turn1.at(-1).kind, 'complete');
    const last = events.filter((e) => e.turnId === 2).at(-1);
    assert.deepEqual([last.kind, last.final, last.error.class], ['error', true, 'harness_error']);
    assert.ok(events.some((e) => !('turnId' in e)), 'an event outside turns has none');
  });

  test('billingRef, configVersion and sandboxId are at the end of each turn, and in no other event', async (t) => {
    const labels = { billingRef: 'bill-7', configVersion: 'v-3' }, names = [...Object.keys(labels), 'sandboxId'];
    const own = await daemon(t, undefined, { env: { E2B_SANDBOX_ID: 'i-7' } });
    const client = await own.client();

    for (const given of [labels, {}]) {
      const { sessionId } = await client.newSession({ meta: given });

      await client.prompt(sessionId, 'echo x; tool t1 execute ls; usage');
      await assert.rejects(client.prompt(sessionId, 'echo x; error -32603 broken'));
      const events = await whole(own, sessionId);
      const ends = events.filter((e) => e.final);

      assert.deepEqual(ends.map((e) => [e.kind, ...names.map((name) => e[name])]), ['complete', 'error'].map((kind) => [kind, given.billingRef, given.configVersion, 'i-7']));
      assert.deepEqual(events.filter((e) => names.some((name) => name in e)), ends);
    }
  });

  test('SSE: id and data lines, Accept or format, follows by default', async () => {
    const { sessionId } = await c.newSession();
    const s = await Stream.open(d, where(sessionId), { headers: { Accept: 'text/event-stream' } });

    assert.equal(s.type, 'text/event-stream');
    assert.equal(s.res.headers['cache-control'], 'no-store');
    await c.prompt(sessionId, 'echo one');
    await s.until((x) => x.events.at(-1)?.kind === 'complete');
    assert.deepEqual(s.ids, run(1, s.ids.length));
    assert.deepEqual(s.seqs, s.ids);
    assert.ok(!s.ended);
    const same = await Stream.open(d, where(sessionId, '?format=sse&follow=false'));
    await same.until((x) => x.ended);
    assert.equal(same.text, s.text);
    const lines = await Stream.open(d, where(sessionId, '?format=ndjson'), { headers: { Accept: 'text/event-stream' } });
    assert.equal(lines.type, 'application/x-ndjson');
    await lines.until((x) => x.ended);
    assert.deepEqual(lines.events, s.events);
    s.close();
  });

  test('line ends of whoever wrote the JSON break no frame', async () => {
    const { sessionId } = await c.newSession();
    const params = c.promptParams(sessionId, 'echo a\\r\\nb');
    const raw = JSON.stringify({ jsonrpc: '2.0', id: 900002, method: 'session/prompt', params }, null, 2).replaceAll('\n', '\r\n');

    await c.request('session/prompt', params, { id: 900002, raw }).answer;
    const s = await Stream.open(d, where(sessionId, '?format=sse'));
    await s.until((x) => x.events.at(-1)?.kind === 'complete');
    assert.ok(!s.text.includes('\r'));
    const lines = (await Stream.open(d, where(sessionId)).then((x) => x.until((y) => y.ended))).events;
    assert.deepEqual(lines, s.events);
    assert.equal(lines.find((e) => e.kind === 'prompt').content.text, 'echo a\\r\\nb');
    s.close();
  });

  test('resumes at since and at Last-Event-ID; the header is newer than the URL', async () => {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo 1; echo 2; echo 3; echo 4');
    const all = await whole(d, sessionId);
    const n = all.length;
    assert.deepEqual(await whole(d, sessionId, `?since=${n - 2}`), all.slice(-2));
    assert.deepEqual(await whole(d, sessionId, `?since=${n}`), []);
    const s = await Stream.open(d, where(sessionId, '?format=sse&follow=false&since=1'), { headers: { 'Last-Event-ID': String(n - 3) } });
    await s.until((x) => x.ended);
    assert.deepEqual(s.events, all.slice(-3));
    const plain = await Stream.open(d, where(sessionId, `?since=${n - 1}`), { headers: { 'Last-Event-ID': '1' } });
    await plain.until((x) => x.ended);
    assert.deepEqual(plain.events, all.slice(-1), 'only SSE has that header');
  });

  test('refusals: 400 with the name, 401, 403, 404, 405, 503', async (t) => {
    const { sessionId } = await c.newSession();
    const bad = [
      ['?sinc=1', 'QUERY_UNKNOWN', /'sinc'/], ['?since=1&since=1', 'QUERY_DUPLICATE', /'since'/], ['?since=-1', 'QUERY_INVALID', /'since'/],
      ['?since=', 'QUERY_INVALID', /'since'/], ['?since=18446744073709551616', 'QUERY_INVALID', /'since'/],
      ['?follow=1', 'QUERY_INVALID', /'follow'/], ['?format=xml', 'QUERY_INVALID', /'format'/], ['?since=1%26follow=true', 'QUERY_INVALID', /'since'/],
      ['?since=99999', 'SINCE_AHEAD', /event/], [`?token=${d.token}`, 'QUERY_UNKNOWN', /'token'/], ['?&since=1', 'QUERY_UNKNOWN', /''/],
    ];

    for (const [query, reason, message] of bad) {
      const { status, json } = await d.http(where(sessionId, query), { token: d.token });

      assert.deepEqual([status, json.error.reason], [400, reason], query);
      assert.match(json.error.message, message);
      assert.ok(!json.error.message.includes(d.token));
    }
    const odd = await d.http(where(sessionId), { token: d.token, headers: { Accept: 'text/event-stream', 'Last-Event-ID': 'x' } });
    assert.deepEqual([odd.status, odd.json.error.reason], [400, 'LAST_EVENT_ID_INVALID']);
    const long = await d.http(where(sessionId), { token: d.token, headers: { Accept: 'text/event-stream', 'Last-Event-ID': '1'.repeat(500) } });
    assert.equal(long.status, 400);
    for (const path of [where('sess_none'), '/v1/sessions/sess_none', `/v1/sessions/${sessionId}/event`, `/v1/sessions/${'x'.repeat(4000)}/events`, '/v1'])
      assert.equal((await d.http(path, { token: d.token })).status, 404, path.slice(0, 60));
    for (const path of ['/v1/sessions', `/v1/sessions/${sessionId}`, where(sessionId), '/v1/usage']) {
      assert.equal((await d.http(path)).status, 401);
      assert.equal((await d.http(path, { token: 'wrong-token-wrong-token' })).status, 401);
      assert.equal((await d.http(path, { token: d.token, headers: { Host: 'evil.example' } })).status, 403);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const { status, headers } = await d.http(path, { token: d.token, method, headers: { Connection: 'close', 'Content-Length': '0' } });
        assert.deepEqual([status, headers.allow], [405, 'GET'], `${method} ${path}`);
      }
      const head = await d.http(path, { token: d.token, method: 'HEAD' });
      assert.deepEqual([head.status, head.body], [200, '']);
    }
    const unclaimed = await daemon(t, {}, { token: null });
    for (const path of ['/v1/sessions', where('sess_none'), '/v1/usage'])
      assert.deepEqual([(await unclaimed.http(path)).status, (await unclaimed.http(path)).json.error.reason], [503, 'UNCLAIMED']);
    await unclaimed.stop();
  });

  test('/v1/sessions says what _acpd/status says', async () => {
    const { sessionId } = await c.newSession();
    const { sessions } = await c.call('_acpd/status', {});
    const { json } = await d.http('/v1/sessions', { token: d.token });
    const one = (await d.http(`/v1/sessions/${sessionId}`, { token: d.token })).json;

    assert.deepEqual(json.sessions, sessions);
    assert.deepEqual(one, sessions.find((s) => s.sessionId === sessionId));
    assert.deepEqual([one.state, one.harness, one.cwd, one.turn], ['open', 'stub', d.workDir, 0]);
    assert.equal(json.incarnation, (await d.http('/ready', { token: d.token })).json.incarnation);
  });

  test('/v1/usage gives the ledger, after a number and of one session', async () => {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo 1');
    const before = await d.http('/v1/usage', { token: d.token });
    const last = Number(before.headers['acpd-last']);
    assert.equal(before.headers['content-type'], 'application/x-ndjson');
    assert.equal(before.body.trimEnd().split('\n').length, last);
    await c.prompt(sessionId, 'echo 2');
    const { body } = await d.http(`/v1/usage?since=${last}`, { token: d.token });
    const records = body.trimEnd().split('\n').map((x) => JSON.parse(x));
    assert.deepEqual([records.length, records[0].n, records[0].sessionId, records[0].turn], [1, last + 1, sessionId, 2]);
    const { json } = await d.http(`/v1/usage?session=${sessionId}&format=json`, { token: d.token });
    assert.deepEqual([json.last, json.records.map((r) => r.turn)], [last + 1, [1, 2]]);
    assert.deepEqual((await d.http('/v1/usage?session=nobody&format=json', { token: d.token })).json, { records: [], last: last + 1 });
  });

  test('HTTP/1.0 gets the plain body and a closed connection; 1.1 goes on on the same one', async () => {
    const { sessionId } = await c.newSession();
    const all = await whole(d, sessionId);
    const talk = (bytes, pred) => deadline(new Promise((resolve) => {
      const socket = net.connect(d.port, '127.0.0.1', () => socket.write(bytes));
      let text = '';

      socket.on('data', (data) => {
        text += data;
        if (pred?.(text))
          socket.destroy();
      });
      socket.on('close', () => resolve(text));
    }), 5000, 'the answer');
    const head = (version, path) => `GET ${path} HTTP/${version}\r\nHost: localhost\r\nAuthorization: Bearer ${d.token}\r\n\r\n`;
    const old = await talk(head('1.0', where(sessionId)));
    assert.ok(!/transfer-encoding/i.test(old));
    assert.deepEqual(old.split('\r\n\r\n')[1].trimEnd().split('\n').map((x) => JSON.parse(x)), all);
    const two = await talk(head('1.1', where(sessionId)) + head('1.1', '/ready'), (text) => text.includes('"ready":true'));
    assert.match(two, /transfer-encoding: chunked[^]*\r\n0\r\n\r\nHTTP\/1\.1 200[^]*"ready":true/);
    // behind a stream that does not end, a second request has no answer to wait for
    const stuck = await talk(head('1.1', where(sessionId, '?follow=true')) + head('1.1', '/ready'), (text) => text.includes('\n'));
    assert.ok(stuck.startsWith('HTTP/1.1 200'));
    assert.equal((await d.http('/health')).status, 200);
  });

  test('secrets of the session do not get out this way', async () => {
    const secret = 'sk-canary-4711-abcdefgh';
    const { sessionId } = await c.newSession({ meta: { env: { STUB_API_KEY: secret } } });

    await c.prompt(sessionId, `env STUB_API_KEY; echo ${secret}`);
    const s = await Stream.open(d, where(sessionId, '?format=sse&follow=false'));
    await s.until((x) => x.ended);
    assert.ok(!s.text.includes(secret));
    assert.ok(s.events.some((e) => e.content?.text?.includes('***')));
  });

  test('a session deleted ends its followers with the rest and a word', async () => {
    const { sessionId } = await c.newSession();
    const s = await Stream.open(d, where(sessionId, '?follow=true'));

    await c.prompt(sessionId, 'echo 1');
    await c.call('session/delete', { sessionId });
    await s.until((x) => x.ended);
    assert.deepEqual([s.events.at(-1).kind, s.events.at(-1).event], ['lifecycle', 'deleted']);
    assert.deepEqual(s.seqs.slice(0, -1), run(1, s.events.length - 1), 'nothing is missing before it');
    assert.equal((await d.http(where(sessionId), { token: d.token })).status, 404);
  });

  test('a client that goes away is forgotten', async () => {
    const { sessionId } = await c.newSession();
    const sockets = await steady(() => d.socketCount());
    const many = await Promise.all(Array.from({ length: 20 }, () => Stream.open(d, where(sessionId, '?follow=true'))));

    await until(() => d.socketCount() === sockets + 20, 'a socket for each');
    many.forEach(({ res: { socket } }, i) => (i % 3 === 0 ? socket.resetAndDestroy() : i % 3 === 1 ? socket.destroy() : socket.end()));
    await until(() => d.socketCount() === sockets, 'the sockets to be closed');
    await c.prompt(sessionId, 'echo still');
  });

  test('a client that talks into its stream costs nothing, and the stream goes on', async () => {
    const { sessionId } = await c.newSession();
    const s = await Stream.open(d, where(sessionId, '?follow=true'));
    const cpu = d.cpu();

    s.res.socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100));
    await sleep(1000);
    assert.ok(d.cpu() - cpu < 0.3 * SLOW, `${d.cpu() - cpu} s of CPU`);
    await c.prompt(sessionId, 'echo on');
    await s.until((x) => x.events.at(-1)?.kind === 'complete');
    s.close();
  });

  test('silence: a comment after 15 s, and the stream goes on', { timeout: 240000 * SLOW }, async () => {
    const { sessionId } = await c.newSession();
    const sse = await Stream.open(d, where(sessionId, '?format=sse'));
    const lines = await Stream.open(d, where(sessionId, '?follow=true'));

    await sse.until((x) => x.comments, 20000);
    await sleep(2000);
    await c.prompt(sessionId, 'echo awake');
    for (const s of [sse, lines]) {
      await s.until((x) => x.events.at(-1)?.kind === 'complete');
      assert.deepEqual(s.seqs, run(1, s.events.length));
      s.close();
    }
  });
});

test('cut again and again while a flood runs: nothing lost, nothing doubled', async (t) => {
  const COUNT = 40000;
  const d = await daemon(t);
  const c = await d.client({ record: false, validate: 'none' });
  const { sessionId } = await c.newSession();
  const random = chance(20261121);
  const seen = [];
  let cuts = 0;

  c.startPrompt(sessionId, `flood ${COUNT} 200; echo end`);
  for (;;) {
    const sse = random() < 0.5;
    const since = seen.at(-1)?.seq ?? 0;
    const s = await Stream.open(d, where(sessionId, sse ? '?format=sse' : `?follow=true&since=${since}`),
      { headers: sse ? { 'Last-Event-ID': String(since) } : {}, keep: false });
    const want = 1 + Math.floor(random() * 3000);

    await s.until((x) => x.events.length >= want || x.events.at(-1)?.final);
    s.res.socket.destroy();
    seen.push(...s.events);
    cuts++;
    if (seen.at(-1).final)
      break;
  }
  assert.deepEqual(seen.map((e) => e.seq), run(1, seen.length));
  const texts = seen.filter((e) => e.kind === 'message').map((e) => Number(e.content.text.slice(0, 10)));
  assert.deepEqual(texts.slice(0, COUNT), run(1, COUNT));
  t.diagnostic(`${cuts} connections for ${seen.length} events`);
  await c.close();
  await d.stop();
});

test('100 000 events and a reader that stands still: memory stays, then it gets them all', async (t) => {
  const COUNT = 100000;
  const d = await daemon(t);
  const c = await d.client({ record: false, validate: 'none' });
  const { sessionId } = await c.newSession();
  const slow = await Stream.open(d, where(sessionId, '?format=sse'), { keep: false });
  const quick = await Stream.open(d, where(sessionId, '?follow=true'), { keep: false });
  const base = d.rss();
  const at = performance.now();

  slow.res.pause();
  const { peak } = await peakRss(d, async () => {
    await c.prompt(sessionId, `flood ${COUNT} 300`, { timeout: 60000 });
    await quick.until((x) => x.events.at(-1)?.final, 60000);
    await sleep(500);
  });
  const ms = Math.round(performance.now() - at);
  assert.deepEqual(quick.seqs, run(1, quick.events.length));
  assert.ok(slow.events.length < COUNT / 2, 'it did stand still');
  const later = await peakRss(d, async () => {
    slow.res.resume();
    await slow.until((x) => x.events.at(-1)?.final, 60000);
  });
  assert.deepEqual(slow.seqs, run(1, slow.events.length));
  assert.equal(slow.events.filter((e) => e.kind === 'message').length, COUNT);
  t.diagnostic(`RSS ${mib(base)} -> ${mib(peak)}, catching up ${mib(later.peak)} MiB; ${ms} ms`);
  assertGrown(d, base, peak, 16);
  assertGrown(d, base, later.peak, 16, 'while it caught up');
  slow.close();
  quick.close();
  await c.close();
  await d.stop();
});

test('200 followers of one session see the same', async (t) => {
  const d = await daemon(t);
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const base = d.rss();
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => Stream.open(d, where(sessionId, i % 2 ? '?format=sse' : '?follow=true'))));

  t.diagnostic(`${Math.round((d.rss() - base) / 1024 / 200)} KiB for each idle follower`);
  await c.prompt(sessionId, 'flood 500 200; echo end');
  for (const s of all)
    await s.until((x) => x.events.at(-1)?.final, 30000);
  for (const s of all)
    assert.deepEqual(s.events, all[0].events);
  assert.deepEqual(all[0].seqs, run(1, all[0].events.length));
  assert.equal(await d.metric('acpd_connections'), 1, 'followers drive nothing');
  const { sessions } = (await d.http('/v1/sessions', { token: d.token })).json;
  assert.equal(sessions[0].watchers, 1);
  for (const s of all)
    s.close();
  await c.close();
  await d.stop();
});

test('--allow-query-token: for browsers, whose EventSource sets no header', async (t) => {
  const d = await daemon(t, { allowQueryToken: true });
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const s = await Stream.open(d, where(sessionId, `?format=sse&follow=false&token=${d.token}`), { headers: { Authorization: [] } });

  assert.equal(s.status, 200);
  await s.until((x) => x.ended);
  assert.deepEqual(s.ids, run(1, s.ids.length));
  assert.equal((await d.http('/v1/sessions?token=wrong-token-wrong-token')).status, 401);
  await c.close();
  await d.stop();
});

test('streams count as connections', async (t) => {
  const d = await daemon(t, { maxConnections: 3 });
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const two = [await Stream.open(d, where(sessionId, '?follow=true')), await Stream.open(d, where(sessionId, '?follow=true'))];
  const { status, json } = await d.http(where(sessionId), { token: d.token });

  assert.deepEqual([status, json.error.reason], [503, 'TOO_MANY_CONNECTIONS']);
  assert.equal((await d.http('/ready', { token: d.token })).status, 200);
  two[0].close();
  await until(async () => (await d.http(where(sessionId), { token: d.token })).status === 200, 'room again');
  two[1].close();
  await c.close();
  await d.stop();
});

test('the daemon stops: followers get the last events and a proper end', async (t) => {
  const d = await daemon(t);
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const sse = await Stream.open(d, where(sessionId, '?format=sse'));
  const lines = await Stream.open(d, where(sessionId, '?follow=true'));

  c.startPrompt(sessionId, 'echo begun; sleep 60000').catch?.(() => {});
  await sse.until((x) => x.events.some((e) => e.kind === 'message'));
  await d.stop();
  for (const s of [sse, lines]) {
    await s.until((x) => x.ended || x.cut, 1000);
    assert.ok(s.ended && !s.cut, 'the body ends as it should');
    const last = s.events.filter((e) => e.final).at(-1);
    assert.deepEqual([last?.kind, last?.error.class], ['error', 'shutdown']);
    assert.deepEqual(s.seqs, run(1, s.events.length));
  }
});

test('a follower of what an earlier daemon wrote, across its restart', async (t) => {
  const d = await daemon(t);
  let c = await d.client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo before');
  const first = await whole(d, sessionId);
  await d.restart();
  const again = await whole(d, sessionId);
  assert.deepEqual(again.slice(0, first.length), first, 'same numbers, same times');
  c = await d.client();
  await c.load(sessionId);
  await c.prompt(sessionId, 'echo after');
  const more = await whole(d, sessionId, `?since=${first.at(-1).seq}`);
  assert.deepEqual(more.map((e) => e.seq), run(first.at(-1).seq + 1, more.at(-1).seq));
  assert.ok(more.some((e) => e.content?.text === 'after'));
  await c.close();
  await d.stop();
});

test('--journal off: what is gone is said', async (t) => {
  const d = await daemon(t, { journal: 'off' });
  const c = await d.client({ record: false, validate: 'none' });
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'flood 60000 300; echo end', { timeout: 60000 });
  const [gap, ...rest] = await whole(d, sessionId);
  assert.deepEqual([gap.kind, gap.event, gap.from, gap.to, 'seq' in gap], ['lifecycle', 'gap', 1, rest[0].seq - 1, false]);
  assert.deepEqual(rest.map((e) => e.seq), run(rest[0].seq, rest.at(-1).seq));
  assert.ok(rest[0].seq > 1000);
  const s = await Stream.open(d, where(sessionId, '?format=sse&follow=false'));
  await s.until((x) => x.ended);
  assert.equal(s.ids[0], gap.to, 'an id from where to go on');
  await c.close();
  await d.stop();
});
