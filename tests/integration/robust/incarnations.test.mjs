// SPDX-License-Identifier: Apache-2.0
// A session's numbers over daemons and copies: what a client has of a predecessor holds up to its successor's first event, and no further; a turn that
// ran when the state was copied is billed once.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { test, describe } from 'node:test';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { gate } from '../../lib/gate.mjs';
import { copyTree, wholeLines } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { journalOf, records, running, turnsOf, verify } from '../ledger.mjs';

const incarnationOf = (c) => c.initializeResult.agentCapabilities._meta.acpd.incarnation;
const seqOf = (m) => m.params?._meta?.acpd?.seq ?? m.params?.seq;
const events = (c, id) => c.messages.filter((m) => m.method && m.params?.sessionId === id && m.method !== '_acpd/gap' && seqOf(m));
const seqs = (c, id) => events(c, id).map(seqOf);
const gaps = (c) => c.messages.filter((m) => m.method === '_acpd/gap').map((m) => m.params);
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const seqNow = async (c, sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0].seq;
const named = (d, id) => wholeLines(journalOf(d, id)).filter((l) => l.includes('"k":"incarnation"')).map((l) => JSON.parse(l).m);
const checked = (d) => assert.equal(spawnSync(ACPD, ['usage', 'verify', '--file', path.join(d.stateDir, 'usage.jsonl')]).status, 0);

// A second daemon on a copy of the state of the first, which goes on.
async function copyOf(t, d) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-test-'));

  copyTree(d.stateDir, path.join(dir, 'state'));
  copyTree(path.join(d.dir, 'stub-store'), path.join(dir, 'stub-store'));
  const copy = await Daemon.start({ dir });
  t.after(async () => {
    await copy.discard();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  return copy;
}

// A new client that comes with this position: the messages it gets, the answer being the last.
async function comes(d, sessionId, cwd, meta, method = 'session/load') {
  const c = await d.client();
  const result = await c.load(sessionId, { cwd, meta, method });

  await c.call('_acpd/status', { sessionId }); // what follows an answer has come by then
  await c.close();
  return { seqs: seqs(c, sessionId), gaps: gaps(c), last: result._meta.acpd.seq, c };
}

// The same position over HTTP: the numbers of the lines, null for one without.
async function read(d, sessionId, { fromSeq, incarnation }, format) {
  const query = `?since=${fromSeq - 1}&incarnation=${incarnation}&format=${format}&follow=false`;
  const s = await Stream.open(d, `/v1/sessions/${sessionId}/events${query}`);

  await s.until(() => s.ended);
  return s.events;
}

async function holds(d, sessionId, cwd, meta) {
  const load = await comes(d, sessionId, cwd, meta);

  assert.deepEqual(load.gaps, [], JSON.stringify(meta));
  assert.deepEqual(load.seqs, range(meta.fromSeq, Math.max(load.last, load.seqs.at(-1) ?? 0)), 'what is missing, and nothing else');
  const resume = await comes(d, sessionId, cwd, meta, 'session/resume');
  assert.deepEqual(resume.gaps, [], JSON.stringify(meta));
  assert.deepEqual(resume.seqs.slice(0, resume.last - meta.fromSeq + 1), range(meta.fromSeq, resume.last));
  const lines = await read(d, sessionId, meta, 'ndjson');
  assert.deepEqual(lines.map((e) => e.seq), range(meta.fromSeq, lines.at(-1)?.seq ?? meta.fromSeq - 1), 'over HTTP');
}

async function isFullGap(d, sessionId, cwd, meta) {
  const load = await comes(d, sessionId, cwd, meta);
  const [gap] = load.gaps;

  assert.deepEqual([load.gaps.length, gap?.from, gap?.to, gap?.reason], [1, 1, load.last, 'incarnation'], JSON.stringify(meta));
  assert.deepEqual(load.seqs, range(1, Math.max(load.last, load.seqs.at(-1))), 'all of it');
  assert.ok(load.c.messages.findIndex((m) => m.method === '_acpd/gap') < load.c.messages.findIndex(seqOf), 'the gap comes first');
  const resume = await comes(d, sessionId, cwd, meta, 'session/resume');
  assert.deepEqual(resume.gaps.map((g) => [g.from, g.to, g.reason]), [[1, resume.last, 'incarnation']]);
  assert.ok(resume.seqs.every((n) => n > resume.last), 'and nothing that was before');
  for (const format of ['ndjson', 'sse']) {
    const [first, ...rest] = await read(d, sessionId, meta, format);

    assert.deepEqual([first.event, first.from, first.to, first.reason, first.seq], ['gap', 1, rest.at(-1).seq, 'incarnation', undefined]);
    assert.deepEqual(rest.map((e) => e.seq), range(1, first.to), 'over HTTP, all of it');
  }
}

test('a copy of the state beside the daemon that goes on: numbers hold up to the first event of the copy', async (t) => {
  const d = await Daemon.startFor(t);
  const cwd = d.workDir;
  const a = await d.client();
  const { sessionId } = await a.newSession();

  await a.prompt(sessionId, 'echo one');
  const fork = await seqNow(a, sessionId);
  const copy = await copyOf(t, d);
  await a.prompt(sessionId, 'echo two of the first');
  const incarnation = incarnationOf(a);
  const ahead = await seqNow(a, sessionId);

  // before the copy has an event of its own
  await holds(copy, sessionId, cwd, { fromSeq: fork + 1, incarnation });
  const b = await copy.client();
  await b.load(sessionId, { cwd });
  await b.prompt(sessionId, 'echo two of the copy; echo three of the copy; echo four of the copy');
  await b.close();
  assert.notEqual(incarnationOf(b), incarnation);
  assert.deepEqual(named(copy, sessionId).map((r) => [r.id, r.from]), [[incarnation, 1], [incarnationOf(b), fork + 1]]);
  for (const fromSeq of [1, 2, fork, fork + 1])
    await holds(copy, sessionId, cwd, { fromSeq, incarnation });
  for (const fromSeq of [fork + 2, ahead, ahead + 1, 10 ** 9])
    await isFullGap(copy, sessionId, cwd, { fromSeq, incarnation });
  for (const unknown of ['0123456789abcdef0123456789abcdef', 'x', incarnation.slice(1)])
    await isFullGap(copy, sessionId, cwd, { fromSeq: 2, incarnation: unknown });
  // and the first knows nothing of the copy
  await holds(d, sessionId, cwd, { fromSeq: ahead, incarnation });
  await isFullGap(d, sessionId, cwd, { fromSeq: 2, incarnation: incarnationOf(b) });
  const plain = await copy.client({ init: { acpd: false } });
  await plain.load(sessionId, { cwd, meta: { fromSeq: ahead, incarnation } });
  assert.ok(plain.messages.every((m) => !m.method?.startsWith('_acpd/')), 'a client of plain ACP hears nothing of it');
  await plain.close();
});

test('several daemons in a row, however they end: clients of each age, and of some that only looked', async (t) => {
  const d = await Daemon.startFor(t);
  const tape = [];
  let c = await d.client();
  const { sessionId } = await c.newSession();

  for (let i = 0; i < 6; i++) {
    if (i)
      await c.load(sessionId);
    if (i !== 3) // that one has no event
      await c.prompt(sessionId, `echo ${i}`);
    tape.push({ incarnation: incarnationOf(c), last: await seqNow(c, sessionId) });
    await c.close();
    await (i % 2 ? d.stop({ keep: true }) : d.kill9());
    await d.restart();
    c = await d.client();
  }
  await c.load(sessionId);
  const list = named(d, sessionId);
  assert.deepEqual(list.map((r) => r.id), [...tape.map((x) => x.incarnation), incarnationOf(c)]);
  for (const [i, { incarnation, last }] of tape.entries()) {
    await holds(d, sessionId, d.workDir, { fromSeq: last + 1, incarnation });
    await holds(d, sessionId, d.workDir, { fromSeq: list[i + 1].from, incarnation });
    await isFullGap(d, sessionId, d.workDir, { fromSeq: list[i + 1].from + 1, incarnation });
  }
});

test('20 daemons in a row: a client that comes back each time has every event once, every turn ends once and is billed once', async (t) => {
  const d = await Daemon.startFor(t);
  const heard = [];
  let c = await d.client();
  const { sessionId } = await c.newSession();
  let incarnation = incarnationOf(c);

  for (let i = 0; i < 20; i++) {
    if (i % 2) {
      await c.prompt(sessionId, `echo ${i}; tokens {"inputTokens":1,"outputTokens":1,"totalTokens":2}`);
      await c.close();
      await d.stop({ keep: true });
    } else {
      await running(c, sessionId, 'on', 'sleep 60000');
      await c.close();
      await d.kill9();
    }
    heard.push(...seqs(c, sessionId));
    await d.restart();
    c = await d.client();
    await c.load(sessionId, { meta: { fromSeq: heard.at(-1) + 1, incarnation } });
    assert.deepEqual(gaps(c), [], `daemon ${i + 2}`);
    incarnation = incarnationOf(c);
  }
  heard.push(...seqs(c, sessionId));
  const all = await comes(d, sessionId, d.workDir, {});
  assert.deepEqual([...new Set(heard)].length, heard.length, 'none twice');
  assert.ok(heard.every((n, i) => !i || n > heard[i - 1]), 'in order');
  const own = new Set(events(all.c, sessionId).filter((m) => m.params.update?.sessionUpdate === 'user_message_chunk').map(seqOf)); // not sent to who wrote them
  assert.deepEqual(range(1, all.last).filter((n) => !heard.includes(n) && !own.has(n)), [], 'none lost');
  const ends = events(all.c, sessionId).filter((m) => m.method === '_acpd/turn_end').map((m) => m.params.turn);
  assert.deepEqual(ends, range(1, 20));
  assert.deepEqual(turnsOf(d, sessionId).map((r) => r.turn), range(1, 20));
  assert.equal(new Set(turnsOf(d, sessionId).map((r) => r.turnIncarnation ?? r.incarnation)).size, 20, 'each in its own');
  verify(d);
  checked(d);
});

// The end of the record of the second incarnation is where a write was cut off; what follows it has then not been written either.
test('a daemon that is killed anywhere in writing that it has begun leaves no number that means two things', async (t) => {
  const d = await Daemon.startFor(t);
  const a = await d.client();
  const { sessionId } = await a.newSession();

  await a.prompt(sessionId, 'echo one');
  const fork = await seqNow(a, sessionId);
  const first = incarnationOf(a);
  await a.close();
  await d.kill9();
  await d.restart();
  const b = await d.client();
  await b.load(sessionId);
  await b.prompt(sessionId, 'echo two');
  const second = incarnationOf(b);
  await b.close();
  await d.kill9();
  const whole = fs.readFileSync(journalOf(d, sessionId));
  const from = whole.indexOf(`"m":{"id":"${second}"`);
  const begin = whole.lastIndexOf(10, from) + 1, end = whole.indexOf(10, from) + 1;
  const cuts = range(begin, end);
  const id = (cut) => `sess_${String(cut).padStart(32, '0')}`;

  for (const cut of cuts)
    fs.writeFileSync(path.join(d.stateDir, 'sessions', `${id(cut)}.jsonl`), whole.subarray(0, cut), { mode: 0o600 });
  await d.restart();
  const c = await d.client();
  for (const cut of cuts) {
    const ack = (incarnation, seq) => c.request('_acpd/ack', { sessionId: id(cut), seq, incarnation }).answer.then((m) => m.error?.data.field ?? 'taken');
    const known = cut === end;

    assert.deepEqual([await ack(first, fork + 1), await ack(second, fork + 1), await ack(second, fork), await ack(first, fork)],
      ['seq', known ? 'seq' : 'incarnation', known ? 'taken' : 'incarnation', 'taken'], `cut at ${cut - begin} of ${end - begin}`);
  }
  await c.close();
});

test('an acknowledged number of the first trims nothing of the copy that nobody has had from it', async (t) => {
  const d = await Daemon.startFor(t);
  const a = await d.client();
  const { sessionId } = await a.newSession();

  await running(a, sessionId, 'on', 'echo more; sleep 60000');
  await a.waitUpdate('agent_message_chunk');
  const fork = await seqNow(a, sessionId);
  const copy = await copyOf(t, d);
  const b = await copy.client();
  const acked = async () => (await b.call('_acpd/status', { sessionId })).sessions[0].acked ?? 0;
  const refused = async (params) => {
    const { data } = await b.fails('_acpd/ack', { sessionId, ...params });
    return [data.reason, data.field];
  };
  const own = await seqNow(b, sessionId);

  assert.ok(own > fork, 'the copy has ended the turn');
  assert.deepEqual(await refused({ seq: own }), ['FIELD_OUT_OF_RANGE', 'seq'], 'it can only be of the first');
  assert.deepEqual(await refused({ seq: fork + 1, incarnation: incarnationOf(a) }), ['FIELD_OUT_OF_RANGE', 'seq']);
  assert.deepEqual(await refused({ seq: 1, incarnation: 'x' }), ['FIELD_OUT_OF_RANGE', 'incarnation']);
  assert.equal(await acked(), 0);
  await b.call('_acpd/ack', { sessionId, seq: fork, incarnation: incarnationOf(a) });
  assert.equal(await acked(), fork, 'what both have in common');
  await b.load(sessionId, { cwd: d.workDir });
  await b.call('_acpd/ack', { sessionId, seq: own });
  assert.equal(await acked(), own);
  await b.close();
});

test('a journal that was trimmed still knows its incarnations', async (t) => {
  const d = await Daemon.startFor(t, { flags: { journalMax: 400000 } });
  const tape = [];
  let c = await d.client({ validate: 100 });
  const { sessionId } = await c.newSession();

  for (let i = 0; i < 3; i++) {
    await c.prompt(sessionId, 'flood 250 200; echo end');
    const seq = await seqNow(c, sessionId);
    await c.call('_acpd/ack', { sessionId, seq });
    tape.push({ incarnation: incarnationOf(c), seq });
    await c.close();
    await d.kill9();
    await d.restart();
    c = await d.client({ validate: 100 });
    await c.load(sessionId, { meta: { fromSeq: seq + 1, incarnation: tape.at(-1).incarnation } });
    assert.deepEqual(gaps(c), []);
  }
  for (let i = 0; i < 6; i++) {
    await c.prompt(sessionId, 'flood 250 200; echo end');
    await c.call('_acpd/ack', { sessionId, seq: await seqNow(c, sessionId) });
  }
  const trimmed = await d.metric('acpd_journals_trimmed_total');
  if (!trimmed)
    return t.skip('no holes in files here');
  await c.close();
  await d.kill9();
  await d.restart();
  c = await d.client({ validate: 100 });
  for (const { incarnation, seq } of tape) {
    const { data } = await c.fails('_acpd/ack', { sessionId, seq: seq + 100, incarnation });
    assert.equal(data.field, 'seq', 'known, and not as far as that');
    await c.call('_acpd/ack', { sessionId, seq, incarnation });
  }
  await c.close();
});

// As daemon/protocol/usage.md tells a reader of several ledgers to do.
function bill(...ledgers) {
  const seen = new Map();

  for (const r of ledgers.flat()) {
    const key = JSON.stringify([r.turnIncarnation ?? r.incarnation, r.sessionId, r.turn, r.type === 'turn' ? 0 : r.call ?? r.callId]);
    if (!seen.has(key) || (seen.get(key).turnIncarnation && !r.turnIncarnation))
      seen.set(key, r);
  }
  return [...seen.values()];
}

describe('usage', () => {
  const tokens = (n) => `tokens {"inputTokens":${n},"outputTokens":1,"totalTokens":${n + 1}}`;
  const billed = (list) => list.filter((r) => r.type === 'turn').map((r) => [r.turn, r.usage?.inputTokens ?? 0]);

  test('of a copy is told apart; the turn that ran is billed once, as the first says', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await a.prompt(sessionId, `echo one; ${tokens(10)}`);
    const { step, open } = gate(d);
    const turn = a.startPrompt(sessionId, `echo two; ${step}; ${tokens(20)}`);
    await until(() => a.chunks(sessionId).includes('two'), 'the turn runs');
    const copy = await copyOf(t, d);
    const b = await copy.client();
    await b.load(sessionId, { cwd: d.workDir });
    await b.prompt(sessionId, `echo three of the copy; ${tokens(40)}`);
    await b.close();
    open();
    assert.equal((await turn.answer).error, undefined);
    await a.prompt(sessionId, `echo three of the first; ${tokens(30)}`);
    await a.close();

    const first = records(d), second = records(copy);
    const [one, two, three] = turnsOf(copy, sessionId);
    assert.deepEqual(one, turnsOf(d, sessionId)[0], 'what was before is in both');
    assert.deepEqual([two.turn, two.incarnation, two.turnIncarnation, two.error.class], [2, incarnationOf(b), incarnationOf(a), 'shutdown']);
    assert.deepEqual([three.turn, three.incarnation, three.turnIncarnation], [3, incarnationOf(b), undefined]);
    assert.ok(first.every((r) => r.turnIncarnation === undefined));
    for (const list of [bill(first, second), bill(second, first)])
      assert.deepEqual(billed(list).sort((x, y) => x[1] - y[1]), [[1, 10], [2, 20], [3, 30], [3, 40]]);
    for (const one of [d, copy]) {
      verify(one);
      checked(one);
    }
  });

  test('two copies of a turn whose daemon is gone: it is billed once', async (t) => {
    const d = await Daemon.startFor(t);
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await running(a, sessionId, 'on', 'sleep 60000');
    await d.kill9();
    const copies = [await copyOf(t, d), await copyOf(t, d)];
    for (const one of copies)
      await until(() => turnsOf(one, sessionId).length === 1, 'it has ended the turn');
    const list = bill(...copies.map(records));
    assert.equal(list.length, 1);
    assert.equal(list[0].turnIncarnation, incarnationOf(a));
    await d.restart();
  });
});
