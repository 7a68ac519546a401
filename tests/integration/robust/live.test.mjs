// SPDX-License-Identifier: Apache-2.0
// Which harnesses live: idle ones are stopped, only so many live at a time, the others wait in order; and which sessions there may be.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, describe } from 'node:test';
import { chance } from '../../lib/chance.mjs';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
import { deadline, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { homeOf, journalOf, turnsOf } from '../ledger.mjs';

const start = (t, flags, opts) => Daemon.startFor(t, { ...opts, flags });
const live = (d) => d.descendants().filter((p) => p.comm === 'stub-agent').length;
const statusOf = async (c, sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0];
const stopped = (d, n = 0) => until(() => live(d) === n, `${n} harnesses, there are ${live(d)}`);
const heard = (c, text) => c.waitUpdate((u) => u.update.content?.text === text);

// A turn that runs until it is let go.
async function occupy(c, sessionId, name = 'begun') {
  const turn = c.startPrompt(sessionId, `echo ${name}; silence`);

  await heard(c, name);
  return turn;
}

describe('--harness-idle', () => {
  test('without turn, question and driver the harness is stopped; the next prompt starts it again with its context', async (t) => {
    const d = await start(t, { harnessIdle: 1 });
    const a = await d.client();
    const { sessionId } = await a.newSession({ meta: { mode: 'code' } });

    await a.prompt(sessionId, 'echo one');
    await sleep(1500);
    assert.equal(live(d), 1, 'somebody drives it');
    await a.close();
    await stopped(d);
    const c = await d.client();
    assert.equal((await statusOf(c, sessionId)).state, 'open');
    assert.equal(await d.metric('acpd_harnesses_stopped_idle_total'), 1);
    await c.load(sessionId);
    const { modes, _meta } = await c.load(sessionId);
    assert.deepEqual([modes.currentModeId, _meta.acpd.context], ['code', 'kept']);
    await c.prompt(sessionId, 'RECALL');
    assert.match(c.chunks(sessionId).at(-1), /echo one/);
    c.assertClean();
    await c.close();
    await d.stop();
  });

  test('a turn and a question keep it, though nobody drives', async (t) => {
    const d = await start(t, { harnessIdle: 1 });
    const a = await d.client();
    const { sessionId } = await a.newSession();

    a.startPrompt(sessionId, 'perm p; echo asked');
    await a.waitRequest('session/request_permission');
    await a.close();
    await sleep(1600);
    assert.equal(live(d), 1);
    const c = await d.client();
    c.onPermission('allow');
    await c.load(sessionId);
    await c.waitUpdate((u) => u.update.content?.text === 'permission:allow');
    await c.close();
    await stopped(d);
    await d.stop();
  });

  test('a harness that cannot take up its context is left alone', async (t) => {
    const d = await start(t, { harnessIdle: 1, harnessMax: 1, harnessWait: 1 }, { stub: { args: ['--no-load'] } });
    const a = await d.client();
    const { sessionId } = await a.newSession();

    await a.prompt(sessionId, 'echo one');
    await a.close();
    const c = await d.client();
    assert.equal((await c.fails('session/new', { cwd: d.workDir, mcpServers: [] })).data.reason, 'TOO_MANY_HARNESSES');
    await sleep(700);
    assert.equal(live(d), 1);
    await c.load(sessionId);
    await c.prompt(sessionId, 'RECALL');
    assert.match(c.chunks(sessionId).at(-1), /echo one/);
    await d.stop();
  });

  test('a session that never had a turn is removed with its files; one that had is kept', async (t) => {
    const d = await start(t, { harnessIdle: 1 });
    const a = await d.client();
    const empty = (await a.newSession()).sessionId;
    const { sessionId } = await a.newSession();
    const driven = await d.client();
    const other = (await driven.newSession()).sessionId;

    await a.prompt(sessionId, 'echo one');
    await a.close();
    await stopped(d, 1);
    await until(() => !fs.existsSync(journalOf(d, empty)) && !fs.existsSync(homeOf(d, empty)), 'its files are gone');
    const listed = (await driven.call('session/list', {})).sessions.map((s) => s.sessionId).sort();
    assert.deepEqual(listed, [sessionId, other].sort());
    await until(async () => await d.metric('acpd_sessions_removed_empty_total') === 1, 'it is counted');
    assert.equal((await driven.prompt(other, 'echo mine')).stopReason, 'end_turn');
    await d.stop();
  });
});

describe('--harness-max', () => {
  test('the harness longest unused goes first, driver or not; mode and context come back with it', async (t) => {
    const d = await start(t, { harnessMax: 2 });
    const c = await d.client();
    const [a, b] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];

    await c.prompt(a, 'echo first of a');
    await c.prompt(b, 'echo first of b');
    await c.prompt(a, 'echo second of a');
    const e = (await c.newSession()).sessionId;
    const running = async () => (await c.call('_acpd/status', {})).sessions.filter((s) => s.pid).map((s) => s.sessionId).sort();
    assert.deepEqual(await running(), [a, e].sort(), 'b made room');
    await c.call('session/set_mode', { sessionId: b, modeId: 'code' });
    assert.deepEqual(await running(), [b, e].sort(), 'a setting wakes it, a made room');
    await c.prompt(b, 'RECALL');
    assert.match(c.chunks(b).at(-1), /first of b/);
    assert.equal((await statusOf(c, b)).pid > 0, true);
    await c.prompt(a, 'RECALL');
    assert.match(c.chunks(a).at(-1), /first of a.*second of a/);
    await c.prompt(e, 'echo never asked before'); // its harness had gone before it was ever asked
    const { harnesses } = await c.call('_acpd/status', {});
    assert.equal(harnesses.max, 2);
    assert.equal(harnesses.live, 2);
    assert.ok(harnesses.stoppedForRoom >= 4);
    assert.equal(harnesses.refused, 0);
    c.assertClean();
    await d.stop();
  });

  test('all at work: prompts and new sessions wait in order, say so, and go on when one falls idle', async (t) => {
    const d = await start(t, { harnessMax: 1 });
    const c = await d.client();
    const [a, b] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];
    const { answer } = await occupy(c, a);
    const order = [];
    const note = (name) => (x) => { order.push(name); return x; };

    const one = c.prompt(b, 'echo b').then(note('b'));
    await until(async () => (await statusOf(c, b)).waiting === 'harness', 'b waits');
    const two = c.newSession().then(note('new'));
    const three = c.prompt(b, 'echo b again').then(note('b again'));
    await until(async () => await d.metric('acpd_harnesses_waiting') === 2, 'both stand in the queue');
    assert.equal((await statusOf(c, a)).waiting, undefined);
    assert.equal(live(d), 1);
    c.cancel(a);
    // `silence` ignores it, so that harness goes
    assert.equal((await answer).result.stopReason, 'cancelled');
    await Promise.all([one, two, three]);
    assert.deepEqual(order, ['b', 'b again', 'new']);
    assert.equal((await statusOf(c, b)).waiting, undefined);
    assert.equal(await d.metric('acpd_harnesses_waiting'), 0);
    await d.stop();
  });

  test('nothing falls idle: the prompt fails with TOO_MANY_HARNESSES, each after its own time; so do load and new', async (t) => {
    const d = await start(t, { harnessMax: 1, harnessWait: 2 });
    const c = await d.client();
    const [a, b] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];

    await occupy(c, a);
    const t0 = performance.now();
    const order = [];
    const first = c.fails('session/prompt', { ...c.promptParams(b, 'echo b'), _meta: { acpd: { key: 'k' } } })
      .then((e) => { order.push('first'); return e; });
    const made = c.fails('session/new', { cwd: d.workDir, mcpServers: [] });
    await sleep(1000);
    const second = c.fails('session/prompt', c.promptParams(b, 'echo later')).then((e) => { order.push('second'); return e; });
    const error = await first;
    assert.ok(performance.now() - t0 > 1900, 'not before its time');
    assert.deepEqual([error.code, error.data.reason, error.data.turn.class, error.data.turn.retryable],
      [-32603, 'TOO_MANY_HARNESSES', 'resource', true]);
    assert.equal((await made).data.reason, 'TOO_MANY_HARNESSES');
    assert.equal((await second).data.reason, 'TOO_MANY_HARNESSES');
    assert.deepEqual(order, ['first', 'second'], 'the later one waits on');
    assert.equal(turnsOf(d, b).length, 2);
    assert.equal((await c.fails('session/load', { sessionId: b, cwd: d.workDir, mcpServers: [] })).data.reason, 'TOO_MANY_HARNESSES');
    assert.equal(await d.metric('acpd_harnesses_waiting'), 0);
    c.assertClean();
    await c.close();
    await d.stop({ keep: true });
    await d.restart();
    const again = await d.client();
    await again.load(b);
    const same = await again.fails('session/prompt', { ...again.promptParams(b, 'echo b'), _meta: { acpd: { key: 'k' } } });
    assert.equal(same.data.reason, 'TOO_MANY_HARNESSES', 'remembered with its key');
    await d.stop();
  });

  test('a prompt that waits is cancelled at once; its session and others that wait can be closed and deleted', async (t) => {
    const d = await start(t, { harnessMax: 1, harnessWait: 3600 }); // no end of its wait
    const c = await d.client();
    const ids = [];

    for (let i = 0; i < 4; i++)
      ids.push((await c.newSession()).sessionId);
    await occupy(c, ids[0]);
    const answers = ids.slice(1).map((id) => deadline(c.startPrompt(id, 'echo never').answer, 30000, 'the answer'));
    await until(async () => await d.metric('acpd_harnesses_waiting') === 3, 'they wait');
    c.cancel(ids[1]);
    assert.equal((await answers[0]).result.stopReason, 'cancelled');
    await c.call('session/close', { sessionId: ids[2] });
    assert.equal((await answers[1]).result.stopReason, 'cancelled');
    await c.call('session/delete', { sessionId: ids[3] });
    assert.equal((await answers[2]).result.stopReason, 'cancelled');
    assert.equal(await d.metric('acpd_harnesses_waiting'), 0);
    await d.stop();
  });

  test('a flood of prompts, cancels and closes from many sides: all are answered, never more live than may', async (t) => {
    const d = await start(t, { harnessMax: 2 });
    const random = chance(7);
    let most = 0;
    const watch = setInterval(() => { most = Math.max(most, live(d)); }, 10);
    const ends = {};

    t.after(() => clearInterval(watch));
    await Promise.all(Array.from({ length: 10 }, async (_, i) => {
      const c = await d.client();
      const { sessionId } = await c.newSession();

      for (let round = 0; round < 2; round++) {
        const answers = [1, 2, 3].map((k) => c.startPrompt(sessionId, `echo ${i} ${k}; sleep ${Math.floor(random() * 30)}`).answer);

        await sleep(random() * 60);
        if (random() < 0.3)
          c.cancel(sessionId);
        const closed = random() < 0.2 && c.call('session/close', { sessionId });
        for (const { result, error } of await Promise.all(answers)) {
          const end = result?.stopReason ?? error.data.reason;

          ends[end] = (ends[end] ?? 0) + 1;
        }
        await closed; // until then a load is refused
        await c.load(sessionId, { timeout: 60000 });
      }
      if (i % 2)
        await c.call('session/delete', { sessionId }, { timeout: 30000 });
      await c.close();
    }));
    clearInterval(watch);
    t.diagnostic(`${JSON.stringify(ends)}, at most ${most} at a time`);
    assert.deepEqual(Object.keys(ends).filter((end) => !['end_turn', 'cancelled'].includes(end)), []);
    assert.ok(most <= 2, `${most} harnesses at a time`);
    assert.equal(await d.metric('acpd_harnesses_waiting'), 0);
    await until(async () => await d.metric('acpd_harnesses') === live(d), 'what is told is what is there');
    await d.stop();
  });

  test('the default is what memory allows, and is told', async (t) => {
    const d = await start(t, {});
    const c = await d.connect();
    const { limits } = (await c.initialize()).agentCapabilities._meta.acpd;
    const total = Number(fs.readFileSync('/proc/meminfo', 'utf8').match(/^MemTotal:\s+(\d+)/)[1]) * 1024;

    assert.ok(limits.harnesses >= 1 && limits.harnesses <= Math.max(1, total / 2 ** 29), `${limits.harnesses} of ${total}`);
    assert.deepEqual([limits.harnessIdleSeconds, limits.sessions], [300, 10000]);
    assert.equal(await d.metric('acpd_harnesses_max'), limits.harnesses);
    await d.stop();
  });
});

test('--session-max: one more is TOO_MANY_SESSIONS, made or loaded; closed ones do not count', async (t) => {
  const d = await start(t, { sessionMax: 2 });
  const c = await d.client();
  const params = { cwd: d.workDir, mcpServers: [] };
  const [a, b] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];

  assert.equal((await c.fails('session/new', params)).data.reason, 'TOO_MANY_SESSIONS');
  assert.equal((await c.fails('session/fork', { sessionId: a, ...params })).data.reason, 'TOO_MANY_SESSIONS');
  await c.prompt(a, 'echo works all the same');
  await c.call('session/close', { sessionId: a });
  await c.newSession();
  assert.equal((await c.fails('session/load', { sessionId: a, ...params })).data.reason, 'TOO_MANY_SESSIONS');
  await c.call('session/delete', { sessionId: b });
  await c.load(a);
  c.assertClean();
  await d.stop();
});

// A daemon in a memory group of its own, with that limit: {d, hog(bytes): takes so much of it until it is told to end}.
const MEMORY = '/sys/fs/cgroup/memory';
const MIB = 1 << 20;

async function startWithin(t, bytes, flags) {
  const group = path.join(MEMORY, `live-${process.pid}-${bytes}`);
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-live-'));
  const program = path.join(dir, 'acpd');
  const hogs = [];
  let d;

  t.after(async () => {
    hogs.forEach((h) => h.kill('SIGKILL'));
    await d?.discard();
    fs.rmSync(dir, { recursive: true });
    await until(() => spawnSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']).status === 0 && !fs.existsSync(group), 'the group is gone');
  });
  fs.mkdirSync(group);
  fs.writeFileSync(path.join(group, 'memory.limit_in_bytes'), String(bytes));
  fs.writeFileSync(program, `#!/bin/sh\necho $$ >${group}/cgroup.procs\nexec "${ACPD}" "$@"\n`, { mode: 0o755 });
  const hog = async (n) => {
    const child = spawn('sh', ['-c', `echo $$ >${group}/cgroup.procs; exec "$0" -e "$1"`, process.execPath,
      `globalThis.held = Buffer.alloc(${n}, 1); console.log('held'); setInterval(() => {}, 1e6)`], { stdio: ['ignore', 'pipe', 'inherit'] });

    hogs.push(child);
    await once(child.stdout, 'data');
    return child;
  };

  d = await Daemon.start({ program, flags });
  return { d, hog };
}

describe('without --harness-max: what memory is left', {
  skip: process.getuid() !== 0 || !fs.existsSync(`${MEMORY}/memory.limit_in_bytes`) ? 'no memory cgroups of v1, or not root' : false,
}, () => {
  test('in a gigabyte, less what the kernel has, two harnesses work at once', async (t) => {
    const { d } = await startWithin(t, 980 * MIB);
    const c = await d.client();
    const ids = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];

    for (const id of ids)
      await occupy(c, id, `begun ${id}`);
    assert.equal(live(d), 2);
  });

  test('with less than a harness takes, the second waits, which is told, and goes on once memory is left', async (t) => {
    const { d, hog } = await startWithin(t, 1500 * MIB, { harnessWait: 600 });
    const taken = await hog(1200 * MIB);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await occupy(c, sessionId);
    const second = c.newSession();
    await d.waitLog((l) => l.msg === 'harness start queued' && l.live === '1' && l.waitSeconds === '600' && Number(l.memoryLeftMiB) < 512);
    const told = () => c.messages.findLast((m) => m.method === '_acpd/status')?.params;
    await until(() => told()?.work.waiting === 1, 'the pushed status counts it');
    const status = await c.call('_acpd/status', {});
    assert.equal(status.nextDeadline.what, 'harnessWait');
    assert.deepEqual([status.harnesses.live, status.harnesses.max, status.harnesses.waiting], [1, 1, 1]);
    assert.equal(live(d), 1);
    taken.kill('SIGKILL');
    await second;
    assert.equal(live(d), 2);
    await until(() => told().work.waiting === 0, 'and that nobody waits any more');
  });

  test('nothing is left for long: the error says how much, and what to set', async (t) => {
    const { d, hog } = await startWithin(t, 1501 * MIB, { harnessWait: 1 });
    const c = await d.client();

    await hog(1200 * MIB);
    await occupy(c, (await c.newSession()).sessionId);
    const { data, message } = await c.fails('session/new', { cwd: d.workDir, mcpServers: [] });
    assert.equal(data.reason, 'TOO_MANY_HARNESSES');
    assert.match(message, /1 harnesses work, \d+ of 512 MiB of memory are left for another.*--harness-max or --harness-wait/);
  });
});
