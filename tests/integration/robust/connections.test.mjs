// SPDX-License-Identifier: Apache-2.0
// build: both
// slow
// Connections that come and go, that idle, or that are dead without saying so: they leave nothing behind
// and cost next to nothing; the sessions live on.

import assert from 'node:assert/strict';
import net from 'node:net';
import { test, describe, after } from 'node:test';
import { chance } from '../../lib/chance.mjs';
import { Daemon } from '../../lib/daemon.mjs';
import { assertGrown, mib } from '../../lib/memory.mjs';
import { OP, SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { Tape, ofSession } from './rig.mjs';

const MIB = 1048576;

after(assertNoViolations);

const daemon = (t, flags) => Daemon.startFor(t, { flags });

describe('connections that come and go', () => {
  test('1 000 of all kinds leave descriptors, memory and processes flat', { timeout: 240000 * SLOW }, async (t) => {
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
      garbage: async () => {
        const ws = await d.ws();

        ws.text('{"no":1');
        ws.bytes(Buffer.from([0xff, 0xff, 0xff]));
        ws.destroy();
      },
      halfFrame: async () => {
        const ws = await d.ws();

        ws.bytes(Buffer.from([0x81, 0xfe, 0x10, 0x00, 1, 2, 3, 4, 5]));
        ws.reset();
      },
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
      await until(async () => {
        const { sessions } = await janitor.call('session/list', {});

        await Promise.all(sessions.map(({ sessionId }) => janitor.call('session/delete', { sessionId })));
        return sessions.length === 0 && d.descendants().length === 0;
      }, 'all sessions to be gone', 20000);
      await until(async () => await d.metric('acpd_connections') === 1, 'all connections to be gone');
    }

    await many(500); // everything has been used many times
    const before = { fds: d.fdCount(), rss: d.rss() };
    await many(1000);
    await until(() => d.fdCount() <= before.fds, `descriptors ${before.fds} -> ${d.fdCount()}`);
    const now = { fds: d.fdCount(), rss: d.rss() };

    t.diagnostic(JSON.stringify(kinds));
    t.diagnostic(`fds ${before.fds} -> ${now.fds}, RSS ${mib(before.rss)} -> ${mib(now.rss)} MiB, ` +
      `processes ${d.ours().length}`);
    assertGrown(d, before.rss, now.rss, 2);
    await until(() => !d.ours().length, 'no process');
    await janitor.close();
    await d.stop();
  });

  test('100 idle connections and 100 idle sessions are cheap', { timeout: 240000 * SLOW }, async (t) => {
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
    const d = await daemon(t, { pingInterval: 1, pingTimeout: 3 });
    const dead = await d.client(), live = await d.client();
    const { sessionId } = await dead.newSession();
    let pings = 0;

    live.ws.on('frame', (f) => { pings += f.opcode === OP.ping; });
    dead.startPrompt(sessionId, 'echo one; sleep 8000; echo two');
    await dead.waitUpdate((u) => u.update.content?.text === 'one');
    dead.ws.autoPong = false;
    const at = performance.now();
    await deadline(dead.closed, 8000, 'the dead peer to be dropped');
    t.diagnostic(`dropped after ${Math.round(performance.now() - at)} ms`);
    await until(() => pings >= 3, 'pings go on');
    assert.ok(live.ws.isOpen, 'one that answers stays');
    assert.ok(ofSession(sessionId).length > 0, 'the harness works on');
    await live.load(sessionId);
    await live.waitUpdate((u) => u.update.content?.text === 'two');
    assert.deepEqual(live.chunks(sessionId), ['one', 'two']);
    live.assertClean();
    await live.close();
    await d.stop();
  });

  test('a client that takes a large message slowly is not dropped while it reads', async (t) => {
    const d = await daemon(t, { pingInterval: 1, pingTimeout: 3 });
    const slow = await d.client({ validate: 'none' });
    const { sessionId } = await slow.newSession();
    const pings = [];
    let chunk = 0;

    slow.ws.on('frame', (f) => {
      if (f.opcode === OP.ping)
        pings.push(chunk);
    });
    slow.on('update', () => { chunk = performance.now(); });
    slow.ws.socket.on('data', () => {
      slow.ws.pause();
      setTimeout(() => slow.ws.resume(), 30);
    });
    const began = performance.now();
    const turn = await slow.prompt(sessionId, `echo ${'x'.repeat(14 * MIB)}`);
    assert.equal(turn.stopReason, 'end_turn');
    assert.equal(slow.chunks(sessionId)[0].length, 14 * MIB);
    assert.ok(chunk - began > 4000, `it took longer than interval and time-out: ${Math.round(chunk - began)} ms`);
    await until(() => pings.at(-1) > began, 'a ping after it');
    await slow.close();
    await d.stop();
  });

  test('a peer that vanished without a word under a flood is dropped, and the flood is kept', async (t) => {
    const d = await daemon(t, { pingInterval: 1, pingTimeout: 3, backlogMax: 1024 * MIB });
    const gone = await d.client({ record: false, validate: 500 });
    const tape = await Tape.open(gone);

    gone.ws.pause(); // the socket stays up, as after a cut cable
    gone.startPrompt(tape.sessionId, 'flood 30000 300; sleep 1500; echo end');
    await until(async () => await d.metric('acpd_connections') === 0, 'the peer to be dropped', 12000);
    await until(async () => await d.metric('acpd_turns_running') === 0, 'the turn to end');
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
