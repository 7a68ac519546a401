// SPDX-License-Identifier: Apache-2.0
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
import { test, describe } from 'node:test';
import { ACPD, Daemon, SANITIZED, STUB } from '../../lib/daemon.mjs';
import { SLOW, sleep } from '../../lib/rawws.mjs';
import { dropPlain, eventually, groupOf, startPlain } from './rig.mjs';

const LONG = process.env.ACPD_TEST_LONG === '1';

// Each: the value now. What a sanitizer makes of memory is no measure.
const measures = {
  descriptors: ({ d }) => d.fdCount(),
  processes: ({ d }) => d.descendants().length,
  kib: ({ d }) => SANITIZED ? 0 : d.rss() / 1024,
  cgroups: ({ d }) => groupOf(d) ? fs.readdirSync(groupOf(d), { withFileTypes: true }).filter((e) => e.isDirectory()).length : 0,
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

describe('what is left of', () => {
  for (const row of rows) {
    test(`${row.n} ${row.what}`, async (t) => {
      const d = await Daemon.start(row.start);
      t.after(() => d.discard());
      const rig = { d, c: await d.client(), made: [] };

      rig.own = await row.before?.(rig);
      await row.make(rig, -1); // whatever the first of its kind costs
      const before = await look(rig, row.bounds);
      const n = row.n - 1;
      for (let i = 0; i < n; i++)
        rig.made.push(await row.make(rig, i));
      await row.after?.(rig);
      let now = {};
      const most = (name) => before[name] + row.bounds[name] * (name === kind(name) ? n : 1);
      await eventually(async () => {
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
  const d = await Daemon.start();
  t.after(() => d.discard());
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
  const limits = (pid) => fs.readFileSync(`/proc/${pid}/limits`, 'utf8').match(/^Max open files\s+(\d+)\s+(\d+)/m).slice(1, 3).map(Number);
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-'));
  const program = path.join(dir, 'low');

  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.writeFileSync(program, `#!/bin/sh\nulimit -S -n 200\nexec "${ACPD}" "$@"\n`, { mode: 0o755 });
  const d = await Daemon.start({ program });
  t.after(() => d.discard());
  const c = await d.client();
  await c.newSession();
  const [soft, hard] = limits(d.pid);
  assert.equal(soft, hard);
  assert.ok(hard > 200);
  const [harness] = d.descendants();
  assert.equal(limits(harness.pid)[0], 200);
  await d.stop();
});

// How long the loop stands still at worst: the longest wait for /health while something is done. The bound is generous, for busy machines;
// before it held, each of these took seconds. Exact figures: make bench PARTS=grows.
//
//   before    options of Daemon.start and what the agent makes, by the time a session is open
//   act       async (rig) => what must not wait for all that
const BIG = 'v=$(head -c 125000 /dev/zero | tr "\\0" x); export a=$v b=$v c=$v d=$v e=$v f=$v g=$v h=$v';
const crowd = (n) => `${BIG}; for i in $(seq ${n}); do sleep 600 & done; unset a b c d e f g h v; exec ${STUB} "$@"`;

const pauses = [
  {
    what: 'another session is closed beside 300 processes with environments of 1 MB',
    crowd: 300,
    start: Daemon.start,
    most: 300,
  },
  {
    what: 'another session is closed beside 300 processes with environments of 1 MB, without cgroups',
    crowd: 300,
    start: startPlain,
    most: 300,
  },
];

async function longestWait(d, work) {
  let over = false, longest = 0;
  const done = Promise.resolve(work).finally(() => { over = true; });

  while (!over) {
    const from = performance.now();

    await d.http('/health');
    longest = Math.max(longest, performance.now() - from);
    await sleep(2);
  }
  await done;
  return longest;
}

describe('the loop does not stand still while', () => {
  for (const row of pauses) {
    test(row.what, async (t) => {
      const d = await row.start({ harnesses: [{ id: 'crowd', command: '/bin/sh', args: ['-c', crowd(row.crowd), 'sh'] }] });

      t.after(async () => {
        await d.discard();
        dropPlain(d);
      });
      const c = await d.client();
      const { sessionId } = await c.newSession();
      const many = await c.newSession({ meta: { harness: 'crowd' } });

      await eventually(() => d.descendants().length > row.crowd, 'the crowd is there');
      const longest = await longestWait(d, c.call('session/close', { sessionId }, { timeout: 60000 }));
      t.diagnostic(`longest wait: ${longest.toFixed(1)} ms`);
      assert.ok(longest < row.most * SLOW, `${longest.toFixed(1)} ms`);
      await c.call('session/delete', { sessionId: many.sessionId }, { timeout: 60000 });
      await eventually(() => !d.descendants().length, 'all of the crowd is gone');
      await c.close();
      await d.stop();
    });
  }
});
