// SPDX-License-Identifier: Apache-2.0
// A journal that the disk has damaged: its session stays, says that it is damaged, and offers all that can be read; what cannot is
// named. Nothing that a client may have seen is said under another number.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test, before, after, describe } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { Stream } from '../../lib/events.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { journalOf } from '../ledger.mjs';

// [{at, end, n, k}] of a journal's lines; end: of the newline.
function linesOf(bytes) {
  const lines = [];
  let at = 0;

  for (let nl = bytes.indexOf(10); nl >= 0; nl = bytes.indexOf(10, at)) {
    const { n, k } = JSON.parse(bytes.subarray(at, nl).toString());

    lines.push({ at, end: nl, n, k });
    at = nl + 1;
  }
  return lines;
}

const flip = (bytes, at, bit = 1) => { bytes[at] ^= bit; };
const middle = (line) => Math.floor((line.at + line.end) / 2);
const events = (bytes) => linesOf(bytes).filter((l) => l.n > 0);
const eventAt = (bytes, i) => events(bytes).at(i);
// An event right behind which another begins.
const joins = (l, all) => l.n > 2 && all.some((next) => next.at === l.end + 1);
const joint = (bytes) => events(bytes).find((l, _, all) => joins(l, all));

// [what, damage(bytes) -> bytes or nothing, lost(events before) -> [numbers that are missing]]
const CASES = [
  ['the head', (b) => flip(b, middle(linesOf(b)[0])), () => []],
  ['the very first byte', (b) => flip(b, 0), () => []],
  ['the first event', (b) => flip(b, middle(eventAt(b, 0))), (all) => [all[0].n]],
  ['the number of the first event', (b) => flip(b, eventAt(b, 0).at + 5), (all) => [all[0].n]],
  ['an event in the middle', (b) => flip(b, middle(eventAt(b, 4))), (all) => [all[4].n]],
  ['a checksum', (b) => flip(b, eventAt(b, 5).end - 3), (all) => [all[5].n]],
  ['a newline in the middle', (b) => flip(b, joint(b).end), (all) => { const { n } = all.find((l) => joins(l, all)); return [n, n + 1]; }],
  ['two places', (b) => [eventAt(b, 2), eventAt(b, -3)].forEach((l) => flip(b, middle(l))), (all) => [all[2].n, all.at(-3).n]],
  ['the last event', (b) => flip(b, middle(eventAt(b, -1))), (all) => [all.at(-1).n]],
  ['a line that is gone', (b) => Buffer.concat([b.subarray(0, eventAt(b, 3).at), b.subarray(eventAt(b, 3).end + 1)]), (all) => [all[3].n]],
  ['a kilobyte of zeros', (b) => void b.fill(0, eventAt(b, 2).at + 9, eventAt(b, 5).at + 9), (all) => [2, 3, 4, 5].map((i) => all[i].n)],
];

let d, a;
const sessions = new Map(); // what -> {id, bytes, lost, last}

const params = (m) => m.params._meta?.acpd?.seq ?? m.params.seq;
const replay = (c, id) => c.messages.filter((m) => m.method && m.params?.sessionId === id && (m.method === '_acpd/gap' || params(m)));
const numbers = ({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const acpdOf = async (c, id) => (await c.call('session/list', {})).sessions.find((s) => s.sessionId === id)?._meta.acpd;
const damage = async (id, what) => {
  const was = fs.readFileSync(journalOf(d, id));
  const bytes = Buffer.from(was);
  const row = CASES.find((r) => r[0] === what);

  fs.writeFileSync(journalOf(d, id), row[1](bytes) ?? bytes);
  return { id, bytes: was, lost: row[2](events(was)), last: events(was).at(-1).n };
};

before(async () => {
  d = await Daemon.start();
  a = await d.client();
  const ids = new Map();

  for (const what of [...CASES.map((r) => r[0]), 'both heads', 'the tail']) {
    ids.set(what, (await a.newSession({ meta: { model: 'stub-large' } })).sessionId);
    for (let i = 0; i < 3; i++)
      await a.prompt(ids.get(what), `echo ${what} ${i}; title T${i}`, { meta: { acpd: { key: `key-${i}` } } });
  }
  await a.close();
  await d.stop({ keep: true });
  for (const [what] of CASES)
    sessions.set(what, await damage(ids.get(what), what));
  for (const what of ['both heads', 'the tail']) {
    const id = ids.get(what);
    const bytes = fs.readFileSync(journalOf(d, id));
    const was = Buffer.from(bytes);

    if (what === 'both heads')
      linesOf(was).filter((l) => l.k === 'session').forEach((l) => flip(bytes, middle(l)));
    fs.writeFileSync(journalOf(d, id), what === 'the tail' ? bytes.subarray(0, eventAt(was, -2).end - 9) : bytes);
    sessions.set(what, { id, bytes: was, lost: [], last: events(was).at(-1).n });
  }
  await d.restart();
});

after(async () => {
  try {
    await d?.stop({ logs: false });
    assertNoViolations();
  } finally {
    await d?.discard();
  }
});

// What a replay or a stream of a damaged session holds: gaps are the missing numbers, the rest is there once and in order.
function checkPieces(pieces, { lost, last }, what) {
  assert.deepEqual(pieces.flatMap((p) => p.gap ? numbers(p.gap) : [p.seq]), numbers({ from: 1, to: last }), what);
  assert.deepEqual(pieces.filter((p) => p.gap).flatMap((p) => numbers(p.gap)), lost, what);
  assert.ok(pieces.every((p) => !p.gap || p.gap.reason === 'damaged'), what);
}

const asPieces = (messages) => messages.map((m) => m.method === '_acpd/gap' ? { gap: m.params } : { seq: params(m) });
const asPiecesOfStream = (list) => list.map((e) => e.event === 'gap' ? { gap: e } : { seq: e.seq });

describe('one flipped bit, a line that is gone, zeros', () => {
  for (const [what] of CASES)
    test(`${what}: listed, marked, readable but for what is named, and it goes on`, async () => {
      const s = sessions.get(what);
      const c = await d.client();

      assert.deepEqual((await acpdOf(c, s.id)).damaged, { missing: s.lost.length });
      const [status] = (await c.call('_acpd/status', { sessionId: s.id })).sessions;
      assert.deepEqual(status.damaged, { missing: s.lost.length });
      await d.waitLog((l) => l.level === 'error' && l.what === 'journal' && l.name === s.id);
      // the end of a turn that is lost is told again, under a number of its own
      s.last = status.seq;
      const stream = await Stream.open(d, `/v1/sessions/${s.id}/events?format=ndjson`);
      await stream.until((x) => x.ended);
      checkPieces(asPiecesOfStream(stream.events), s, 'over HTTP');
      const loaded = await c.load(s.id);
      assert.deepEqual(loaded._meta.acpd.damaged, { missing: s.lost.length });
      const told = replay(c, s.id).filter((m) => m.method === '_acpd/gap' || params(m) <= s.last);
      checkPieces(asPieces(told), s, 'on load');
      const written = new Map(linesOf(s.bytes).filter((l) => l.n > 0)
        .map((l) => [l.n, JSON.parse(s.bytes.subarray(l.at, l.end).toString()).m]));
      for (const m of told)
        if (m.method !== '_acpd/gap' && written.has(params(m)))
          assert.deepEqual(m, written.get(params(m)));
      const from = c.messages.length;
      assert.equal((await c.prompt(s.id, 'echo on; title Later')).stopReason, 'end_turn');
      const fresh = c.messages.slice(from).filter((m) => m.params?.sessionId === s.id && params(m)).map(params);
      assert.ok(fresh.length && fresh.every((n) => n > s.last), `new numbers ${fresh} above ${s.last}`);
      await c.close();
    });

  test('the next daemon says the same, and has what came since', async () => {
    await d.restart();
    for (const [what] of CASES) {
      const s = sessions.get(what);
      const c = await d.client();
      await c.load(s.id);
      const told = asPieces(replay(c, s.id));

      checkPieces(told, { lost: s.lost, last: told.at(-1).seq }, what);
      assert.ok(c.chunks(s.id).includes('on'), what);
      await c.close();
    }
  });

  test('a reader that begins inside or behind what is missing hears of no more than it asked for', async () => {
    const s = sessions.get('a kilobyte of zeros');
    const first = async (since) => {
      const stream = await Stream.open(d, `/v1/sessions/${s.id}/events?format=ndjson&since=${since}`);

      await stream.until((x) => x.ended);
      return asPiecesOfStream(stream.events)[0];
    };

    assert.deepEqual((await first(s.lost[0])).gap?.from, s.lost[1]);
    assert.deepEqual(await first(s.lost.at(-1)), { seq: s.lost.at(-1) + 1 });
  });
});

test('a tail that is cut off: no damage, and the turn ends once', async () => {
  const { id } = sessions.get('the tail');
  const c = await d.client();

  assert.equal((await acpdOf(c, id)).damaged, undefined);
  await c.load(id);
  assert.deepEqual(replay(c, id).filter((m) => m.method === '_acpd/turn_end').map((m) => m.params.turn), [1, 2, 3]);
  assert.equal((await c.prompt(id, 'echo on')).stopReason, 'end_turn');
  await c.close();
});

test('what it was made with is lost: listed and readable, refused with SESSION_DAMAGED, can be deleted', async () => {
  const s = sessions.get('both heads');
  const c = await d.client();

  assert.deepEqual((await acpdOf(c, s.id)).damaged, { missing: 0, unusable: true });
  const stream = await Stream.open(d, `/v1/sessions/${s.id}/events?format=ndjson`);
  await stream.until((x) => x.ended);
  assert.ok(stream.events.some((e) => e.kind === 'message' && e.content?.text === 'both heads 2'));
  for (const method of ['session/load', 'session/resume', 'session/fork']) {
    const error = await c.fails(method, { sessionId: s.id, cwd: d.workDir, mcpServers: [] });
    assert.deepEqual([error.code, error.data.reason], [-32603, 'SESSION_DAMAGED'], method);
  }
  const { status, json } = await d.http(`/v1/sessions/${s.id}/workspace`, { token: d.token });
  assert.deepEqual([status, json.error.reason], [409, 'SESSION_DAMAGED']);
  await c.call('session/delete', { sessionId: s.id });
  assert.equal(await acpdOf(c, s.id), undefined);
  await c.close();
});

test('a fork of a damaged session is refused: its history cannot be copied in full', async () => {
  const c = await d.client();
  const error = await c.fails('session/fork', { sessionId: sessions.get('the first event').id, cwd: d.workDir, mcpServers: [] });

  assert.equal(error.data.reason, 'FORK_FAILED');
  await c.close();
});
