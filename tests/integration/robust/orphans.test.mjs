// SPDX-License-Identifier: Apache-2.0
// slow
// Nothing that a harness started survives its session or the daemon, however either ends. Grandchildren
// keep pipes, make sessions of their own, fork twice, ignore signals, clear their environment, name a session that there is not.
//
// Everything runs with a cgroup per session where the machine lets us make one, and without. Without
// one a process that forked twice and cleared its environment carries no mark of its session at all: it
// is found as a child that the kernel handed to the daemon, so only when no other session could own it,
// and not at all once the daemon was killed. Those cases say so.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { test, describe, before, after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { assertNoViolations, sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';
import { Neighbour, cgroupKind, failing, groupOf, ofSession } from './rig.mjs';

const HOWS = ['pipes', 'setsid', 'double', 'ignoreterm', 'clearenv', 'bogusenv'];
const unmarked = ({ how }) => how === 'clearenv' || how === 'bogusenv';

after(assertNoViolations);

// Starts one grandchild of each kind; returns them, and the harness itself, as stat() of now.
async function brood(client, sessionId, hows = HOWS, more = '') {
  const from = client.updates.length;

  await client.prompt(sessionId, `self; ${hows.map((h) => `fork ${h}`).join('; ')}${more}`);
  const pids = client.chunks(sessionId, from).map((text) => Number(text.match(/^(?:self|pid):(\d+)$/)?.[1]));
  assert.equal(pids.length, hows.length + 1);
  const found = pids.map((pid) => procs.stat(pid));
  assert.ok(found.every(Boolean), 'all were started');
  return found.map((p, i) => ({ ...p, how: i ? hows[i - 1] : 'harness' }));
}

const named = (list) => list.map((p) => `${p.how} ${p.pid}`);
const left = (family) => named(family.filter((p) => procs.alive(p)));

// promised: by the answer, or the exit, that has just come. Else the sweep may still be at work.
async function allGone(family, what, { promised = false } = {}) {
  if (!promised)
    await until(() => !left(family).length, `${what}: ${left(family)}`).catch(() => {});
  assert.deepEqual(left(family), [], what);
}

// No process carries a mark of the daemon or its run, and the daemon has no zombies.
async function noMarks(d) {
  const marked = () => procs.withEnv((env) => env.ACPD_TEST_RUN === d.run || d.owners.has(env.ACPD_OWNER))
    .filter((p) => procs.alive(p)).map((p) => `${p.pid} ${p.comm}`);

  await until(() => !marked().length, 'no process carries a mark of this daemon')
    .catch(() => assert.deepEqual(marked(), [], 'a process carries a mark of this daemon'));
}

// None that stays: what removes files beside the loop ends at any time.
const noZombies = (d) => until(() => !d.descendants().some((p) => p.state === 'Z'), 'no zombie');

function killed(family) {
  for (const p of family.filter(procs.alive))
    procs.signal(p.pid, 'SIGKILL');
}

function suite(name, { start, cgroup, skip = false }) {
  describe(name, { skip }, () => {
    const families = []; // for the last resort

    async function fresh(t, opts = {}) {
      const d = await start(opts);

      t.after(async () => {
        await d.discard();
        killed(families.flat());
        dropPlain(d);
      });
      const kind = await cgroupKind(d);
      if (cgroup && kind === 'none')
        t.skip('this machine lets us make no cgroup');
      else
        assert.equal(kind !== 'none', cgroup, `cgroup kind ${kind}`);
      return { d, c: await d.client(), usable: !(cgroup && kind === 'none') };
    }

    const born = async (...args) => {
      const family = await brood(...args);

      families.push(family);
      return family;
    };

    describe('the end of a session', () => {
      let d, c;

      before(async () => {
        d = await start();
        c = await d.client();
      });
      after(async () => {
        try {
          await d.stop();
        } finally {
          await d.discard();
          killed(families.flat());
          dropPlain(d);
        }
      });

      for (const [what, end] of [
        ['session/close', (sessionId) => c.call('session/close', { sessionId })],
        ['session/delete', (sessionId) => c.call('session/delete', { sessionId })],
        ['a crash of the harness', (sessionId) => failing(c, sessionId, 'crash exit 1')],
        ['a kill of the harness', (sessionId) => failing(c, sessionId, 'crash kill')],
        ['a protocol fault', (sessionId) => failing(c, sessionId, 'badjson; silence')],
        ['a cancel that the harness ignores', async (sessionId) => {
          const { answer } = c.startPrompt(sessionId, 'echo begun; nocancel; silence');
          await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'begun');
          c.cancel(sessionId);
          assert.equal((await answer).result.stopReason, 'cancelled');
        }],
      ]) {
        test(`${what}: all kinds of grandchildren are gone`, async () => {
          const { sessionId } = await c.newSession();
          const family = await born(c, sessionId);

          await end(sessionId);
          await allGone(family, what, { promised: what.startsWith('session/') });
          await until(() => !ofSession(sessionId).length, 'no mark of the session');
          await noZombies(d);
          await c.call('session/delete', { sessionId });
        });
      }

      test('the harness and its children all ignore SIGTERM and EOF: gone when the close is answered', async () => {
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId, HOWS, '; ignoreterm');

        await c.call('session/close', { sessionId });
        await allGone(family, 'session/close', { promised: true });
        await c.call('session/delete', { sessionId });
      });

      test('many at once: 40 grandchildren of each of two sessions', async () => {
        const hows = HOWS.slice(0, 5).flatMap((h) => Array(8).fill(h));
        const two = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];
        const family = [...await born(c, two[0], hows), ...await born(c, two[1], hows)];

        await Promise.all(two.map((sessionId) => c.call('session/delete', { sessionId })));
        await allGone(family, 'session/delete');
        await noZombies(d);
      });

      test('another session keeps its own grandchildren, a neighbour works on', async () => {
        const neighbour = await Neighbour.start(c);
        const keeper = (await c.newSession()).sessionId;
        // Without a cgroup nothing says whose child an unmarked stray is while other sessions run.
        const blind = (p) => !cgroup && unmarked(p);
        const kept = await born(c, keeper, HOWS.filter((how) => !blind({ how })));
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId);

        await neighbour.during(() => c.call('session/close', { sessionId }));
        await allGone(family.filter((p) => !blind(p)), 'session/close beside others');
        assert.deepEqual(left(kept), named(kept), 'the others lost nothing');
        await neighbour.stop();
        for (const id of [neighbour.sessionId, keeper, sessionId])
          await c.call('session/delete', { sessionId: id });
        await allGone([...kept, ...family.filter(blind)], 'after the last session');
      });

      test('strays of a dead harness do not outlive the restart of it', async () => {
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId);

        const failed = failing(c, sessionId, 'crash exit 1');
        const again = c.prompt(sessionId, 'self');
        await failed;
        await again;
        await allGone(family, 'the next prompt');
        const now = await born(c, sessionId);
        await c.call('session/delete', { sessionId });
        await allGone(now, 'session/delete', { promised: true });
      });
    });

    describe('the end of a turn', () => {
      test('cancelled: what it started is gone; the harness, and what was there before, live on', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const { sessionId } = await c.newSession();
        const before = await born(c, sessionId);
        await sleep(50); // start times are told in 10 ms
        const from = c.updates.length;
        // Without a cgroup nothing says whose child one is whose marks are gone.
        const hows = HOWS.filter((how) => cgroup || !['clearenv', 'bogusenv'].includes(how));
        const { answer } = c.startPrompt(sessionId, `${hows.map((how) => `fork ${how}`).join('; ')}; echo begun; sleep 60000`);
        await c.waitUpdate((u) => u.update.content?.text === 'begun', { from });
        const pids = c.chunks(sessionId, from).filter((text) => text.startsWith('pid:')).map((text) => Number(text.slice(4)));
        const family = pids.map((pid, i) => ({ ...procs.stat(pid), how: hows[i] }));
        families.push(family);
        assert.equal(family.length, hows.length);
        c.cancel(sessionId);
        assert.equal((await answer).result.stopReason, 'cancelled');
        const next = c.startPrompt(sessionId, 'fork setsid; fork double; echo next; sleep 2500');
        await allGone(family, 'session/cancel');
        assert.deepEqual(left(before), named(before), 'the harness and its older children');
        assert.equal((await next.answer).result.stopReason, 'end_turn');
        const later = c.chunks(sessionId).slice(-3, -1).map((text) => procs.stat(Number(text.slice(4))));
        families.push(later);
        assert.ok(later.length === 2 && later.every((p) => p && procs.alive(p)), 'what the next turn started lives');
        await c.call('session/delete', { sessionId });
        await d.stop({ keep: true });
      });

      // What is looked for after a cancel is looked for by a thread, while no turn runs as well.
      test('cancelled: no command of the turns that follow at once is taken for one of it', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const { sessionId } = await c.newSession();

        for (let i = 0; i < 5; i++) {
          const from = c.updates.length;
          const { answer } = c.startPrompt(sessionId, 'echo begun; sleep 60000');

          await c.waitUpdate((u) => u.update.content?.text === 'begun', { from });
          c.cancel(sessionId);
          await answer;
          for (let k = 0; k < 6; k++) {
            const begin = c.updates.length;

            await c.prompt(sessionId, 'run sleep 0.05\\; echo alive');
            assert.equal(c.chunks(sessionId, begin).join(''), 'run:0:alive\n');
          }
        }
        await c.call('session/delete', { sessionId });
        await d.stop({ keep: true });
      });
    });

    describe('the end of the daemon', () => {
      for (const signal of ['SIGTERM', 'SIGINT']) {
        for (const how of ['idle', 'in the middle of turns', 'with harnesses that ignore SIGTERM']) {
          test(`${signal}, ${how}: nothing is left`, async (t) => {
            const { d, c, usable } = await fresh(t);
            const family = [];
            const sessions = [];

            if (!usable)
              return;
            for (let i = 0; i < 3; i++) {
              sessions.push((await c.newSession()).sessionId);
              family.push(...await born(c, sessions[i], HOWS, how.includes('ignore') ? '; ignoreterm' : ''));
            }
            const open = how.includes('turns') ? sessions.map((s) => c.request('session/prompt',
              c.promptParams(s, 'echo begun; silence')).answer) : [];
            if (open.length)
              await sleep(100);
            await d.stop({ signal, keep: true });
            await allGone(family, signal, { promised: true });
            await noMarks(d);
            for (const answer of open) {
              const { error } = await answer;

              assert.equal(error.code, -32603, JSON.stringify(error));
              assert.equal(error.data.turn?.class ?? error.data.reason, error.data.turn ? 'shutdown' : 'SHUTTING_DOWN');
            }
          });
        }
      }

      test('SIGTERM after two harnesses died in the same moment: their strays are gone', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const sessions = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];
        const families = [await born(c, sessions[0], ['clearenv']), await born(c, sessions[1], ['clearenv'])];
        // Stopped, so that it learns of both deaths at once.
        d.child.kill('SIGSTOP');
        for (const [harness] of families)
          process.kill(harness.pid, 'SIGKILL');
        await sleep(50);
        d.child.kill('SIGCONT');
        await sleep(300);
        t.diagnostic(`before SIGTERM: ${left(families.flat())}`);
        await d.stop({ keep: true });
        await allGone(families.flat(), 'SIGTERM', { promised: true });
      });

      test('two signals in a row: the same', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const family = await born(c, (await c.newSession()).sessionId, HOWS, '; ignoreterm');
        d.child.kill('SIGTERM');
        await sleep(100);
        await d.stop({ keep: true, code: undefined });
        await allGone(family, 'SIGTERM twice', { promised: true });
        await noMarks(d);
      });

      for (const how of ['idle', 'in the middle of turns']) {
        test(`kill -9, ${how}: nothing is left once it runs again`, async (t) => {
          const { d, c, usable } = await fresh(t);
          const family = [];

          if (!usable)
            return;
          for (let i = 0; i < 2; i++)
            family.push(...await born(c, (await c.newSession()).sessionId, HOWS, i ? '; ignoreterm' : ''));
          if (how !== 'idle')
            c.startPrompt((await c.newSession()).sessionId, 'flood 100000000 200');
          await sleep(how === 'idle' ? 0 : 200);
          await d.kill9();
          t.diagnostic(`alive after the kill: ${left(family).length} of ${family.length}`);
          await d.restart();
          const blind = family.filter((p) => !cgroup && unmarked(p));
          await allGone(family.filter((p) => !blind.includes(p)), 'the next start', { promised: true });
          await noMarks(d);
          t.diagnostic(`without mark and parent: ${blind.length ? left(blind) : 'none'}`);
          killed(blind);
          const again = await d.client();
          const { sessionId } = await again.newSession();
          assert.equal((await again.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
          await d.stop({ keep: true });
        });
      }

      test('kill -9 in the middle of stopping: nothing is left once it runs again', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId, ['setsid', 'double', 'ignoreterm'], '; ignoreterm');
        d.child.kill('SIGTERM');
        await sleep(300);
        await d.kill9();
        await d.restart();
        await allGone(family, 'the next start', { promised: true });
        await noMarks(d);
        await d.stop({ keep: true });
      });

      test('a start on a copy of the state of a running daemon kills nothing of it', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId);
        const copy = path.join(d.dir, 'copy');

        assert.equal(spawnSync('cp', ['-a', d.stateDir, copy]).status, 0);
        const second = await start({ flags: { state: copy } });
        t.after(async () => {
          await second.discard();
          dropPlain(second);
        });
        assert.deepEqual(left(family), named(family));
        assert.equal((await c.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
        await second.stop();
        assert.deepEqual(left(family), named(family));
        // its number alone is not the daemon's: whoever has it now began at another time
        await d.kill9();
        const owner = path.join(d.stateDir, 'owner');
        fs.writeFileSync(owner, fs.readFileSync(owner, 'utf8').replace(/^\d+ /m, `${process.pid} `));
        await d.restart();
        await allGone(family.filter((p) => cgroup || !unmarked(p)), 'the next start', { promised: true });
        killed(family);
        await d.stop({ keep: true });
      });

      if (cgroup) {
        test('a start removes the empty cgroups of daemons that were killed, and of no other', async (t) => {
          const { d, c, usable } = await fresh(t);
          const other = await start();

          t.after(() => other.discard());
          if (!usable)
            return;
          // made a moment after the start, like the removal of others
          await until(() => groupOf(other), 'it has one');
          const groups = [d, other].map(groupOf);

          await born(c, (await c.newSession()).sessionId, ['setsid']);
          // a process in it: daemons of other tests, which may start at any moment, do not remove it
          const sleeper = spawn('sleep', ['1000']);
          t.after(() => sleeper.kill('SIGKILL'));
          const held = path.join(groups[0], 'held');
          fs.mkdirSync(held);
          fs.writeFileSync(path.join(held, 'cgroup.procs'), `${sleeper.pid}`);
          await d.kill9();
          killed(families.flat()); // none of it is left, but nobody clears up: its state is never used again
          await until(() => !left(families.flat()).length, 'killed');
          assert.ok(fs.existsSync(groups[0]));
          sleeper.kill('SIGKILL');
          await once(sleeper, 'exit');
          const third = await start();
          t.after(() => third.discard());
          await until(() => !fs.existsSync(groups[0]), 'it is removed');
          await until(() => groupOf(third), 'it has looked at all');
          assert.ok(fs.existsSync(groups[1]));
          const alive = await other.client();
          await alive.newSession();
          assert.equal(fs.readdirSync(groups[1], { withFileTypes: true }).filter((e) => e.isDirectory()).length, 1);
          await alive.close();
          await other.stop();
          await third.stop();
          assert.ok(!fs.existsSync(groups[1]));
        });
      }

      test('a start on the state of a running daemon is refused and kills nothing', async (t) => {
        const { d, c, usable } = await fresh(t);

        if (!usable)
          return;
        const { sessionId } = await c.newSession();
        const family = await born(c, sessionId, ['setsid', 'double']);
        const second = await Daemon.startFor(t, { flags: { state: d.stateDir }, wait: false });
        const exit = await second.exited;
        assert.equal(exit.code, 1, second.stderr);
        assert.match(second.stderr, /another daemon/);
        assert.deepEqual(left(family), named(family));
        assert.equal((await c.prompt(sessionId, 'echo works')).stopReason, 'end_turn');
        await d.stop({ keep: true });
        await allGone(family, 'SIGTERM', { promised: true });
      });
    });
  });
}

suite('with a cgroup per session', { start: (opts) => Daemon.start(opts), cgroup: true, skip: process.getuid() !== 0 && 'needs root' });
suite('without cgroups', { start: startPlain, cgroup: false });
