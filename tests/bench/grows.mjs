// SPDX-License-Identifier: Apache-2.0
// What grows: how much of the daemon an agent or a peer can make its own. A row is one hostile shape, made with real parts, and the bound
// that must hold; each has a daemon of its own. rows: [name, measure]; measure(table) adds what it found.

import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { crowd } from '../lib/crowd.mjs';
import { Daemon } from '../lib/daemon.mjs';
import { halfLine, relayed } from '../lib/half-lines.mjs';
import { crowded, deepTree, manyFiles } from '../lib/made.mjs';
import { dropPlain, startPlain } from '../lib/plain.mjs';
import { loopTime } from '../lib/procs.mjs';
import { sleep } from '../lib/rawws.mjs';
import { MIB, memory } from './rig.mjs';

const CROWD = 5000;

async function withDaemon(opts, body, start = Daemon.start) {
  const d = await start(opts);

  try {
    return await body(d);
  } finally {
    await d.stop({ keep: true, timeout: 60000 });
    await d.discard();
    dropPlain(d);
  }
}

// The worst of some.
async function worst(n, fn) {
  let most = 0;

  for (let i = 0; i < n; i++) {
    const began = performance.now();

    await fn();
    most = Math.max(most, performance.now() - began);
  }
  return most;
}

const newcomers = (table) => withDaemon({}, async (d) => {
  for (const [what, where] of [['TCP', d.port], ['acp.sock', d.acpSocket]]) {
    const others = await crowd(CROWD, where);

    table.add({
      what: `a newcomer is served beside ${CROWD} silent: ${what}`, unit: 'ms', bar: 1000,
      value: await worst(5, async () => { await (await d.client()).close(); }),
      note: `worst of 5; ${others.open} of them still open`,
    });
    others.end();
  }
});

const halfLines = (table) => withDaemon({}, async (d) => {
  const { o, given } = await relayed(d);
  let most = 0;
  const watch = setInterval(() => { most = Math.max(most, d.rss()); }, 5);
  const many = Array.from({ length: 40 }, () => halfLine(given, 48 * MIB));

  await Promise.all(many.map((c) => c.written));
  clearInterval(watch);
  table.add({ what: 'memory with 40 half lines on an MCP socket', unit: 'mib', value: most, bar: 32 * MIB });
  for (const c of many)
    c.socket.destroy();
  await o.close();
});

// What the loop does in one go while something is done: the most that its thread has worked while one request for /health waited. Wall time counts
// all other work on this machine, too; the longest wait stands beside it, and beside that the longest while nothing was done.
async function pause(d, work) {
  let over = false;
  const most = { worked: 0, wall: 0 };
  const done = Promise.resolve(work).finally(() => { over = true; });

  while (!over) {
    const [began, before] = [performance.now(), loopTime(d.pid)];

    await d.http('/health');
    most.wall = Math.max(most.wall, performance.now() - began);
    most.worked = Math.max(most.worked, loopTime(d.pid) - before);
    await sleep(1);
  }
  await done;
  return most;
}

async function addPause(table, what, d, work) {
  const quiet = await pause(d, sleep(1000));
  const { worked, wall } = await pause(d, work());

  table.add({ what: `loop pause (CPU): ${what}`, unit: 'ms', bar: 10, value: worked,
    note: `longest wait for /health ${wall.toFixed(1)} ms, ${quiet.wall.toFixed(1)} ms with nothing done` });
}

const MANY = 1500;

// A session of its own that is closed, and then the one that has made them all.
const processes = (start, how) => (table) => withDaemon({ harnesses: [crowded('many', MANY)] }, async (d) => {
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const many = await c.newSession({ meta: { harness: 'many' } });

  while (d.descendants().length <= MANY)
    await sleep(50);
  await c.prompt(many.sessionId, 'echo warm');
  await addPause(table, `a turn of a session with ${MANY} processes of 1 MB environment, ${how}`, d, () => c.prompt(many.sessionId, 'echo turn'));
  await addPause(table, `closing another one beside them, ${how}`, d, () => c.call('session/close', { sessionId }, { timeout: 60000 }));
  await addPause(table, `closing theirs, ${how}`, d, () => c.call('session/close', { sessionId: many.sessionId }, { timeout: 60000 }));
  await c.close();
}, start);

const FILES = 200_000, LEVELS = 30_000;
const deleted = async (d, c, sessionId) => {
  await c.call('session/delete', { sessionId });
  while (fs.readdirSync(path.join(d.stateDir, 'removed')).length)
    await sleep(20);
};
const restarted = async (d, c, sessionId) => {
  await c.load(sessionId);
  await c.prompt(sessionId, 'echo again');
};

async function trees(table) {
  const dir = memory && fs.mkdtempSync(path.join(memory, 'acpd-bench-')); // a disk would be all that is seen

  try {
    await withDaemon({ dir }, (d) => treeRows(table, d));
  } finally {
    if (dir)
      execFileSync('rm', ['-rf', dir]); // deeper than Node's own can remove
  }
}

async function treeRows(table, d) {
  const c = await d.client();

  for (const [where, act, what] of [['', deleted, 'deleting a session whose home has'], ['tmp', restarted, 'starting a harness whose tmp has']])
    for (const [make, n, of] of [[manyFiles, FILES, `${FILES} files`], [deepTree, LEVELS, `a tree ${LEVELS} deep`]]) {
      const { sessionId } = await c.newSession();
      const dir = path.join(d.stateDir, 'homes', sessionId, where);

      await c.prompt(sessionId, 'echo once');
      if (act === restarted)
        await c.call('session/close', { sessionId });
      fs.mkdirSync(dir, { recursive: true });
      make(dir, n);
      await addPause(table, `${what} ${of}`, d, () => act(d, c, sessionId));
      if (act === restarted)
        await deleted(d, c, sessionId);
    }
  await c.close();
}

const descriptors = (table) => withDaemon({}, async (d) => {
  const c = await d.client();
  const one = async () => {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo once');
    await c.call('session/close', { sessionId });
  };

  await one();
  await sleep(500);
  const before = d.fdCount();
  for (let i = 0; i < 100; i++)
    await one();
  await sleep(500);
  table.add({ what: 'descriptors per closed session', unit: 'count', value: (d.fdCount() - before) / 100, bar: 0, note: 'of 100' });
  await c.close();
});

const IDLE = 300;

const sigterm = (start, how, prompt, what, bar) => async (table) => {
  const d = await start({ flags: { harnessMax: IDLE } });

  try {
    const c = await d.client();

    for (let i = 0; i < IDLE; i += 10)
      await Promise.all(Array.from({ length: 10 }, async () => {
        const { sessionId } = await c.newSession();

        await c.prompt(sessionId, prompt);
      }));
    const began = performance.now();
    await d.stop({ timeout: 120000, keep: true });
    table.add({ what: `SIGTERM with ${IDLE} idle sessions${what}, ${how}`, unit: 'ms', value: performance.now() - began, bar });
  } finally {
    await d.discard();
    dropPlain(d);
  }
};

const rows = [
  ['newcomers', newcomers],
  ['half lines', halfLines],
  ['descriptors', descriptors],
  ...[[Daemon.start, 'with cgroups where they can be had'], [startPlain, 'without cgroups']].flatMap(([start, how]) => [
    ['processes', processes(start, how)],
    ['end', sigterm(start, how, 'echo idle', '', 5000)],
    ['end', sigterm(start, how, 'ignoreterm; echo idle', ' that ignore it (4.5 s of grace)', 5500)],
  ]),
  ['trees', trees],
];

export async function grows(table) {
  table.section('what grows');
  for (const [, measure] of rows)
    await measure(table);
}
