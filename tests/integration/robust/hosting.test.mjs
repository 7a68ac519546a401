// SPDX-License-Identifier: Apache-2.0
// build: both
// slow
// Harnesses that crash, flood, babble or go silent: the turn ends once with a true reason, the session
// can be loaded and prompted again, a neighbour on the same connection works on, nothing survives.

import assert from 'node:assert/strict';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { assertGrown, calmAgain, mib, peakRss } from '../../lib/memory.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';
import { Neighbour, Tape, failing, ofSession, sessionGone, turnEnds } from './rig.mjs';

const MIB = 1048576;
let d, c, neighbour;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
  neighbour = await Neighbour.start(c);
});

after(async () => {
  try {
    await neighbour?.stop();
  } finally {
    await endInOrder(d, c);
  }
});

// The harness process of a session.
const leader = (sessionId) => ofSession(sessionId).find((p) => p.ppid === d.pid);

// After whatever happened: one end per turn, loadable, promptable, and gone with all its processes once deleted.
async function stillGood(sessionId, { turns = 1, replayed = /before/ } = {}) {
  const from = c.updates.length;

  assert.equal(turnEnds(c, sessionId).length, turns, 'each turn ended exactly once');
  await c.load(sessionId);
  const texts = c.updates.slice(from).filter((u) => u.sessionId === sessionId).map((u) => u.update.content?.text);
  assert.match(texts.join('\n'), replayed, 'the replay has what was said before');
  const mark = c.updates.length;
  const { stopReason } = await c.prompt(sessionId, 'echo alive');
  assert.equal(stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId, mark), ['alive']);
  await c.call('session/delete', { sessionId });
  await sessionGone(d, sessionId);
}

describe('a harness that dies or breaks the protocol mid-turn', () => {
  const cases = [
    ['exits', 'crash exit 3', 'harness_exit', /code 3/],
    ['exits with success', 'crash exit 0', 'harness_exit', /code 0/],
    ['segfaults', 'crash segv', 'harness_exit', /signal 11/],
    ['is killed', 'crash kill', 'harness_exit', /signal 9/],
    ['exits within a line', 'halfline exit 3', 'harness_exit', /code 3/],
    ['exits while a grandchild keeps its pipes', 'fork pipes; crash exit 4', 'harness_exit', /code 4/],
    ['closes its output and stays', 'closeout', 'harness_exit', /./],
    ['writes invalid JSON', 'badjson; silence', 'harness_protocol', /./],
    ['writes JSON that is too deep', 'deep 2000; silence', 'harness_protocol', /./],
    ['writes JSON that is far too deep', 'deep 2000000; silence', 'harness_protocol', /./],
    ['writes a batch', 'raw [{"jsonrpc":"2.0","method":"session/update","params":{}}]; silence', 'harness_protocol', /./],
  ];

  for (const [what, script, cls, text] of cases) {
    test(`${what}: the turn fails as ${cls}, and the session goes on`, async (t) => {
      const { sessionId } = await c.newSession();
      const old = leader(sessionId);

      assert.ok(old, 'a session has a process');
      await neighbour.during(async () => {
        const { error, ms } = await failing(c, sessionId, `echo before; ${script}`);

        t.diagnostic(`${Math.round(ms)} ms, ${error.rpcMessage}`);
        assert.equal(error.code, -32603);
        assert.equal(error.data.reason, 'TURN_FAILED');
        assert.equal(error.data.sessionId, sessionId);
        assert.equal(error.data.turn.class, cls);
        assert.match(error.data.turn.message, text);
        assert.equal(typeof error.data.turn.retryable, 'boolean');
        assert.equal(c.chunks(sessionId)[0], 'before', 'what it said before is there');
        const [end] = turnEnds(c, sessionId);
        assert.equal(end.error.class, cls);
        assert.equal(end.turn, 1);
        await d.gone([old]);
        await stillGood(sessionId, { turns: 1 });
      });
    });
  }

  test('is killed from outside while it is silent: the turn fails, which nothing else would end', async (t) => {
    const { sessionId } = await c.newSession();
    const failed = failing(c, sessionId, 'echo before; silence');

    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'before');
    const at = performance.now();
    process.kill(leader(sessionId).pid, 'SIGKILL');
    const { error } = await failed;
    const ms = performance.now() - at;

    t.diagnostic(`${Math.round(ms)} ms after the kill`);
    assert.equal(error.data.turn.class, 'harness_exit');
    assert.match(error.data.turn.message, /signal 9/);
    await stillGood(sessionId);
  });

  test('a queued prompt behind a crash is run by the next process', async () => {
    const { sessionId } = await c.newSession();
    const first = failing(c, sessionId, 'echo before; sleep 100; crash exit 5');
    const second = c.prompt(sessionId, 'echo second; RECALL');

    assert.equal((await first).error.data.turn.class, 'harness_exit');
    assert.equal((await second).stopReason, 'end_turn');
    assert.ok(c.chunks(sessionId).includes('second'));
    assert.match(c.chunks(sessionId).at(-1), /sleep 100/, 'the new process knows the session');
    await stillGood(sessionId, { turns: 2 });
  });

  test('crashes between turns: the next prompt works and nothing is reported', async () => {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo before');
    const old = leader(sessionId);
    process.kill(old.pid, 'SIGKILL');
    await d.gone([old]);
    const at = c.updates.length;
    const { stopReason } = await c.prompt(sessionId, 'echo before again');
    assert.equal(stopReason, 'end_turn');
    assert.deepEqual(c.chunks(sessionId, at), ['before again']);
    await stillGood(sessionId, { turns: 2 });
  });
});

describe('a harness that floods', () => {
  // The daemon reads as fast as it can; a client that cannot follow is closed with 1008 and comes back.
  async function readAll(tape, text, { count, stderr } = {}) {
    let client = tape.attach(await d.client({ record: false, validate: 5000 }));
    const { incarnation } = client.initializeResult.agentCapabilities._meta.acpd;
    let closes = 0;

    await client.load(tape.sessionId, { meta: { fromSeq: 1, incarnation } });
    client.startPrompt(tape.sessionId, text);
    const t = performance.now();
    while (!tape.ends.length) {
      await Promise.race([tape.until((x) => x.ends.length, 200000), client.closed]);
      if (client.ws.closeCode === undefined)
        continue;
      assert.equal(client.ws.closeCode, 1008);
      closes++;
      client = tape.attach(await d.client({ record: false, validate: 5000 }));
      await client.load(tape.sessionId, { meta: { fromSeq: tape.last + 1, incarnation } });
    }
    const seconds = (performance.now() - t) / 1000;
    tape.assertWhole();
    assert.equal(tape.numbered, count ?? 0);
    assert.equal(tape.ends[0].stopReason, 'end_turn', stderr);
    await client.close();
    return { seconds, closes };
  }

  test('1 M lines: complete, in order', { timeout: 240000 * SLOW }, async (t) => {
    const { sessionId } = await c.newSession();
    const tape = new Tape(sessionId, { flood: 1000000 });
    const base = d.rss();
    const { result, peak } = await peakRss(d, () => neighbour.during(() =>
      readAll(tape, 'flood 1000000 200', { count: 1000000 })));

    t.diagnostic(`${Math.round(1000000 / result.seconds)} updates/s to this reader, closed ${result.closes} times, ` +
      `RSS ${mib(base)} -> ${mib(peak)} MiB`);
    assertGrown(d, base, peak, 64);
    assert.ok(tape.missing.length <= 1, 'only the own prompt may be missing');
    await c.call('session/delete', { sessionId });
    await sessionGone(d, sessionId);
  });

  test('single lines, one write each: complete, in order', async () => {
    const { sessionId } = await c.newSession();
    const tape = new Tape(sessionId, { flood: 50000 });

    await neighbour.during(() => readAll(tape, 'lineflood 50000 200', { count: 50000 }));
    await c.call('session/delete', { sessionId });
  });

  test('stderr: read to the end, kept out of the log', async () => {
    const { sessionId } = await c.newSession();
    const logged = d.stderr.length;

    await neighbour.during(async () => {
      const { stopReason } = await c.prompt(sessionId, 'echo before; stderrflood 300000; echo done');

      assert.equal(stopReason, 'end_turn');
    });
    assert.deepEqual(c.chunks(sessionId), ['before', 'done']);
    await stillGood(sessionId);
    assert.ok(d.stderr.length - logged < 100000, `${d.stderr.length - logged} bytes of log`);
  });
});

describe('a harness that writes huge or torn lines', () => {
  const calm = async (base, t, peak) => {
    await calmAgain(d, base, 12);
    t.diagnostic(`RSS ${mib(base)} -> ${mib(peak)} -> ${mib(d.rss())} MiB`);
  };

  test('64 MiB in one line: typed error, bounded memory, given back', async (t) => {
    const { sessionId } = await c.newSession();
    const base = d.rss();
    const { result, peak } = await peakRss(d, () => neighbour.during(() =>
      failing(c, sessionId, `echo before; hugeline ${64 * MIB}; silence`)));

    assert.equal(result.error.data.turn.class, 'harness_protocol');
    assert.match(result.error.data.turn.message, /longer/);
    assertGrown(d, base, peak, 160);
    await stillGood(sessionId);
    await calm(base, t, peak);
  });

  test('a line that never ends: typed error, bounded memory', async (t) => {
    const { sessionId } = await c.newSession();
    const base = d.rss();
    const { result, peak } = await peakRss(d, () => neighbour.during(() =>
      failing(c, sessionId, `echo before; hugeline ${512 * MIB}; silence`)));

    assert.equal(result.error.data.turn.class, 'harness_protocol');
    assertGrown(d, base, peak, 160);
    await stillGood(sessionId);
    await calm(base, t, peak);
  });

  test('16 MiB in one line is delivered whole, and memory is given back', async (t) => {
    const { sessionId } = await c.newSession();
    const base = d.rss();
    const other = await d.client({ validate: 'none' });
    await other.load(sessionId);
    const { peak } = await peakRss(d, () => neighbour.during(() =>
      other.prompt(sessionId, `hugeline ${16 * MIB}; echo after`)));

    assert.deepEqual(other.chunks(sessionId).map((x) => x.length > 15 * MIB), [true, false]);
    assert.match(other.chunks(sessionId)[0], /^h+$/);
    await other.close();
    await calm(base, t, peak);
    await c.call('session/delete', { sessionId });
  });

  test('half a line, the rest later: one whole update', async () => {
    const { sessionId } = await c.newSession();

    await neighbour.during(() => c.prompt(sessionId, 'echo before; halfline 300; echo after'));
    assert.deepEqual(c.chunks(sessionId), ['before', 'the whole of a halfline', 'after']);
    await stillGood(sessionId);
  });

  test('half a line, then nothing: a cancel ends the turn', async () => {
    const { sessionId } = await c.newSession();
    const { answer } = c.startPrompt(sessionId, 'echo before; halfline hang');

    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'before');
    c.cancel(sessionId);
    const msg = await neighbour.during(() => answer);
    assert.equal(msg.result?.stopReason, 'cancelled', JSON.stringify(msg));
    await stillGood(sessionId);
  });
});

describe('a harness that answers wrongly or not at all', () => {
  for (const [what, script] of [
    ['twice', 'dup'], ['with ids nobody used', 'wrongid'], ['and speaks on after it', 'late'],
  ]) {
    test(`answers ${what}: the turn ends once, the process stays`, async () => {
      const { sessionId } = await c.newSession();
      const old = leader(sessionId);

      await neighbour.during(async () => {
        const { stopReason } = await c.prompt(sessionId, `echo before; ${script}; echo text`);

        assert.equal(stopReason, 'end_turn');
      });
      await sleep(50);
      assert.deepEqual(c.chunks(sessionId), ['before', 'text']);
      assert.equal((await c.prompt(sessionId, 'echo next')).stopReason, 'end_turn');
      assert.deepEqual(c.chunks(sessionId), ['before', 'text', 'next'], 'the second answer did not end the next turn');
      assert.ok(procs.alive(old));
      await stillGood(sessionId, { turns: 2 });
    });
  }

  test('never answers: a cancel ends the turn, the process is replaced', async () => {
    const { sessionId } = await c.newSession();
    const old = leader(sessionId);
    const { answer } = c.startPrompt(sessionId, 'echo before; silence');

    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'before');
    c.cancel(sessionId);
    assert.equal((await neighbour.during(() => answer)).result.stopReason, 'cancelled');
    await d.gone([old]);
    await stillGood(sessionId);
  });

  for (const script of ['nocancel', 'sleep 1']) {
    test(`says nothing at all (${script}): class empty_turn`, async () => {
      const { sessionId } = await c.newSession();
      const { error } = await neighbour.during(() => failing(c, sessionId, script));

      assert.equal(error.code, -32603);
      assert.equal(error.data.turn.class, 'empty_turn');
      assert.equal(turnEnds(c, sessionId)[0].error.class, 'empty_turn');
      await stillGood(sessionId, { replayed: new RegExp(script) });
    });
  }

  test('ends with an error: passed on, once', async () => {
    const { sessionId } = await c.newSession();
    const { error } = await failing(c, sessionId, 'echo before; error -32000 out of quota');

    assert.equal(error.code, -32603);
    assert.match(error.data.turn.message, /out of quota/);
    await stillGood(sessionId);
  });

  test('ignores SIGTERM and EOF: closed all the same, and gone when the close is answered', async (t) => {
    const { sessionId } = await c.newSession();
    const old = leader(sessionId);

    await c.prompt(sessionId, 'echo before; ignoreterm');
    const at = performance.now();
    await neighbour.during(() => c.call('session/close', { sessionId }));
    t.diagnostic(`${Math.round(performance.now() - at)} ms`);
    assert.ok(!procs.alive(old), 'gone when the close is answered');
    await stillGood(sessionId);
  });
});
