// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// Clients that do not read: they cost bounded memory, stall nobody else, are closed with 1008 past the
// limit, and lose nothing that they ask for again.

import assert from 'node:assert/strict';
import { test, describe, after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { assertGrown, calmAgain, mib, peakRss } from '../../lib/memory.mjs';
import { SLOW, assertNoViolations, frame, patience, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { Tape, quantile } from './rig.mjs';

const MIB = 1048576;

after(assertNoViolations);

const daemon = (t, flags) => Daemon.startFor(t, { flags });

// Prompts of another session, one after the other, while fn runs: the round-trip times.
async function latencies(client, sessionId, fn) {
  const times = [];
  let over = false;
  const asking = (async () => {
    while (!over) {
      const at = performance.now();

      await client.prompt(sessionId, 'echo tick');
      times.push(performance.now() - at);
      await sleep(2);
    }
  })();

  asking.catch(() => {});
  try {
    return { result: await fn(), times };
  } finally {
    over = true;
    await asking;
  }
}

const running = async (d) => await d.metric('acpd_turns_running') > 0;
// Some have begun, and none runs any more.
const turnsOver = (d) => until(async () => await d.metric('acpd_turns_total') > 0 && !await running(d), 'the turns to end', 45000);

describe('a reader that stalls', () => {
  test('while 300 MB are produced: bounded memory, nobody else waits, and it still gets all', {
    timeout: 240000 * SLOW,
  }, async (t) => {
    const COUNT = 900000;
    const d = await daemon(t, { backlogMax: 4 * 1024 * MIB });
    const lazy = await d.client({ record: false, validate: 5000 });
    const calm = await d.client();
    const busy = await d.client({ record: false, validate: 5000 });
    const tape = await Tape.open(lazy, { flood: COUNT });
    const second = await Tape.open(busy, { flood: 100000 });
    const { sessionId: quiet } = await calm.newSession();

    const alone = await latencies(calm, quiet, () => sleep(1000));
    const base = d.rss();
    const disturbed = await latencies(calm, quiet, () => peakRss(d, async () => {
      lazy.ws.pause();
      lazy.startPrompt(tape.sessionId, `flood ${COUNT} 330`);
      await busy.prompt(second.sessionId, 'flood 100000 200');
      await until(async () => (await d.metric('acpd_events_total')) > COUNT, 'the flood to be read', 45000);
    }));
    const { peak } = disturbed.result;
    const p99 = [quantile(alone.times, 0.99), quantile(disturbed.times, 0.99)].map((x) => Math.round(x * 10) / 10);

    t.diagnostic(`RSS ${mib(base)} -> ${mib(peak)} MiB; ` +
      `p99 beside it ${p99[0]} -> ${p99[1]} ms (${disturbed.times.length} prompts)`);
    assertGrown(d, base, peak, 16);
    assert.ok(disturbed.times.length >= 10, 'another client has its answers while the flood comes, and not behind it');
    second.assertWhole();
    assert.equal(second.numbered, 100000, "another session's flood is complete");
    const reading = await peakRss(d, async () => {
      lazy.ws.resume();
      await tape.until((x) => x.ends.length, 30000);
    });
    tape.assertWhole();
    assert.equal(tape.numbered, COUNT);
    assertGrown(d, base, reading.peak, 16, 'while it caught up');
    for (const client of [lazy, calm, busy])
      await client.close();
    await d.stop();
  });

  // Before: two was ready first, but one was served before it; both before the flood, which was served last.
  test('of many sessions: the longest not served comes first, and a flood last', async (t) => {
    const COUNT = 40000; // more than the sockets hold, and over long before a ping is missed
    const d = await daemon(t, { backlogMax: 4 * 1024 * MIB });
    const c = await d.client({ record: false, validate: 500 });
    const calm = await d.client();
    const tapes = [await Tape.open(c, { flood: COUNT }), await Tape.open(c), await Tape.open(c)];
    const [flood, one, two] = tapes.map((x) => x.sessionId);
    const { step, open } = gate(d);
    const seqOf = async (sessionId) => (await calm.call('_acpd/status', { sessionId })).sessions[0].seq;
    const heard = new Map(); // session -> how much of the flood had come before

    for (const id of [flood, one, two])
      await c.prompt(id, 'echo before');
    const begun = await seqOf(one);
    c.ws.pause();
    c.startPrompt(flood, `flood ${COUNT} 330; ${step}`);
    await until(async () => await seqOf(flood) > COUNT, 'the flood to be read', 45000);
    c.on('any', ({ params }) => {
      if (params?.sessionId && params.sessionId !== flood && !heard.has(params.sessionId))
        heard.set(params.sessionId, tapes[0].numbered);
    });
    for (const id of [two, one]) {
      c.startPrompt(id, `echo late; ${step}`);
      await until(async () => await seqOf(id) > begun + 1, 'it to say something');
    }
    c.ws.resume();
    await until(() => heard.size === 2, 'both to be heard');
    assert.deepEqual([...heard.keys()], [one, two], 'the longest not served first');
    assert.ok(heard.get(two) < COUNT, `${heard.get(two)} of the flood came before`);
    open();
    for (const x of tapes)
      await x.until((y) => y.ends.length === 2, 30000);
    for (const x of tapes)
      x.assertWhole();
    await c.close();
    await calm.close();
    await d.stop();
  });

  test('past --backlog-max: closed with 1008, sees it when it reads again, and a load loses nothing', async (t) => {
    const COUNT = 60000;
    const d = await daemon(t, { backlogMax: 2 * MIB });
    const lazy = await d.client({ record: false, validate: 500 });
    const tape = await Tape.open(lazy, { flood: COUNT });
    const { sessionId: other } = await lazy.newSession();
    const { incarnation } = lazy.initializeResult.agentCapabilities._meta.acpd;

    lazy.ws.pause();
    lazy.startPrompt(tape.sessionId, `flood ${COUNT} 300; echo end`);
    await d.waitLog((l) => l.mod === 'net' && /slow/.test(l.reason ?? ''), 10000);
    await turnsOver(d);
    await sleep(1000);
    lazy.ws.resume();
    const { code, reason } = await lazy.ws.waitClosed();
    assert.equal(code, 1008);
    assert.match(reason, /slow/);
    assert.equal(tape.ends.length, 0, 'it had not read to the end');
    assert.deepEqual(tape.faults, [], 'what it got was a clean start');
    const reader = await d.client({ record: false, validate: 500 });
    tape.attach(reader);
    await reader.load(tape.sessionId, { meta: { fromSeq: tape.last + 1, incarnation } });
    tape.assertWhole();
    assert.equal(tape.ends.length, 1);
    assert.equal(tape.numbered, COUNT);
    await reader.load(other);
    assert.equal((await reader.prompt(other, 'echo alive')).stopReason, 'end_turn');
    await reader.close();
    await d.stop();
  });

  test('that reads all the time is never too slow, however long the replay', async (t) => {
    const COUNT = 250000;
    const d = await daemon(t, { backlogMax: MIB });
    const owner = await d.client({ record: false, validate: 'none' });
    const { sessionId } = await owner.newSession();

    owner.startPrompt(sessionId, `flood ${COUNT} 330`);
    await until(async () => await running(d) || await d.metric('acpd_turns_total') > 0, 'it has come');
    owner.ws.reset();
    await turnsOver(d);
    const reader = await d.client({ record: false, validate: 1000 });
    const tape = new Tape(sessionId, { flood: COUNT });
    tape.attach(reader);
    // Reads a little at a time, as over a thin line: some seconds for what is far above the limit.
    const sip = setInterval(() => {
      reader.ws.pause();
      setTimeout(() => reader.ws.resume(), 20);
    }, 40);
    const at = performance.now();
    try {
      await reader.load(sessionId);
    } finally {
      clearInterval(sip);
    }
    t.diagnostic(`${mib(COUNT * 330)} MiB read in ${Math.round(performance.now() - at)} ms`);
    tape.assertWhole();
    assert.equal(tape.numbered, COUNT);
    await reader.close();
    await d.stop();
  });

  test('past --backlog-max and never back: its socket goes, the session stays', async (t) => {
    const d = await daemon(t, { backlogMax: MIB });
    const lazy = await d.client({ record: false, validate: 500 });
    const tape = await Tape.open(lazy);
    const sockets = d.socketCount();

    lazy.ws.pause();
    lazy.startPrompt(tape.sessionId, 'flood 60000 300');
    await turnsOver(d);
    await sleep(1200);
    lazy.ws.reset();
    await until(() => d.socketCount() < sockets, 'the descriptor to be closed');
    const reader = await d.client({ record: false, validate: 500 });
    const whole = new Tape(tape.sessionId, { flood: 60000 });
    whole.attach(reader);
    await reader.load(tape.sessionId);
    whole.assertWhole();
    assert.equal(whole.numbered, 60000);
    await reader.close();
    await d.stop();
  });

  test('that only sends: its own answers are bounded too', async (t) => {
    const d = await daemon(t);
    const c = await d.client({ record: false, validate: 'none' });
    const calm = await d.client();
    const base = d.rss();
    const call = { jsonrpc: '2.0', id: 'i'.repeat(1000), method: 'no/such/method' };
    const one = frame({ payload: JSON.stringify(call), maskKey: Buffer.alloc(4) });
    const many = Buffer.concat(Array(4000).fill(one)); // 4 MiB of calls, each answered with as much
    let sent = 0;

    c.ws.pause();
    const { peak } = await peakRss(d, async () => {
      const end = Date.now() + patience(4000), given = () => d.stderr.includes('slow'); // up

      while (Date.now() < end && !given() && sent < 400 * MIB && c.ws.socket.writable) {
        if (c.ws.socket.writableLength < 8 * MIB) {
          c.ws.bytes(many);
          sent += many.length;
        }
        await sleep(1);
      }
      await sleep(1500);
    });
    t.diagnostic(`${mib(sent)} MiB of calls sent, RSS ${mib(base)} -> ${mib(peak)} MiB`);
    assertGrown(d, base, peak, 96);
    const { sessionId } = await calm.newSession();
    assert.equal((await calm.prompt(sessionId, 'echo fine')).stopReason, 'end_turn');
    c.ws.resume();
    assert.equal((await c.ws.waitClosed()).code, 1008);
    await calmAgain(d, base, 8);
    await calm.close();
    await d.stop();
  });
});
