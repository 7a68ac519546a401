// SPDX-License-Identifier: Apache-2.0
// Archives: unpacking beside GNU tar, bsdtar and unzip on the same archive and the same file system, and what looks at a tree afterwards
// beside tar. transfers.mjs puts the same archives through a daemon.
//
// Whatever is timed runs as the helper's worker does, SCHED_BATCH and niced (cost.c); the tools take turns, and the best of some rounds counts.

import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { filesBelow } from '../lib/vanishing.mjs';
import { ACPD, MIB, best, figures, program } from './rig.mjs';
import { base, ext4, has, makeArchives, makeTree, sizes } from './trees.mjs';
import { transfers } from './transfers.mjs';

const UNPACK = path.join(path.dirname(ACPD), 'acpd-unpack');
const ROOM = { quick: 700 * MIB, full: 6000 * MIB };
const BARS = { 'tar.gz': 1050, 'tar.zst': 700 }; // ms on tmpfs for the whole tree, 22 k files
const PEAK = 32 * MIB;
const AS_TAR = 1.2; // a baseline beside tar c of the same tree

// --- running -------------------------------------------------------------------------------------

export const remove = (dir) => execFileSync('rm', ['-rf', dir]);

// A job of the helper, in a file that becomes its standard input; a pack job writes to `out` (descriptor 3).
class Jobs {
  #n = 0;

  constructor(dir) {
    this.dir = dir;
  }

  async run(verb, job, { peak = false, out } = {}) {
    const file = path.join(this.dir, `job-${++this.#n}`);

    fs.writeFileSync(file, `${JSON.stringify(job)}\n`);
    const fds = [fs.openSync(file, 'r'), ...(out ? [fs.openSync(out, 'w')] : [])];
    try {
      return await figures(program('cost'), ['-n', ...(peak ? ['-p'] : []), UNPACK, verb],
        { stdio: [fds[0], 'pipe', 'inherit', ...(out ? [fds[1]] : [])] });
    } finally {
      fds.forEach((fd) => fs.closeSync(fd));
    }
  }
}

const cost = (...argv) => figures(program('cost'), ['-n', ...argv]);

// --- unpacking -------------------------------------------------------------------------------------

const FLAGS = { tar: [], 'tar.gz': ['-z'], 'tar.zst': ['--zstd'] };
const as = ['--no-same-owner'];

// {name, run(archive, target)}: target does not exist for acpd, and is empty for the others
const tools = [
  { name: 'acpd', fresh: true, fits: () => true, run: (a, to) => cost(ACPD, 'archive', 'extract', a.file, to) },
  { name: 'GNU tar', fits: (a) => a.format in FLAGS, run: (a, to) => cost('tar', ...FLAGS[a.format], ...as, '-xf', a.file, '-C', to) },
  { name: 'bsdtar', fits: () => has('bsdtar'), run: (a, to) => cost('bsdtar', ...as, '-xf', a.file, '-C', to) },
  { name: 'unzip', fits: (a) => a.format === 'zip' && has('unzip'), run: (a, to) => cost('unzip', '-q', a.file, '-d', to) },
];

async function once(tool, a, where) {
  const to = path.join(where, 'unpacked');

  if (!tool.fresh)
    fs.mkdirSync(to);
  try {
    return await tool.run(a, to);
  } finally {
    remove(to);
  }
}

async function unpackOne(table, jobs, a, place, n, whole) {
  const list = tools.filter((t) => t.fits(a));
  const results = list.map(() => []);
  const to = path.join(place.dir, 'unpacked');

  table.section(`${a.name}.${a.format} (${(a.bytes / 1e6).toFixed(0)} MB) unpacked on ${place.name}`);
  let alone;
  try {
    alone = await jobs.run('extract', { target: to, sources: [{ archive: a.file }] }, { peak: true });
  } finally {
    remove(to);
  }
  for (let i = 0; i < n; i++) {
    for (const [at, tool] of list.entries())
      results[at].push(await once(tool, a, place.dir));
  }
  const refs = (key) => list.slice(1).map((t, i) => ({ name: t.name, value: best(results[i + 1], key) }));
  const bar = whole && place.bars && a.name === 'tree' ? BARS[a.format] : undefined;

  table.add({ what: `time, best of ${n}`, unit: 's', value: best(results[0], 'ms'), bar, refs: refs('ms') });
  table.add({ what: 'CPU, user and system', unit: 's', value: best(results[0], 'cpu_ms'),
    refs: [{ name: 'acpd-unpack alone', value: alone.cpu_ms }, ...refs('cpu_ms')] });
  table.add({ what: 'peak RSS, keeper and worker', unit: 'mib', value: alone.peak, bar: PEAK, refs: refs('rss') });
}

// --- what looks at a tree -----------------------------------------------------------------------------

const exclude = '--exclude=.git';
const quicker = (a, b) => (a.ms < b.ms ? a : b);

// Files that are not next to each other get another line.
function change(tree, n) {
  const files = filesBelow(tree).filter((file) => file.endsWith('.js'));

  for (let i = 0; i < n; i++)
    fs.appendFileSync(files[Math.floor(i * files.length / n)], '// changed\n');
}

async function looks(table, jobs, dir, n) {
  const tree = path.join(dir, 'tree');
  const [snap, patch, out] = ['snapshot', 'patch', 'out'].map((x) => path.join(dir, x));
  const job = { root: tree, dir: snap, ignore: 'none' };
  const tars = () => cost('tar', exclude, '-C', tree, '-cf', out, '.');
  const gz = await cost('tar', exclude, '-C', tree, '-czf', out, '.');
  const row = (what, r, ref, bar) => {
    table.add({ what, unit: 's', value: r.ms, bar, refs: [ref] });
    table.add({ what: '  CPU', unit: 's', value: r.cpu_ms });
    table.add({ what: '  peak RSS', unit: 'mib', value: r.rss, bar: PEAK });
  };
  const ref = (name, r) => ({ name, value: r.ms });
  const fresh = async () => {
    remove(snap);
    fs.mkdirSync(snap, { mode: 0o700 });
    return jobs.run('snapshot', { ...job, turn: 0 });
  };

  table.section('looking at the tree (tmpfs)');
  let tar = await tars(), first = await fresh();
  for (let i = 1; i < n; i++) {
    tar = quicker(tar, await tars());
    first = quicker(first, await fresh());
  }
  row('baseline snapshot', first, ref('tar c', tar), AS_TAR * tar.ms);
  change(tree, 10);
  row('snapshot with 10 files changed', await jobs.run('snapshot', { ...job, turn: 1, patch }), ref('tar c', tar));
  row('diff since the baseline', await jobs.run('diff', { ...job, since: 0, patch }), ref('tar c', tar));
  row('export as tar.gz', await jobs.run('pack', { root: tree, format: 'tar.gz', ignore: 'none' }, { out }), ref('tar cz', gz));
  [snap, patch, out].forEach(remove);
}

// --- all of it ------------------------------------------------------------------------------------------

// Something that is not there must not take the rest with it.
async function leftOut(what, fn) {
  try {
    return await fn();
  } catch (e) {
    console.log(`left out: ${what}: ${e.message.trim().split('\n')[0]}`);
    return undefined;
  }
}

export async function archives(table, quick) {
  const dir = base(quick ? ROOM.quick : ROOM.full);
  const size = sizes(quick);

  table.section('archives');
  if (!dir) {
    console.log('left out: there is no file system in memory with enough room');
    return;
  }
  const jobs = new Jobs(dir);
  const { files, bytes } = makeTree(path.join(dir, 'tree'), size);
  const list = makeArchives(dir, size);
  const disk = await leftOut('ext4 in a file', () => ext4(dir, quick ? 400 * MIB : 3000 * MIB));
  const places = [{ name: 'tmpfs', dir, bars: true }, ...(disk ? [{ name: 'ext4 in a file on tmpfs', dir: disk }] : [])];

  console.log(`the tree: ${files} files, ${(bytes / 1e6).toFixed(0)} MB`);
  for (const place of places) {
    for (const a of list) {
      const n = quick || a.name === 'large' ? 1 : 3;

      await leftOut(`${a.name}.${a.format}`, () => unpackOne(table, jobs, a, place, n, !quick));
    }
  }
  await leftOut('snapshots and exports', () => looks(table, jobs, dir, quick ? 1 : 2));
  await transfers(table, dir, list, quick);
}

