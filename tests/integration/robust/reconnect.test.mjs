// SPDX-License-Identifier: Apache-2.0
// Sessions outlive sockets: whatever is cut, and whenever, a client that says what it has gets the rest,
// once and in order; what is lost is said (_acpd/gap), never silent.

import assert from 'node:assert/strict';
import { test, describe, before, after } from 'node:test';
import { chance } from '../../lib/chance.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { Tape } from './rig.mjs';

const SEED = Number(process.env.ACPD_TEST_SEED ?? Date.now() % 1e9);
let d;

before(async () => {
  d = await Daemon.start();
});

after(() => endInOrder(d));

const incarnationOf = (client) => client.initializeResult.agentCapabilities._meta.acpd.incarnation;

// Session and driver: {client, sessionId, tape}, the tape hears everything.
async function opened(daemon = d, opts = {}, flood) {
  const client = await daemon.client(opts);
  const tape = await Tape.open(client, { flood });

  return { client, sessionId: tape.sessionId, tape };
}

// What a fresh client gets by a plain load: the whole history.
async function history(daemon, sessionId, flood) {
  const client = await daemon.client({ record: false, validate: 100 });
  const tape = new Tape(sessionId, { flood });

  tape.attach(client);
  await client.load(sessionId);
  const seen = tape.last; // the response comes behind the replay
  await client.close();
  return { tape, seen };
}

describe('cuts', () => {
  const FLOOD = 300;
  const SCRIPT = Array(120).fill(`flood ${FLOOD} 200; sleep 25`).join('; ');
  const random = chance(SEED);

  // Ends a connection in one of the ways that connections end.
  async function cut(client, kind) {
    if (kind === 'reset')
      client.ws.reset();
    else if (kind === 'drop')
      client.ws.destroy();
    else if (kind === 'clean')
      client.ws.close(1000);
    else if (kind === 'stall') {
      client.ws.pause();
      await sleep(random() * 20);
      client.ws.reset();
    }
    await client.closed;
  }

  // A new connection with both sessions; sometimes it is lost before the loads are answered.
  async function back(tapes, incarnation, stats) {
    for (;;) {
      const client = await d.client({ record: false, validate: 25 });
      const half = random() < 0.25;

      for (const tape of tapes)
        tape.attach(client);
      const loads = tapes.map((tape) => client.load(tape.sessionId, { meta: { fromSeq: tape.last + 1, incarnation } }));
      for (const load of loads)
        load.catch(() => {});
      if (half) {
        await sleep(random() * 8);
        await cut(client, random() < 0.5 ? 'reset' : 'drop');
        stats.halfway++;
        continue;
      }
      await Promise.all(loads);
      return client;
    }
  }

  // Until both turns of this number have ended: read a while, be cut, come back, ask again. The prompt may
  // have been lost with its socket, so it is sent again under the same key.
  async function turn(number, tapes, client, incarnation, stats, enough) {
    const over = () => tapes.every((x) => x.ends.length >= number);

    for (;;) {
      for (const tape of tapes)
        client.startPrompt(tape.sessionId, SCRIPT, { meta: { acpd: { key: `turn ${number}` } } });
      if (enough()) {
        await tapes[0].until(over, 20000);
        await tapes[1].until(over, 20000);
      }
      if (over())
        return client;
      const from = tapes[0].events + tapes[1].events;
      const many = Math.floor(random() * 1200);

      const until = performance.now() + random() * 40;

      await tapes[0].until(() => performance.now() >= until || tapes[0].events + tapes[1].events >= from + many);
      const kind = ['reset', 'drop', 'clean', 'stall'][Math.floor(random() * 4)];
      await cut(client, kind);
      stats[kind]++;
      client = await back(tapes, incarnation, stats);
    }
  }

  test('100 random cuts under two floods: 1..N once, in order', { timeout: 240000 * SLOW }, async (t) => {
    let client = await d.client({ record: false, validate: 25 });
    const tapes = [await Tape.open(client, { flood: FLOOD }), await Tape.open(client, { flood: FLOOD })];
    const incarnation = incarnationOf(client);
    const stats = { reset: 0, drop: 0, clean: 0, stall: 0, halfway: 0 };
    const total = () => Object.values(stats).reduce((a, b) => a + b, 0);
    const started = Date.now();
    const enough = () => total() >= 100 || (total() >= 60 && Date.now() > started + 25000 * SLOW);
    let turns = 0;

    t.diagnostic(`seed ${SEED}`);
    while (!enough())
      client = await turn(++turns, tapes, client, incarnation, stats, enough);
    await client.close();
    for (const x of tapes) {
      x.assertWhole(`(seed ${SEED})`);
      assert.equal(x.numbered, turns * 120 * FLOOD, `all texts arrived (seed ${SEED})`);
      assert.deepEqual(x.ends.map((e) => [e.key, e.stopReason]),
        Array.from({ length: turns }, (_, i) => [`turn ${i + 1}`, 'end_turn']), 'each prompt ran once');
      const { tape: whole } = await history(d, x.sessionId, FLOOD);
      whole.assertWhole('in the replay');
      assert.equal(whole.last, x.last);
      assert.deepEqual(whole.missing, []);
      // The only numbers that may never have come are those of the prompts of this client itself.
      for (const seq of x.missing)
        assert.equal(whole.kinds.get(seq), 'user_message_chunk', `seq ${seq} was never delivered (seed ${SEED})`);
      await remove(x.sessionId);
    }
    t.diagnostic(`${total()} cuts ${JSON.stringify(stats)}, ` +
      `${tapes[0].events + tapes[1].events} events in ${turns} turn(s) of two sessions`);
  });
});

async function remove(sessionId, daemon = d) {
  const client = await daemon.client();

  await client.call('session/delete', { sessionId });
  await client.close();
}

describe('session/load', () => {
  test('plain: replays all, then answers; prompts included', async () => {
    const { client, sessionId, tape } = await opened(d, {}, 100);

    await client.prompt(sessionId, 'echo one; flood 100 200');
    await client.prompt(sessionId, 'echo two');
    const { tape: whole, seen } = await history(d, sessionId, 100);
    whole.assertWhole();
    assert.equal(seen, tape.last, 'all of it came before the answer');
    assert.deepEqual(whole.missing, []);
    assert.deepEqual(whole.prompts.map((seq) => whole.texts.get(seq)), ['echo one; flood 100 200', 'echo two']);
    assert.deepEqual(whole.prompts, tape.missing, 'the prompts are what their sender was not sent');
    assert.equal(whole.ends.length, 2, 'the ends of the turns are part of it');
    await client.close();
    await remove(sessionId);
  });

  test('while a turn runs: all up to now, the answer, then the rest, without gap or double', async (t) => {
    const FLOOD = 300;
    const { client, sessionId } = await opened(d, { record: false, validate: 100 }, FLOOD);

    client.startPrompt(sessionId, Array(3000).fill(`flood ${FLOOD} 200; sleep 40`).join('; '));
    const answered = [];
    for (let i = 0; i < 8; i++) {
      await sleep(50);
      const reader = await d.client({ record: false, validate: 100 });
      const tape = new Tape(sessionId, { flood: FLOOD });
      tape.attach(reader);
      const result = await reader.load(sessionId);
      answered.push(tape.last);
      assert.ok(tape.last >= result._meta.acpd.seq, `replayed to ${tape.last}, promised ${result._meta.acpd.seq}`);
      assert.equal(result._meta.acpd.turn, 1, 'the running turn is named');
      await tape.until((x) => x.last > answered[i] + 10, 10000);
      if (i === 7) {
        reader.cancel(sessionId);
        await tape.until((x) => x.ends.length, 10000);
        assert.equal(tape.ends[0].stopReason, 'cancelled');
      }
      tape.assertWhole();
      assert.deepEqual(tape.missing, [], 'a reader that never prompted misses nothing');
      await reader.close();
    }
    t.diagnostic(`answers after ${answered.join(', ')} events`);
    await remove(sessionId);
  });

  test('fromSeq is inclusive: what is missing before the answer, nothing else', async () => {
    const { client, sessionId, tape } = await opened(d, {}, 50);
    const incarnation = incarnationOf(client);

    await client.prompt(sessionId, 'flood 50 200');
    for (const fromSeq of [1, 2, 17, tape.last - 1, tape.last, tape.last + 1]) {
      const reader = await d.client();
      const { result } = await reader.request('session/load', { sessionId, cwd: d.workDir, mcpServers: [],
        _meta: { acpd: { fromSeq, incarnation } } }).answer;
      const seqs = reader.messages.filter((m) => m.method?.match(/update|turn_end/))
        .map((m) => m.params._meta?.acpd.seq ?? m.params.seq);
      assert.deepEqual(seqs, Array.from({ length: tape.last + 1 - fromSeq }, (_, i) => fromSeq + i));
      assert.ok(result, 'and then the answer');
      assert.equal(reader.messages.findLast((m) => m.method !== '_acpd/status').result?._meta?.acpd.incarnation, incarnation);
      await reader.close();
    }
    await remove(sessionId);
  });

  test('a number that does not exist yet is refused: nothing may be skipped in silence', async () => {
    const { client, sessionId, tape } = await opened();
    const incarnation = incarnationOf(client);

    await client.prompt(sessionId, 'echo one');
    const next = tape.last + 1;
    const wrong = [{ fromSeq: next + 1 }, { fromSeq: next + 1, incarnation }, { fromSeq: 10 ** 12, incarnation }];
    for (const acpd of wrong) {
      const reader = await d.client();
      const e = await reader.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd } });

      assert.equal(e.code, -32602, JSON.stringify(acpd));
      assert.equal(e.data.field, '_meta.acpd.fromSeq');
      await reader.close();
    }
    await client.call('session/delete', { sessionId }); // it drives it: nobody else may
  });

  test('an unknown incarnation: an explicit gap, then everything', async () => {
    const { client, sessionId, tape } = await opened();

    await client.prompt(sessionId, 'echo one');
    const reader = await d.client();
    const heard = new Tape(sessionId);
    heard.attach(reader);
    await reader.load(sessionId, { meta: { fromSeq: 2, incarnation: '0123456789abcdef' } });
    const gaps = reader.messages.filter((m) => m.method === '_acpd/gap').map((m) => m.params);
    assert.equal(gaps.length, 1);
    assert.equal(gaps[0].from, 1);
    const seqs = reader.messages.filter((m) => m.method?.match(/update|turn_end/))
      .map((m) => m.params._meta?.acpd.seq ?? m.params.seq);
    assert.deepEqual(seqs, Array.from({ length: tape.last }, (_, i) => i + 1), 'from the start');
    assert.ok(reader.messages.indexOf(reader.messages.find((m) => m.method === '_acpd/gap')) <
      reader.messages.findIndex((m) => m.method === 'session/update'), 'the gap is told first');
    await reader.close();
    await remove(sessionId);
  });

  test('the same connection loads again: replay, and it stays the driver', async () => {
    const { client, sessionId, tape } = await opened();

    await client.prompt(sessionId, 'echo one');
    const from = client.updates.length;
    await client.load(sessionId);
    const seqs = client.updates.slice(from).map((u) => u.seq);
    assert.deepEqual(seqs, seqs.map((_, i) => i + 1), 'from the start, with its own prompt');
    assert.equal(seqs.at(-1), tape.last - 1, 'and turn_end behind it');
    await client.prompt(sessionId, 'echo two');
    assert.deepEqual(client.chunks(sessionId), ['one', 'one', 'two']);
    client.assertClean();
    await client.close();
    await remove(sessionId);
  });
});

describe('session/resume', () => {
  test('without fromSeq: no replay, only what comes', async () => {
    const { client, sessionId, tape } = await opened();

    await client.prompt(sessionId, 'echo one');
    await client.close();
    const reader = await d.client();
    await reader.resumeSession(sessionId);
    await reader.prompt(sessionId, 'echo two');
    assert.deepEqual(reader.chunks(sessionId), ['two']);
    assert.deepEqual(reader.updates.map((u) => u.seq), [tape.last + 2], 'behind its own prompt');
    await reader.close();
    await remove(sessionId);
  });

  test('with fromSeq: the answer first, then what is missing, then what comes', async () => {
    const { client, sessionId, tape } = await opened(d, {}, 60);
    const incarnation = incarnationOf(client);

    client.startPrompt(sessionId, 'flood 60 200; sleep 200; flood 60 200; sleep 200; flood 60 200');
    await tape.until((x) => x.numbered >= 60);
    await client.close();
    const reader = await d.client();
    tape.attach(reader);
    await reader.resumeSession(sessionId, { meta: { fromSeq: tape.last + 1, incarnation } });
    await tape.until((x) => x.ends.length);
    const answer = reader.messages.findIndex((m) => m.result?._meta?.acpd?.harness);
    assert.ok(answer >= 0 && answer < reader.messages.findIndex((m) => m.method === 'session/update'));
    tape.assertWhole();
    assert.equal(tape.missing.length, 1, 'only its own prompt was not told');
    assert.equal(tape.numbered, 180);
    await reader.close();
    await remove(sessionId);
  });
});

describe('without a journal', () => {
  let bare;

  before(async () => {
    bare = await Daemon.start({ flags: { journal: 'off' } });
  });
  after(async () => {
    await bare?.stop();
  });

  // The number of the last event once the session has said what it says at its start: that comes before what it says in a turn. own: what
  // its client is not told, its own prompt.
  async function settled(tape, client) {
    await client.prompt(tape.sessionId, 'echo settled');
    await tape.until((x) => x.ends.length);
    return { last: tape.last, own: tape.missing };
  }

  // Everything is either delivered or named in a gap.
  function accounted(tape, last, prompts = []) {
    assert.deepEqual(tape.faults, []);
    assert.equal(tape.last, last, 'up to the end');
    assert.deepEqual(tape.missing.filter((seq) => !prompts.includes(seq)), [],
      `no silent loss (gaps ${JSON.stringify(tape.gaps)})`);
  }

  test('a reader that comes too late: a gap {from, to}, then the rest', async (t) => {
    const { client, sessionId, tape } = await opened(bare, { record: false, validate: 1000 }, 60000);

    await client.prompt(sessionId, 'flood 60000 300');
    await tape.until((x) => x.ends.length);
    await client.close();
    for (const meta of [undefined, { fromSeq: 5, incarnation: incarnationOf(client) }]) {
      const { incarnation } = client.initializeResult.agentCapabilities._meta.acpd;
      const reader = await bare.client({ record: false, validate: 100 });
      const late = new Tape(sessionId);
      late.attach(reader);
      late.last = meta ? 4 : 0;
      await reader.load(sessionId, { meta: meta && { ...meta, incarnation } });
      assert.equal(late.gaps.length, 1, 'one gap');
      assert.equal(late.gaps[0].from, meta ? 5 : 1);
      accounted(late, tape.last);
      assert.ok(late.events > 1000, 'the newest are still there');
      assert.equal(late.events + late.gaps[0].to - late.gaps[0].from + 1, tape.last - (meta ? 4 : 0));
      t.diagnostic(`gap ${late.gaps[0].from}-${late.gaps[0].to}, then ${late.events} events`);
      await reader.close();
    }
    await remove(sessionId, bare);
  });

  test('a reader that stalls and reads on: a gap in the stream, then the rest', async (t) => {
    const { client, sessionId, tape } = await opened(bare, { record: false, validate: 1000 });

    const { last: before, own } = await settled(tape, client);
    const turns = await bare.metric('acpd_turns_total');
    client.ws.pause();
    client.startPrompt(sessionId, 'flood 120000 300');
    await until(async () => await bare.metric('acpd_turns_total') > turns && await bare.metric('acpd_turns_running') === 0, 'the turn to end', 20000);
    client.ws.resume();
    await tape.until((x) => x.ends.length > 1, 20000);
    accounted(tape, before + 120002, [...own, before + 1]);
    assert.ok(tape.gaps.length >= 1, 'a reader that far behind must have lost something');
    t.diagnostic(`gaps ${tape.gaps.map((g) => `${g.from}-${g.to}`)}`);
    await client.close();
    await remove(sessionId, bare);
  });

  // Two sessions of one reader: the flood of the first runs out of memory, then the second has one event
  // that fills a batch alone. The turns belong to a connection that is gone, so no answers are in between.
  test('the gap is told even if the batch it would go with is full', async () => {
    const { client, sessionId, tape } = await opened(bare, { record: false, validate: 1000 });
    const big = await Tape.open(client);

    const { last: at } = await settled(tape, client);
    const [flood, huge] = [gate(bare), gate(bare)];
    client.startPrompt(sessionId, `${flood.step}; flood 120000 300; echo end; silence`);
    client.startPrompt(big.sessionId, `${huge.step}; hugeline 1000000; silence`);
    await client.close();
    const reader = await bare.client({ record: false, validate: 1000 });
    const both = [new Tape(sessionId), new Tape(big.sessionId)];
    for (const x of both)
      x.attach(reader);
    await reader.load(big.sessionId);
    await reader.load(sessionId);
    const events = await bare.metric('acpd_events_total');
    const came = (n) => until(async () => await bare.metric('acpd_events_total') >= events + n, `${n} events`);
    reader.ws.pause();
    flood.open();
    await came(120001);
    huge.open();
    await came(120002);
    reader.ws.resume();
    await both[0].until((x) => x.texts.get(x.last) === 'end', 20000);
    accounted(both[0], at + 120002);
    await reader.close();
    for (const id of [sessionId, big.sessionId])
      await remove(id, bare);
  });

  test('a client that did not announce acpd is told of no gap', async () => {
    const { client, sessionId } = await opened(bare, { record: false, validate: 1000 });

    await client.prompt(sessionId, 'flood 60000 300');
    await client.close();
    const plain = await bare.client({ init: { acpd: false }, validate: 1000 });
    await plain.load(sessionId);
    assert.deepEqual(plain.messages.filter((m) => m.method?.startsWith('_acpd/')), []);
    assert.ok(plain.updates.length > 1000);
    await plain.close();
    await remove(sessionId, bare);
  });
});
