// SPDX-License-Identifier: Apache-2.0
// The kinds of amounts of growth.mjs: how so much of it is made, and which operations are measured then.
// kinds: [{title, amounts, small (of a quick run), open() -> {measure(growth, amount), close?()}}].

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import * as procs from '../lib/procs.mjs';
import { digestOf, put, tarOf } from '../lib/archives.mjs';
import { ACPD, KIB, MIB, acpd, disk, figures, memory, program, sleep } from './rig.mjs';
import { kind as lines } from './growth-lines.mjs';
import { base } from './trees.mjs';

// --- measuring ---------------------------------------------------------------------------------------

// Milliseconds that all threads have worked.
const worked = (pid) => procs.threads(pid, 'schedstat').reduce((sum, one) => sum + Number(one.split(' ')[0]) / 1e6, 0);
const peakOf = (pid) => parseInt(procs.status(pid).VmHWM, 10) * KIB;

const BATCHES = 5;

// CPU of the daemon for each run of fn in the best batch of n, and its peak meanwhile. Unmeasured at first: whatever is made once.
async function costOf(pid, fn, n = 10) {
  let least = Infinity;

  for (let i = 0; i < 3; i++)
    await fn();
  procs.clearPeak(pid);
  for (let batch = 0; batch < BATCHES; batch++) {
    const before = worked(pid);

    for (let i = 0; i < n; i++)
      await fn();
    least = Math.min(least, (worked(pid) - before) / n);
  }
  return { ms: least, peak: peakOf(pid) };
}

// The wall clock's time of one run, and the daemon's peak.
async function timeOf(pid, fn) {
  procs.clearPeak(pid);
  const began = performance.now();

  await fn();
  return { ms: performance.now() - began, peak: peakOf(pid) };
}

// What the daemon has worked from its start until now, and its peak.
const startOf = (pid) => ({ ms: worked(pid), peak: peakOf(pid) });

const growthProgram = (target, work, params) => figures(program('growth'), [
  work, ...target.args, ...Object.entries(params).map(([k, v]) => `${k}=${v}`)]);

// A directory with room for so many bytes: in memory, where that leaves some for all else, or on the disk; undefined: there is none.
function room(bytes) {
  const free = (dir) => {
    const { bavail, bsize } = fs.statfsSync(dir);

    return bavail * bsize;
  };

  if (memory && Math.min(free(memory), os.freemem() + cached()) > 2 * bytes + 2048 * MIB)
    return memory;
  return disk && free(disk) > bytes + 2048 * MIB ? disk : undefined;
}

const cached = () => Number(fs.readFileSync('/proc/meminfo', 'utf8').match(/^MemAvailable:\s+(\d+)/m)[1]) * KIB - os.freemem();

const lean = { validate: 'none', record: false };

const ok = async (answer) => {
  const { status, body, json } = await answer;

  if (status >= 300)
    throw new Error(`status ${status}: ${(body ?? JSON.stringify(json)).slice(0, 200)}`);
};

// A client that is asked for the methods of one session.
const asks = (d, c, sessionId) => ({
  get: (where) => () => ok(d.http(where, { token: d.token, described: false })),
  call: (method, params = {}) => () => c.call(method, params, { timeout: 120000 }),
  again: (method, acpd = {}) => () => c.call(method, { sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd } }, { timeout: 300000 }),
});

// The best of some starts.
async function restarted(target) {
  let best;

  for (let i = 0; i < 4; i++) {
    await target.daemon.restart();
    const one = startOf(target.daemon.pid);

    best = best?.ms < one.ms ? best : one;
  }
  return best;
}

// --- sessions ------------------------------------------------------------------------------------------

async function allPages(c) {
  let cursor;

  do
    ({ nextCursor: cursor } = await c.call('session/list', { ...(cursor && { cursor }) }));
  while (cursor);
}

async function sessions() {
  const target = await acpd({ on: memory, harnessMax: 1100 });
  const d = target.daemon;
  const c = await d.client(lean);
  const ids = [];
  const more = async () => { ids.push((await c.newSession()).sessionId); };
  const drop = async () => { await c.call('session/delete', { sessionId: ids.pop() }); };

  return {
    async measure(g, n) {
      while (ids.length < n)
        await Promise.all(Array.from({ length: Math.min(16, n - ids.length) }, more));
      const sessionId = ids[Math.floor(n / 2)];
      const of = asks(d, c, sessionId);
      const cost = async (what, fn, times, opts) => g.add(what, await costOf(d.pid, fn, times), opts);

      await c.prompt(sessionId, 'echo once');
      await cost('session/new and delete', async () => { await more(); await drop(); }, 4);
      await cost('a turn', () => c.prompt(sessionId, 'echo one'), 10, { flat: true });
      await cost('_acpd/status of one', of.call('_acpd/status', { sessionId }), 10);
      await cost('GET /v1/sessions/{id}', of.get(`/v1/sessions/${sessionId}`), 10, { flat: true });
      await cost('session/resume of one', of.again('session/resume'), 10, { flat: true });
      await cost('session/list, its first page', of.call('session/list'));
      await cost('session/list, all pages', () => allPages(c), 4);
      await cost('GET /v1/sessions', of.get('/v1/sessions'), 4);
      await cost('GET /metrics', of.get('/metrics'));
      g.add('what they hold at rest', { ms: NaN, peak: d.rss() });
    },
    async close() {
      await c.close();
      await target.daemon.stop({ timeout: 120000 });
      await target.stop();
    },
  };
}

// --- connections --------------------------------------------------------------------------------------------

// All but one of them are at rest.
async function connections() {
  const target = await acpd({ on: memory, maxConnections: 2000 });
  const d = target.daemon;
  const c = await d.client(lean);
  const { sessionId } = await c.newSession();
  const resting = [];

  return {
    async measure(g, n) {
      while (resting.length < n - 1)
        resting.push(await d.client(lean));
      const of = asks(d, c, sessionId);
      const note = { note: 'libwebsockets looks at each of them then' };

      g.add('a turn on one of them', await costOf(d.pid, () => c.prompt(sessionId, 'echo one'), 20), { flat: true });
      g.add('_acpd/status on one of them', await costOf(d.pid, of.call('_acpd/status', { sessionId }), 20), { flat: true });
      g.add('GET /v1/sessions/{id}', await costOf(d.pid, of.get(`/v1/sessions/${sessionId}`)), note);
      g.add('one more, and its end', await costOf(d.pid, async () => { await (await d.client(lean)).close(); }), note);
      g.add('what they hold at rest', { ms: NaN, peak: d.rss() });
    },
    async close() {
      await Promise.all([c, ...resting].map((one) => one.close()));
      await target.stop();
    },
  };
}

// --- history ------------------------------------------------------------------------------------------------

const EVENT_BYTES = 420; // of an update in the journal, at most
const JOURNAL_MAX = 16384 * MIB;

// What needs the session as it lives in the daemon.
async function living(g, target, sessionId, n) {
  const d = target.daemon;
  const c = await d.client(lean);
  const of = asks(d, c, sessionId);
  const cost = async (what, fn, times, opts = { flat: true }) => g.add(what, await costOf(d.pid, fn, times), opts);
  const { _meta: { acpd: { seq } } } = await of.again('session/resume')();

  await cost('a turn', () => c.prompt(sessionId, 'echo one'));
  await cost('session/list', of.call('session/list'));
  await cost('_acpd/status', of.call('_acpd/status', { sessionId }));
  await cost('GET /v1/sessions/{id}', of.get(`/v1/sessions/${sessionId}`));
  await cost('GET /metrics', of.get('/metrics'));
  await cost('session/resume', of.again('session/resume'));
  await cost('session/load of the newest 10', of.again('session/load', { fromSeq: seq - 9 }));
  await cost('events over HTTP, the newest 10', of.get(`/v1/sessions/${sessionId}/events?format=ndjson&since=${seq - 10}`));
  await c.close();
  const whole = await growthProgram(target, 'whole', { n, session: sessionId, cwd: d.workDir });
  g.add('session/load of all', { ms: whole.cpu_ms, peak: whole.peak });
}

// What a daemon has worked from its start until a first call is answered, the best of some starts: journals are read before, or then.
async function firstCall(target, sessionId, ask) {
  const d = target.daemon;
  let best;

  for (let i = 0; i < 4; i++) {
    await d.restart();
    const c = await d.client(lean);

    await ask(asks(d, c, sessionId))();
    const one = startOf(d.pid);
    best = best?.ms < one.ms ? best : one;
    await c.close();
  }
  return best;
}

// A later daemon: nothing of it is in memory.
async function laterLife(g, target, sessionId) {
  const first = async (what, ask) => g.add(`start, until ${what} is answered`, await firstCall(target, sessionId, ask), { flat: true });

  g.add('start, until it listens', await restarted(target), { flat: true });
  await first('session/list', (of) => of.call('session/list'));
  await first('_acpd/status', (of) => of.call('_acpd/status', { sessionId }));
  await first('session/resume', (of) => of.again('session/resume'));
}

const history = () => ({
  async measure(g, n) {
    const on = room(n * EVENT_BYTES);

    if (!on)
      throw new Error('there is no room for its journal');
    const target = await acpd({ on, journalMax: JOURNAL_MAX });

    try {
      const fill = await growthProgram(target, 'fill', { n, cwd: target.daemon.workDir });

      g.add('a turn with so many updates', { ms: fill.cpu_ms, peak: target.daemon.rss() });
      await living(g, target, fill.session, n);
      await laterLife(g, target, fill.session);
    } finally {
      await target.stop();
    }
  },
});

// --- files of a workspace --------------------------------------------------------------------------------------

const SNAPSHOT_ENTRIES = 200_000; // UNPACK_ENTRIES_MAX, which only a job that unpacks can be told otherwise
const FILE_BYTES = 6500; // in memory: a page, an inode, a name, and its place in a tar
const HELPER = path.join(path.dirname(ACPD), 'acpd-unpack');
const remove = (dir) => execFileSync('rm', ['-rf', dir]);

function makeFiles(dir, n) {
  for (let i = 0; i < n; i++) {
    const below = path.join(dir, `d${Math.floor(i / 100_000)}`, `e${Math.floor(i / 1000)}`);

    if (i % 1000 === 0)
      fs.mkdirSync(below, { recursive: true });
    fs.writeFileSync(path.join(below, `f${i}`), `file ${i}\n`);
  }
}

// A job of the helper: {ms, peak} of keeper and worker.
async function job(dir, verb, words, out) {
  const file = path.join(dir, 'job');

  fs.writeFileSync(file, `${JSON.stringify(words)}\n`);
  const fds = [fs.openSync(file, 'r'), ...(out ? [fs.openSync(out, 'w')] : [])];
  try {
    const r = await figures(program('cost'), ['-n', '-p', HELPER, verb], { stdio: [fds[0], 'pipe', 'inherit', ...fds.slice(1)] });

    return { ms: r.cpu_ms, peak: r.peak };
  } finally {
    fds.forEach((fd) => fs.closeSync(fd));
  }
}

const files = () => ({
  async measure(g, n) {
    const dir = base(n * FILE_BYTES + 512 * MIB);

    if (!dir)
      throw new Error('there is no room for them in memory');
    const at = (name) => path.join(dir, name);
    const note = { note: 'CPU and peak of acpd-unpack' };

    try {
      makeFiles(at('made'), n);
      execFileSync('tar', ['-C', at('made'), '-cf', at('tree.tar'), '.']);
      remove(at('made'));
      g.add('an archive of them unpacked', await job(dir, 'extract', { target: at('tree'), sources: [{ archive: at('tree.tar') }], limits: { entries: 3_000_000, seconds: 600 } }), note);
      remove(at('tree.tar'));
      if (n > SNAPSHOT_ENTRIES)
        throw new Error('unpacked; a snapshot or an export of so many is refused (TOO_MANY_ENTRIES)');
      fs.mkdirSync(at('snap'), { mode: 0o700 });
      const words = { root: at('tree'), dir: at('snap'), ignore: 'none' };
      await sleep(100); // what was changed just now would be read again
      g.add('baseline snapshot', await job(dir, 'snapshot', { ...words, turn: 0 }), note);
      fs.appendFileSync(at('tree/d0/e0/f0'), 'changed\n');
      await sleep(100);
      g.add('snapshot with one changed', await job(dir, 'snapshot', { ...words, turn: 1, patch: at('patch') }), note);
      g.add('diff since the baseline', await job(dir, 'diff', { ...words, since: 0, patch: at('patch') }), note);
      remove(at('snap'));
      g.add('export as tar', await job(dir, 'pack', { root: at('tree'), format: 'tar', ignore: 'none' }, at('out')), note);
      remove(at('out'));
      await through(g, at('tree'));
    } finally {
      remove(dir);
    }
  },
});

// A session that works there: what the daemon itself has to do.
async function through(g, tree) {
  const target = await acpd({ on: memory });
  const d = target.daemon;
  const c = await d.client(lean);

  try {
    const asked = { cwd: tree, meta: { workspace: { baseline: true } } };
    let sessionId;

    g.add('session/new there with a baseline', await timeOf(d.pid, async () => {
      ({ sessionId } = await c.call('session/new', { cwd: tree, mcpServers: [], _meta: { acpd: asked.meta } }, { timeout: 300000 }));
    }), { note: 'wall clock, peak of the daemon' });
    const of = asks(d, c, sessionId);
    g.add('_acpd/status of it', await costOf(d.pid, of.call('_acpd/status', { sessionId })), { flat: true });
  } finally {
    await c.close();
    await target.stop();
  }
}

// --- archives ---------------------------------------------------------------------------------------------------

const ARCHIVE = 4096;

// As many archives in one job, each of which has one file.
async function manySources(g, n) {
  const dir = base(64 * MIB);

  if (!dir)
    return;
  try {
    const sources = Array.from({ length: n }, (_, i) => {
      const archive = path.join(dir, `a${i}.tar`);

      fs.writeFileSync(archive, tarOf(ARCHIVE, i + 1));
      return { archive };
    });

    g.add('all of them unpacked into one tree', await job(dir, 'extract', { target: path.join(dir, 'tree'), sources }), { note: 'CPU and peak of acpd-unpack' });
  } finally {
    remove(dir);
  }
}

async function archives() {
  const target = await acpd({ on: memory });
  const d = target.daemon;
  let stored = 0;

  return {
    async measure(g, n) {
      for (; stored < n; stored++)
        await ok(put(d, tarOf(ARCHIVE, stored + 1)));
      const c = await d.client(lean);
      const one = `/v1/archives/${digestOf(tarOf(ARCHIVE, 1))}`;
      const asked = (method, where) => () => ok(d.http(where, { method, token: d.token, described: false }));
      const extra = tarOf(ARCHIVE, 100_000);

      g.add('PUT of one more, and DELETE', await costOf(d.pid, async () => {
        await ok(put(d, extra));
        await asked('DELETE', `/v1/archives/${digestOf(extra)}`)();
      }));
      g.add('HEAD of one', await costOf(d.pid, asked('HEAD', one)));
      g.add('GET /v1/archives', await costOf(d.pid, asked('GET', '/v1/archives')));
      await c.close();
      await manySources(g, n);
      g.add('start, until it listens', await restarted(target));
    },
    close: () => target.stop(),
  };
}

// --- ledger --------------------------------------------------------------------------------------------------------

const WIDTH = 128;

const ledger = () => ({
  async measure(g, rate) {
    const target = await acpd({ on: memory, harnessMax: WIDTH + 10 });
    const d = target.daemon;

    try {
      const width = Math.min(WIDTH, Math.max(1, Math.ceil(rate / 20)));
      const r = await growthProgram(target, 'paced', { rate, width, lasts: rate < 10 ? 6 : 4, cwd: d.workDir });

      g.add('CPU of one record (a turn)', { ms: r.cpu_ms, peak: r.peak }, { note: r.per_s < rate * 0.9 ? `${rate} were asked for, ${r.per_s.toFixed(0)} came` : '' });
      const c = await d.client(lean);
      const last = Number((await d.http('/v1/usage?session=none', { token: d.token, described: false })).headers['acpd-last']);
      const since = Math.max(0, last - 10);
      const of = asks(d, c);
      g.add('_acpd/usage of the newest 10', await costOf(d.pid, of.call('_acpd/usage', { since })), { flat: true });
      g.add('GET /v1/usage, the newest 10', await costOf(d.pid, of.get(`/v1/usage?since=${since}`)), { flat: true });
      await c.close();
    } finally {
      await target.stop();
    }
  },
});

export const kinds = [
  { title: 'sessions, each with a process of its own', amounts: [1, 10, 100, 1000], small: [1, 10, 50], open: sessions },
  { title: 'connections', amounts: [1, 10, 100, 1000], small: [1, 10, 50], open: connections },
  { title: 'events of a session\'s history', amounts: [1000, 100_000, 3_000_000, 10_000_000], small: [1000, 20_000], open: history },
  { title: 'files of a workspace', amounts: [100, 10_000, 150_000, 1_000_000], small: [100, 2000], open: files },
  { title: 'archives', amounts: [1, 16, 256], small: [1, 16], open: archives },
  { title: 'ledger records a second', amounts: [1, 100, 10_000], small: [1, 100], open: ledger },
  lines,
];
