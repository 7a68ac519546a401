// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// What grows with what a peer or an agent can make many of. Each row makes n of one thing on one daemon and says by how much each
// measure of the daemon may have grown when all is at rest again.
//
//   what      a name, read as "what is left of N …"
//   n         how many; LONG has its own number (ACPD_TEST_LONG=1)
//   start     options of Daemon.start
//   before    async (rig) => what stands before the first look; its result is rig.own
//   make      async (rig, i) => makes one
//   after     async (rig) => what has to happen before the second look
//   bounds    {measure: most}: growth of that measure for each one made, or in all if the name of the measure ends in "InAll"
//
// rig: {d, c, own, made}: the daemon, an initialized client, and what `make` returned so far.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { test, describe } from 'node:test';
import { ACPD, Daemon, SANITIZED } from '../../lib/daemon.mjs';
import { crowded, deepTree, manyFiles } from '../../lib/made.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import * as procs from '../../lib/procs.mjs';
import { entriesIn } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { groupOf } from './rig.mjs';

const LONG = process.env.ACPD_TEST_LONG === '1';

// Each: the value now. What a sanitizer makes of memory is no measure.
const measures = {
  descriptors: ({ d }) => d.fdCount(),
  processes: ({ d }) => d.descendants().length,
  kib: ({ d }) => SANITIZED ? 0 : d.rss() / 1024,
  cgroups: ({ d }) => groupOf(d) ? entriesIn(groupOf(d)).filter((e) => e.isDirectory()).length : 0,
  sessions: async ({ d }) => (await d.http('/ready', { token: d.token })).json.sessions,
};

const kind = (name) => name.replace(/InAll$/, '');

async function look(rig, bounds) {
  const seen = {};

  for (const name of Object.keys(bounds))
    seen[name] = await measures[kind(name)](rig);
  return seen;
}

const rows = [
  {
    what: 'sessions that have had a turn and are closed',
    n: 60,
    async make({ c }) {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      await c.call('session/close', { sessionId });
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, kib: 32 },
  },
  {
    what: 'sessions that have been deleted',
    n: 60,
    async make({ c }) {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      await c.call('session/delete', { sessionId });
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, sessionsInAll: 0, kib: 8 },
  },
  {
    what: 'closed sessions whose history somebody has read again',
    n: 40,
    async make({ c, d }) {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      await c.call('session/close', { sessionId });
      assert.match((await d.http(`/v1/sessions/${sessionId}/events`, { token: d.token })).body, /once/);
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0 },
  },
  {
    what: 'one-shot clients that prompt, and leave without closing',
    n: 20,
    start: { flags: { harnessIdle: 1 } },
    async make({ d }) {
      const c = await d.client();
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      await c.close();
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, kib: 64 },
  },
  {
    what: 'one-shot clients that open a session and leave',
    n: 20,
    start: { flags: { harnessIdle: 1 } },
    async make({ d }) {
      const c = await d.client();

      await c.newSession();
      await c.close();
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, sessionsInAll: 0, kib: 48 },
  },
  {
    what: 'clients that keep a session each and its harness idle',
    n: 12,
    start: { flags: { harnessMax: 3 } },
    async make({ d }) {
      const c = await d.client();
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      return c;
    },
    after: ({ made }) => Promise.all(made.map((c) => c.close())),
    bounds: { processesInAll: 2, descriptorsInAll: 12 },
  },
  {
    what: 'connections that open and close',
    n: 60,
    make: async ({ d }) => (await d.client()).close(),
    bounds: { descriptorsInAll: 0, kib: 4 },
  },
  {
    what: 'prompts queued, one of them running, and cancelled',
    n: 40,
    before: async ({ c }) => (await c.newSession()).sessionId,
    make: async ({ c, own }) => c.startPrompt(own, `sleep 60000; echo ${'x'.repeat(2000)}`),
    async after({ c, own, made }) {
      c.cancel(own);
      await Promise.all(made.map(({ answer }) => answer));
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, kib: 16 },
  },
  {
    what: 'questions that nobody answered',
    n: 30,
    before: async ({ c }) => (await c.newSession()).sessionId,
    async make({ c, own }, i) {
      const asked = c.waitRequest('session/request_permission', { from: c.requests.length });
      const { answer } = c.startPrompt(own, `perm p${i}`);

      await asked;
      c.cancel(own);
      await answer;
    },
    bounds: { descriptorsInAll: 1, processesInAll: 0, kib: 16 },
  },
  {
    what: 'sessions of an earlier daemon',
    n: 40,
    async make({ c }) {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'echo once');
      await c.call('session/close', { sessionId });
    },
    async after(rig) {
      await rig.d.restart();
      rig.c = await rig.d.client();
      assert.equal((await rig.c.call('session/list', {})).sessions.length, 40);
    },
    // the ledger's folder stays open until its first record in this life; on disk its thread has a descriptor from then on
    bounds: { descriptorsInAll: 1, processesInAll: 0, kib: 32 },
  },
  {
    what: 'sessions with grandchildren of all kinds that are closed',
    n: 20,
    async make({ c }) {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, 'fork setsid; fork double; fork ignoreterm; fork clearenv; fork bogusenv');
      await c.call('session/close', { sessionId });
    },
    bounds: { descriptorsInAll: 0, processesInAll: 0, cgroupsInAll: 0 },
  },
];

// usage.ahead is open from the third turn of a life on, whoever has them.
const AHEAD = 1;

describe('what is left of', () => {
  for (const row of rows) {
    test(`${row.n} ${row.what}`, async (t) => {
      const d = await Daemon.startFor(t, row.start);
      const rig = { d, c: await d.client(), made: [] };

      rig.own = await row.before?.(rig);
      await row.make(rig, -1); // whatever the first of its kind costs
      const before = await look(rig, row.bounds);
      const n = row.n - 1;
      for (let i = 0; i < n; i++)
        rig.made.push(await row.make(rig, i));
      await row.after?.(rig);
      let now = {};
      const most = (name) => before[name] + row.bounds[name] * (name === kind(name) ? n : 1) + (name === 'descriptorsInAll' ? AHEAD : 0);
      await until(async () => {
        now = await look(rig, row.bounds);
        return Object.keys(now).every((name) => now[name] <= most(name));
      }, `within bounds: ${JSON.stringify(row.bounds)}`).catch((e) => {
        throw new Error(`${e.message}; before ${JSON.stringify(before)}, after ${n} ${JSON.stringify(now)}`);
      });
      t.diagnostic(`${JSON.stringify(before)} -> ${JSON.stringify(now)}`);
      await rig.c.close();
      await d.stop();
    });
  }
});

// A state directory with the journals of so many closed sessions: copies of one that a daemon has written.
async function manyClosed(d, n) {
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'echo once upon a time');
  await d.stop({ keep: true });
  const dir = path.join(d.stateDir, 'sessions');
  const journal = fs.readFileSync(path.join(dir, `${sessionId}.jsonl`));
  for (let i = 0; i < n; i++) {
    const id = `sess_${i.toString(16).padStart(32, '0')}`;

    fs.writeFileSync(path.join(dir, `${id}.jsonl`), journal, { mode: 0o600 });
  }
  return sessionId;
}

test(`${LONG ? 10000 : 1500} closed sessions: it starts, lists and loads them, and opens new ones, with descriptors for a few`, async (t) => {
  const n = LONG ? 10000 : 1500;
  const d = await Daemon.startFor(t);
  const first = await manyClosed(d, n - 1);
  const seen = new Set();
  let cursor;

  await d.restart();
  const c = await d.client();
  const fds = d.fdCount();
  const { sessionId } = await c.newSession(); // while they are being read
  assert.equal((await c.prompt(sessionId, 'echo served')).stopReason, 'end_turn');
  do {
    const page = await c.call('session/list', cursor ? { cursor } : {}, { timeout: 60000 });

    page.sessions.forEach((s) => seen.add(s.sessionId));
    cursor = page.nextCursor;
  } while (cursor);
  assert.equal(seen.size, n + 1, 'all are listed, each once');
  await c.load(first);
  assert.equal((await c.prompt(first, 'RECALL')).stopReason, 'end_turn');
  assert.ok(d.fdCount() < fds + 40, `descriptors: ${fds}, then ${d.fdCount()}`);
  await d.stop();
});

test('the daemon takes as many descriptors as the hard limit allows; a harness gets the soft limit that the daemon was started with', async (t) => {
  const limits = (pid) => procs.text(pid, 'limits').match(/^Max open files\s+(\d+)\s+(\d+)/m).slice(1, 3).map(Number);
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-'));
  const program = path.join(dir, 'low');

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.writeFileSync(program, `#!/bin/sh\nulimit -S -n 200\nexec "${ACPD}" "$@"\n`, { mode: 0o755 });
  const d = await Daemon.startFor(t, { program });
  const c = await d.client();
  await c.newSession();
  const [soft, hard] = limits(d.pid);
  assert.equal(soft, hard);
  assert.ok(hard > 200);
  const [harness] = d.harnesses();
  assert.equal(limits(harness.pid)[0], 200);
  await d.stop();
});

// What the loop itself works while something is done beside much that an agent has made: its CPU time, which is no matter of how busy the machine
// is. Before a bound held, each of these took seconds, or hundreds of milliseconds. Exact figures: make bench PARTS=grows.
//
//   start     how the daemon is started
//   harness   whose session it is; made: async (rig) => what its agent has made
//   acts      [what, async (rig) => what must not grow with that], in order
const MEMORY = '/dev/shm'; // a busy disk takes its time to make them
const BOUND = SANITIZED ? 400 : 80;

async function worked(d, work) {
  const before = procs.loopTime(d.pid);

  await work();
  return procs.loopTime(d.pid) - before;
}

const homeOf = ({ d, sessionId }) => path.join(d.stateDir, 'homes', sessionId);
const everywhere = (make) => (rig) => {
  for (const dir of [homeOf(rig), path.join(homeOf(rig), 'tmp'), rig.d.workDir]) {
    fs.mkdirSync(dir, { recursive: true });
    make(dir);
  }
};
const listed = ({ c }) => c.call('session/list', {});
const status = ({ c, sessionId }) => c.call('_acpd/status', { sessionId });
const turn = ({ c, sessionId }) => c.prompt(sessionId, 'echo again');
const start = async ({ c, sessionId }) => {
  await c.load(sessionId);
  await c.prompt(sessionId, 'echo again');
};
const end = (method) => ({ c, sessionId }) => c.call(method, { sessionId }, { timeout: 60000 });
const removed = (rig) => until(() => fs.readdirSync(path.join(rig.d.stateDir, 'removed')).length === 0, 'all is removed', 60000);
const life = [['list', listed], ['status', status], ['a turn', turn], ['close', end('session/close')], ['start', start],
  ['delete', async (rig) => { await end('session/delete')(rig); await removed(rig); }]];

const MANY = 300;
const besides = [['another session is closed', ({ c, other }) => c.call('session/close', { sessionId: other }, { timeout: 60000 })],
  ['a turn', turn], ['close', end('session/close')]];
const crowd = {
  harness: crowded('crowd', MANY),
  made: ({ d }) => until(() => d.descendants().length > MANY, 'the crowd is there', 60000),
  acts: besides,
};

const shapes = [
  { what: `${MANY} processes with environments of 1 MB`, start: Daemon.start, ...crowd },
  { what: `${MANY} processes with environments of 1 MB, without cgroups`, start: startPlain, ...crowd },
  { what: '20 000 files in home and workspace', start: Daemon.start, inMemory: true, made: everywhere((dir) => manyFiles(dir, 7000)), acts: life },
  { what: 'trees 3 000 deep in home and workspace', start: Daemon.start, inMemory: true, made: everywhere((dir) => deepTree(dir, 3000)), acts: life },
];

describe('what the loop works does not grow with', { skip: process.env.ACPD_WRAP ? 'another program is measured' : false }, () => {
  for (const shape of shapes) {
    test(shape.what, async (t) => {
      const dir = shape.inMemory && fs.existsSync(MEMORY) ? fs.mkdtempSync(path.join(MEMORY, 'acpd-test-')) : undefined;
      const d = await shape.start({ dir, harnesses: shape.harness ? [shape.harness] : [] });

      t.after(async () => {
        await d.discard();
        dropPlain(d);
        if (dir)
          spawnSync('rm', ['-rf', dir]); // deeper than Node's own can remove
      });
      const c = await d.client();
      const other = (await c.newSession()).sessionId;
      const { sessionId } = await c.newSession({ meta: shape.harness && { harness: shape.harness.id } });
      const rig = { d, c, other, sessionId };

      await c.prompt(sessionId, 'echo once');
      await shape.made(rig);
      for (const [what, act] of shape.acts) {
        const ms = await worked(d, () => act(rig));

        t.diagnostic(`${what}: ${ms.toFixed(1)} ms`);
        assert.ok(ms < BOUND, `${what}: ${ms.toFixed(1)} ms`);
      }
      await c.close();
      await d.stop({ keep: true });
    });
  }
});
