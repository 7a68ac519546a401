// SPDX-License-Identifier: Apache-2.0
// Clients that do not read, do not answer, or come and go: they cost bounded memory, stall nobody else,
// lose nothing that they ask for again, and leave nothing behind.

import assert from 'node:assert/strict';
import net from 'node:net';
import { test, describe, after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { OP, SLOW, assertNoViolations, deadline, frame, sleep } from '../../lib/rawws.mjs';
import { Tape, assertGrown, calmAgain, chance, eventually, metric, mib, ofSession, peakRss, quantile } from './rig.mjs';

const MIB = 1048576;

after(assertNoViolations);

async function daemon(t, flags = {}) {
  const d = await Daemon.start({ flags });

  t.after(() => d.discard());
  return d;
}

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

const turnsOver = (d, n) => eventually(async () => await metric(d, 'acpd_turns_running') === n, 'the turns to end', 45000);

describe('a reader that stalls', () => {
  test('while 300 MB are produced: bounded memory, nobody else waits, and it still gets all', { timeout: 58000 * SLOW }, async (t) => {
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
      await eventually(async () => (await metric(d, 'acpd_events_total')) > COUNT, 'the flood to be read', 45000);
    }));
    const { peak } = disturbed.result;
    const p99 = [quantile(alone.times, 0.99), quantile(disturbed.times, 0.99)].map((x) => Math.round(x * 10) / 10);

    t.diagnostic(`RSS ${mib(base)} -> ${mib(peak)} MiB; p99 beside it ${p99[0]} -> ${p99[1]} ms (${disturbed.times.length} prompts)`);
    assertGrown(d, base, peak, 16);
    assert.ok(p99[1] < 500 * SLOW, `another client's p99 is ${p99[1]} ms`);
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
    await turnsOver(d, 0);
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
    const COUNT = 400000;
    const d = await daemon(t, { backlogMax: MIB });
    const owner = await d.client({ record: false, validate: 'none' });
    const { sessionId } = await owner.newSession();

    owner.startPrompt(sessionId, `flood ${COUNT} 330`);
    await sleep(50);
    owner.ws.reset();
    await turnsOver(d, 0);
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
    const fds = d.fdCount();

    lazy.ws.pause();
    lazy.startPrompt(tape.sessionId, 'flood 60000 300');
    await turnsOver(d, 0);
    await sleep(1200);
    lazy.ws.reset();
    await eventually(() => d.fdCount() < fds, 'the descriptor to be closed');
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
      const end = Date.now() + 4000;

      while (Date.now() < end && sent < 400 * MIB && c.ws.socket.writable) {
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

describe('connections that come and go', () => {
  test('1 000 of all kinds leave descriptors, memory and processes flat', { timeout: 58000 * SLOW }, async (t) => {
    const d = await daemon(t);
    const random = chance(7);
    const janitor = await d.client();
    const kinds = {};

    async function handshakeOnly(bytes) {
      const socket = net.connect(d.port, '127.0.0.1');

      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(bytes);
      await sleep(1);
      if (random() < 0.5)
        socket.resetAndDestroy();
      else
        socket.destroy();
    }

    const visits = {
      empty: () => handshakeOnly(''),
      half: () => handshakeOnly('GET /acp HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgr'),
      unauthorized: async () => { (await d.ws({ token: 'wrong-token-wrong-token' })).destroy(); },
      clean: async () => { const ws = await d.ws(); ws.close(1000); await ws.closed; },
      reset: async () => { (await d.ws()).reset(); },
      initialized: async () => { await (await d.client()).close(); },
      lost: async () => { (await d.client()).ws.reset(); },
      garbage: async () => { const ws = await d.ws(); ws.text('{"no":1'); ws.bytes(Buffer.from([0xff, 0xff, 0xff])); ws.destroy(); },
      halfFrame: async () => { const ws = await d.ws(); ws.bytes(Buffer.from([0x81, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5])); ws.reset(); },
      session: async () => {
        const c = await d.client();
        const { sessionId } = await c.newSession();

        if (random() < 0.5)
          await c.prompt(sessionId, 'echo hello');
        c.ws.reset();
      },
      hasty: async () => { // gone before its session is there
        const c = await d.client({ validate: 'none' });

        c.newSession().catch(() => {});
        await sleep(random() * 4);
        c.ws.reset();
      },
    };

    async function many(n) {
      for (let done = 0; done < n;) {
        const round = Array.from({ length: Math.min(10, n - done) }, () => {
          const rare = random() < 0.06;
          const names = Object.keys(visits).filter((k) => rare === ['session', 'hasty'].includes(k));
          return names[Math.floor(random() * names.length)];
        });

        await Promise.all(round.map((kind) => {
          kinds[kind] = (kinds[kind] ?? 0) + 1;
          return visits[kind]();
        }));
        done += round.length;
      }
      await tidy();
    }

    // Sessions outlive their sockets by design: they are deleted here, as an orchestrator would.
    async function tidy() {
      await eventually(async () => {
        const { sessions } = await janitor.call('session/list', {});

        await Promise.all(sessions.map(({ sessionId }) => janitor.call('session/delete', { sessionId })));
        return sessions.length === 0 && d.descendants().length === 0;
      }, 'all sessions to be gone', 20000);
      await eventually(async () => await metric(d, 'acpd_connections') === 1, 'all connections to be gone');
    }

    await many(500); // everything has been used many times
    const before = { fds: d.fdCount(), rss: d.rss() };
    await many(1000);
    await eventually(() => d.fdCount() <= before.fds, `descriptors ${before.fds} -> ${d.fdCount()}`);
    const now = { fds: d.fdCount(), rss: d.rss() };

    t.diagnostic(JSON.stringify(kinds));
    t.diagnostic(`fds ${before.fds} -> ${now.fds}, RSS ${mib(before.rss)} -> ${mib(now.rss)} MiB, processes ${d.ours().length}`);
    assertGrown(d, before.rss, now.rss, 2);
    assert.deepEqual(d.ours(), []);
    await janitor.close();
    await d.stop();
  });

  test('100 idle connections and 100 idle sessions are cheap', { timeout: 58000 * SLOW }, async (t) => {
    const d = await daemon(t);
    const clients = [];

    for (let i = 0; i < 10; i++)
      clients.push(await d.client()); // warm
    const c = clients[0];
    await c.newSession();
    await sleep(300);
    const start = { rss: d.rss(), pss: d.pss() };
    for (let i = 0; i < 100; i++)
      clients.push(await d.client());
    const connected = { rss: d.rss(), pss: d.pss() };
    const sessions = [];
    for (let i = 0; i < 100; i++)
      sessions.push((await c.newSession()).sessionId);
    await Promise.all(sessions.map((s) => c.prompt(s, 'echo hello; tool t1 read Look')));
    await sleep(6500); // idle sessions give their memory back
    const opened = { rss: d.rss(), pss: d.pss() };
    const each = (a, b) => Math.round((b.rss - a.rss) / 1024 / 100 * 10) / 10;
    const cpu = d.cpu();

    await sleep(1000);
    t.diagnostic(`per connection ${each(start, connected)} KiB, per session ${each(connected, opened)} KiB; ` +
      `RSS ${mib(start.rss)} -> ${mib(connected.rss)} -> ${mib(opened.rss)} MiB, PSS ${mib(opened.pss)} MiB; ` +
      `CPU of an idle second ${Math.round((d.cpu() - cpu) * 1000)} ms`);
    assertGrown(d, start.rss, connected.rss, 100 * 16 / 1024, '(100 connections, twice the bar of 8 KiB)');
    assertGrown(d, connected.rss, opened.rss, 100 * 64 / 1024, '(100 sessions, twice the bar of 32 KiB)');
    assert.ok(d.cpu() - cpu < 0.2 * SLOW, 'idle means idle');
    assert.equal((await c.prompt(sessions[57], 'echo alive')).stopReason, 'end_turn');
    await Promise.all(sessions.map((sessionId) => c.call('session/delete', { sessionId })));
    for (const client of clients)
      await client.close();
    await d.stop();
  });
});

describe('ping and pong', () => {
  test('a client that does not answer pings is dropped, its session lives on', async (t) => {
    const d = await daemon(t, { pingInterval: 1, pingTimeout: 1 });
    const dead = await d.client({ autoPong: false });
    const live = await d.client();
    const { sessionId } = await dead.newSession();
    let pings = 0;

    live.ws.on('frame', (f) => { pings += f.opcode === OP.ping; });
    dead.startPrompt(sessionId, 'echo one; sleep 6000; echo two');
    await dead.waitUpdate((u) => u.update.content?.text === 'one');
    const at = performance.now();
    await deadline(dead.closed, 8000, 'the dead peer to be dropped');
    t.diagnostic(`dropped after ${Math.round(performance.now() - at)} ms`);
    await sleep(2500);
    assert.ok(live.ws.isOpen, 'one that answers stays');
    assert.ok(pings >= 3, `${pings} pings in 4 s`);
    assert.ok(ofSession(sessionId).length > 0, 'the harness works on');
    await live.load(sessionId);
    await live.waitUpdate((u) => u.update.content?.text === 'two');
    assert.deepEqual(live.chunks(sessionId), ['one', 'two']);
    live.assertClean();
    await live.close();
    await d.stop();
  });

  test('a peer that vanished without a word under a flood is dropped, and the flood is kept', async (t) => {
    const d = await daemon(t, { pingInterval: 1, pingTimeout: 1, backlogMax: 1024 * MIB });
    const gone = await d.client({ record: false, validate: 500 });
    const tape = await Tape.open(gone);

    gone.ws.pause(); // the socket stays up, as after a cut cable
    gone.startPrompt(tape.sessionId, 'flood 30000 300; sleep 1500; echo end');
    await eventually(async () => await metric(d, 'acpd_connections') === 0, 'the peer to be dropped', 12000);
    await turnsOver(d, 0);
    const reader = await d.client({ record: false, validate: 500 });
    const whole = new Tape(tape.sessionId, { flood: 30000 });
    whole.attach(reader);
    await reader.load(tape.sessionId);
    whole.assertWhole();
    assert.equal(whole.numbered, 30000);
    assert.equal(whole.ends[0].stopReason, 'end_turn');
    gone.ws.destroy();
    await reader.close();
    await d.stop();
  });
});
