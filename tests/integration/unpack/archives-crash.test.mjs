// SPDX-License-Identifier: Apache-2.0
// build: release
// slow
// kill -9 of acpd or its helper at every kind of system call and at times: DEST is the old tree or the new one, or
// becomes so with the next run, and no staging directory stays. A full disk: a clear error that leaves nothing. Memory.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { spawnSync } from 'node:child_process';
import { FORMATS, f, l, same, x } from '../../archives/cases/common.mjs';
import { CASES } from '../../archives/cases/index.mjs';
import { ACPD, Box, LAYOUTS, TIMEOUT, endFaults, extract, temporary } from '../../archives/run.mjs';
import { SANITIZED } from '../../lib/daemon.mjs';
import { sleep } from '../../lib/rawws.mjs';
import * as procs from '../../lib/procs.mjs';
import { roomy } from '../../lib/roomy.mjs';
import { namesIn } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';

const isRoot = process.geteuid() === 0;

// The leak check of a sanitizer cannot work under strace.
if (SANITIZED)
  process.env.ASAN_OPTIONS = [process.env.ASAN_OPTIONS, 'detect_leaks=0'].filter(Boolean).join(':');

let root;

before(() => {
  root = temporary('acpd-crash-', roomy());
});
after(() => {
  if (!process.env.ACPD_TEST_KEEP)
    fs.rmSync(root, { recursive: true, force: true });
});

function newBox(layout, dir = fs.mkdtempSync(path.join(root, 'box-'))) {
  fs.chmodSync(dir, 0o755);
  return new Box(dir, layout);
}

function pack(box, name, data) {
  const archive = path.join(box.dir, name);

  fs.writeFileSync(archive, data);
  return archive;
}

// The archive that is interrupted, and another one that comes after it.
const FIRST = Array.from({ length: 40 }, (_, i) => ({ file: `d${i % 5}/f${i}`, data: `${i}`.repeat(i * 40), mode: i % 3 ? 0o644 : 0o755 }));
const first = {
  ...Object.fromEntries(FIRST.map((e) => [e.file, e.mode === 0o755 ? x(e.data) : f(e.data)])), 'd1/link': l('../d0/f0'), 'd2/hard': same('d0/f0'), top: f('t'),
};
const FIRST_ENTRIES = [...FIRST, { link: 'd1/link', to: '../d0/f0' }, { hard: 'd2/hard', to: 'd0/f0', mode: 0o755 }, { file: 'top', data: 't' }];
const SECOND = [{ file: 'd0/second', data: '2' }, { file: 'second', data: '2' }];
const second = { 'd0/second': f('2'), second: f('2') };

// Calls at which somebody may die: those that change something, and those that start and end.
const CALLS = ['execve', 'clone', 'clone3', 'mkdirat', 'mkdir', 'openat', 'openat2', 'write', 'pwrite64', 'fchmod', 'fchmodat', 'fchown', 'fchownat', 'lchown',
  'utimensat', 'linkat', 'symlinkat', 'rename', 'renameat', 'renameat2', 'unlinkat', 'fsync', 'fdatasync', 'syncfs', 'setresuid', 'seccomp', 'exit_group'];

// How often each of them is made by one process of a run that goes well.
async function countCalls(archive, box) {
  const log = `${box.dir}/trace`;
  const r = await extract(archive, box.dest, box.args, { command: ['strace', '-f', '-qq', '-o', log, '-e', `trace=${CALLS.join(',')}`, ACPD] });
  const counts = new Map();
  const most = new Map();

  assert.equal(r.code, 0, r.stdout + r.stderr);
  for (const [, who, call] of fs.readFileSync(log, 'utf8').matchAll(/^(\d+) +(\w+)\(/gm)) {
    const n = (counts.get(`${who} ${call}`) ?? 0) + 1;

    counts.set(`${who} ${call}`, n);
    most.set(call, Math.max(n, most.get(call) ?? 0));
  }
  return most;
}

const stagesIn = (dir) => namesIn(dir).filter((n) => n.startsWith('.acpd-stage-'));
const stages = (box) => [...stagesIn(box.dest), ...stagesIn(box.parent)];

// No faults if DEST is one of the trees.
function oneOf(box, trees) {
  const tries = trees.map((tree) => (tree === undefined ? box.unchangedFaults() : box.writtenFaults(tree)));

  return tries.some((faults) => faults.length === 0) ? [] : tries.map((faults) => faults.slice(0, 4));
}

// After a kill: what DEST may be at once, and what it must be after one more run of the same or another archive.
async function recovered(box, again, name) {
  const absent = !box.layout.filled;
  const wrong = [];

  // Into an absent DEST one rename decides.
  if (absent)
    wrong.push(...oneOf(box, [undefined, first]).map((faults) => ['at once', faults]));
  const r = await extract(again, box.dest, box.args);
  wrong.push(...endFaults(r).map((text) => [text, r.stdout, r.stderr]));
  if (r.code !== 0)
    wrong.push(['the next run', r.stdout]);
  else
    wrong.push(...oneOf(box, name === 'first.tar' ? [first] : [second, { ...first, ...second }]));
  wrong.push(...stages(box).map((stage) => `${stage} is left`), ...box.outsideFaults());
  return wrong;
}

const usable = LAYOUTS.filter((one) => (isRoot ? ['uid', 'uid-parent', 'uid-filled'] : ['own', 'own-filled']).includes(one.name));

// Which of a call's times it dies at, of n: the first and the last in each layout; those between are dealt to the layouts, since each costs a
// run under strace.
function momentsOf(call, n, turn) {
  const between = [2, Math.ceil(n / 2), n - 1].filter((k) => k > 1 && k < n);

  return [...new Set([1, ...between.filter((_, i) => i % usable.length === turn), n])].map((k) => [call, k]);
}

const ROUNDS = 6; // in each layout
for (const [turn, layout] of usable.entries()) {
  test(`killed at system calls (${layout.name})`, async () => {
    const model = newBox(layout);
    const data = { 'first.tar': FORMATS.ustar(FIRST_ENTRIES), 'second.tar': FORMATS.ustar(SECOND) };
    const most = await countCalls(pack(model, 'first.tar', data['first.tar']), model);
    const points = [...most].flatMap(([call, n]) => momentsOf(call, n, turn));
    let killed = 0;

    assert.ok(points.length >= 20, JSON.stringify([...most]));
    for (const [i, [call, n]] of points.entries()) {
      const box = newBox(layout);
      const archives = Object.entries(data).map(([name, bytes]) => [pack(box, name, bytes), name]);

      box.mark();
      const r = await extract(archives[0][0], box.dest, box.args,
        { command: ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${n}`, ACPD] });
      killed += r.code === 0 ? 0 : 1;
      assert.ok(!r.late, `${call} ${n}: did not end`);
      assert.deepEqual(await recovered(box, ...archives[i % 2]), [], `killed at the ${n}th ${call}, then ${archives[i % 2][1]}`);
      box.remove();
    }
    assert.ok(killed >= points.length / 2, `only ${killed} of ${points.length} were killed`);
  });

  test(`killed at times, acpd or its helper (${layout.name})`, async () => {
    const files = Array.from({ length: 1500 }, (_, i) => ({ file: `d${i % 9}/f${i}`, data: `${i}` }));
    const bytes = FORMATS.zst([...FIRST_ENTRIES, ...files.map((e) => ({ ...e, file: `many/${e.file}` }))]);
    const tree = { ...first, ...Object.fromEntries(files.map((e) => [`many/${e.file}`, f(e.data)])) };

    for (let i = 0; i < ROUNDS; i++) {
      const box = newBox(layout);
      const archive = pack(box, 'a.tar.zst', bytes);

      box.mark();
      await extract(archive, box.dest, box.args, {
        started: (child) => setTimeout(() => {
          // Odd rounds kill the command itself, even ones a process of the helper.
          const victims = i % 2 ? [child] : procs.descendants(child.pid);

          for (const { pid } of victims.slice(0, 1 + (i % 3)))
            procs.signal(pid, 'SIGKILL');
        }, 5 + (i + turn / usable.length) * 20), // at other moments in each layout
      });
      if (!layout.filled)
        assert.deepEqual(oneOf(box, [undefined, tree]), [], `round ${i}, at once`);
      const r = await extract(archive, box.dest, box.args);
      assert.equal(r.code, 0, r.stdout + r.stderr);
      assert.deepEqual([...box.writtenFaults(tree), ...stages(box), ...box.outsideFaults()], [], `round ${i}`);
      box.remove();
    }
  });
}

// A small disk with the box on it; undefined if we may not mount one.
function smallDisk(t, options) {
  const disk = fs.mkdtempSync(path.join(root, 'disk-'));

  if (!isRoot || spawnSync('mount', ['-t', 'tmpfs', '-o', `mode=755,${options}`, 'tmpfs', disk]).status !== 0)
    return undefined;
  t.after(() => {
    spawnSync('umount', [disk]);
  });
  return disk;
}

const noise = crypto.createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(9 << 20));
const FULL = [
  ['no bytes left', 'size=4m', [{ file: 'ok', data: 'ok' }, { file: 'big', data: noise }]],
  ['no bytes left in many files', 'size=4m', Array.from({ length: 1200 }, (_, i) => ({ file: `d${i % 10}/f${i}`, data: noise.subarray(i * 10, i * 10 + 8000) }))],
  ['no inodes left', 'size=40m,nr_inodes=200', Array.from({ length: 600 }, (_, i) => ({ file: `d${i % 10}/f${i}`, data: 'x' }))],
];

for (const layout of LAYOUTS.filter((one) => one.uid !== undefined)) {
  for (const [name, options, entries] of FULL) {
    for (const format of ['zst', 'zip']) {
      test(`a full disk: ${name} (${layout.name}, ${format})`, { skip: layout.skip }, async (t) => {
        const disk = smallDisk(t, options);

        if (disk === undefined)
          return t.skip('no right to mount a small disk');
        const archive = path.join(root, `full-${crypto.randomUUID()}`);
        const box = newBox(layout, disk);

        fs.writeFileSync(archive, FORMATS[format](entries));
        box.mark();
        const free = fs.statfsSync(disk);
        const r = await extract(archive, box.dest, box.args);

        assert.equal(r.code, 1, r.stdout + r.stderr);
        assert.equal(r.result.failed.reason, 'NO_SPACE');
        assert.deepEqual([...box.unchangedFaults(), ...stages(box), ...box.outsideFaults()], []);
        // What a process that just ended had open is given back a moment later.
        await until(() => {
          const now = fs.statfsSync(disk);

          return now.bfree === free.bfree && now.ffree === free.ffree;
        }, 'all of it is free again');
      });
    }
  }
}

// The largest resident size of any process of the helper, looked at every few milliseconds.
async function peakOf(archive, dest, args) {
  const peaks = new Map();
  let child;
  const running = extract(archive, dest, args, { started: (c) => { child = c; }, timeout: TIMEOUT * 4 });
  let ended = false;
  const done = running.finally(() => { ended = true; });

  while (!ended) {
    for (const { pid } of procs.descendants(child.pid)) {
      const kib = parseInt(procs.status(pid)?.VmHWM, 10); // none of one that has ended

      // By process: one that was seen just before its exec had another name, and another memory, which is gone.
      if (kib)
        peaks.set(pid, Math.max(kib, peaks.get(pid) ?? 0));
    }
    await sleep(10);
  }
  return { r: await done, kib: [...peaks.values()].reduce((a, b) => a + b, 0), looks: peaks.size };
}

test('memory: 32 MiB, whatever the archive', async () => {
  const layout = LAYOUTS[0];
  const heaviest = CASES.filter((c) => (c.big && !c.slow) || /gzip-long-name|window-8-mib|path-66000/.test(c.name));
  const over = [];
  let seen = 0;

  assert.ok(heaviest.length >= 15);
  for (const c of heaviest) {
    const box = newBox(layout);
    const archive = pack(box, c.file, c.build({ outside: box.far, dest: box.dest }));
    const { r, kib, looks } = await peakOf(archive, box.dest, box.args);

    assert.ok(!r.late && [0, 3].includes(r.code), `${c.name}: exit ${r.code ?? r.signal}`);
    seen += looks;
    if (kib > 32 << 10)
      over.push(`${c.name}: ${kib} KiB`);
    box.remove();
  }
  assert.ok(seen > 0, 'no process was seen');
  if (!process.env.ACPD_TEST_SLOW && !SANITIZED)
    assert.deepEqual(over, []);
});
