// SPDX-License-Identifier: Apache-2.0
// make bench: what the daemon costs, each figure beside a bare reference of the same run. It prints and never fails on
// a figure. BENCH_QUICK=1 makes a short run of it, to see that it works. Arguments name the parts to run (below); none: all.

import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import * as procs from '../lib/procs.mjs';
import { archives } from './archives.mjs';
import { confine } from './confine.mjs';
import { durable } from './durable.mjs';
import { egress } from './egress.mjs';
import { growth } from './growth.mjs';
import { grows } from './grows.mjs';
import { harnessTurns } from './harness.mjs';
import { hogs } from './hogs.mjs';
import { relay } from './mcp.mjs';
import { modelCalls } from './model.mjs';
import {
  ACPD, KIB, MIB, ROOT, STUB, Table, acpd, bare, best, client, disk, figures, harnessFile, memory, pipe, placements,
  printMachine, program, rounds, scratch, sleep,
} from './rig.mjs';

const quick = process.env.BENCH_QUICK === '1';
const N = quick
  ? { starts: 5, rounds: 1, turns: 500, updates: 100_000, conns: 50, sessions: 20, stalled: 200_000,
    opens: 20, records: 500, durable: { rounds: 1, turns: 300 }, harness: 2, egress: { rounds: 1, mib: 256 }, hogs: { ms: 500 }, confine: { starts: 10, rounds: 3, calls: 20_000 }, relay: { rounds: 1, calls: 500 }, model: { rounds: 1, calls: 10, pieces: 100, mib: 4 } }
  : { starts: 40, rounds: 5, turns: 3000, updates: 1_000_000, conns: 200, sessions: 100, stalled: 1_500_000,
    opens: 100, records: 3000, durable: { rounds: 5, turns: 2000 }, harness: 15, egress: { rounds: 5, mib: 2048 }, hogs: { ms: 8000 }, confine: { starts: 200, rounds: 20, calls: 400_000 }, relay: { rounds: 5, calls: 5000 }, model: { rounds: 5, calls: 40, pieces: 250, mib: 32 } };
const SIZE = 200;

const counted = { lost: 0, doubled: 0, gaps: 0, updates: 0 };

// The journal is on, so whatever is missing is a fault.
function tally(results) {
  for (const r of results) {
    counted.lost += r.lost;
    counted.doubled += r.doubled;
    counted.gaps += r.gaps;
    counted.updates += r.got;
  }
}

// What make static linked, if it did.
const STATIC = [path.join(ROOT, 'build', 'static', 'acpd')].filter((file) => fs.existsSync(file));

// How to start the daemon with its state there.
const serving = (program, dir, token) => [program, 'serve', '--listen', '127.0.0.1:@PORT@', '--state', path.join(dir, 'state'),
  '--run-dir', path.join(dir, 'run'), '--workspaces', path.join(dir, 'ws'), '--token-file', token, '--harness-config', harnessFile()];

async function exec(table) {
  const token = path.join(scratch, 'token');
  const start = (until, ...argv) => figures(program('start'), [N.starts, until, ...argv]);

  fs.writeFileSync(token, 'a-token-for-the-benchmark\n', { mode: 0o600 });
  const relay = await start('/health', program('bare'), '@PORT@');
  const linked = await start('/health', program('bare-linked'), '@PORT@');
  const nothing = await start('exit', 'true');
  const version = await start('exit', ACPD, '--version');
  const refs = [{ name: 'bare relay', value: relay.median }, { name: 'with our libraries', value: linked.median },
    { name: 'exec true', value: nothing.median }, { name: 'acpd --version', value: version.median }];

  for (const [file, name] of [[ACPD, 'exec to healthy'], ...STATIC.map((it) => [it, 'the static build'])])
    for (const [on, where] of [[disk, 'on disk'], ...(memory ? [[memory, 'in memory']] : [])]) {
      const dir = fs.mkdtempSync(path.join(on, 'acpd-bench-'));

      try {
        const run = await start('/health', ...serving(file, dir, token));

        table.add({
          what: `${name}, state ${where}, median of ${N.starts}`, unit: 'ms', value: run.median, bar: 2.5, refs,
          note: `${run.min.toFixed(1)} to ${run.max.toFixed(1)}`,
        });
      } finally {
        fs.rmSync(dir, { recursive: true });
      }
    }
}

async function idle(table) {
  const targets = [await acpd(), await bare(), await bare({ name: 'bare-linked' })];

  for (const file of STATIC)
    targets.push(await acpd({ program: file }));
  await sleep(3000);
  const [us, ref, linked, whole] = targets.map(({ pid }) => ({
    rss: procs.rss(pid), pss: procs.pss(pid), dirty: procs.privateDirty(pid),
  }));
  const row = (what, key, bar) => table.add({
    what, unit: 'mib', value: us[key], bar,
    refs: [{ name: 'bare relay', value: ref[key] }, { name: 'with our libraries', value: linked[key] },
      ...(whole ? [{ name: 'the static build', value: whole[key] }] : [])],
  });

  row('idle RSS, 3 s after start', 'rss', 3 * MIB);
  row('idle PSS', 'pss', 2 * MIB);
  row('idle private dirty', 'dirty', 1.5 * MIB);
  for (const target of targets)
    await target.stop();
}

async function units(table) {
  const daemon = await acpd({ maxConnections: N.conns + 10 });
  const relay = await bare();
  const conns = await client(daemon, 'conns', { n: N.conns });
  const plain = await client(relay, 'conns', { n: N.conns, transport: 'tcp' });

  await daemon.stop();
  table.add({
    what: `RSS per idle connection, of ${N.conns}`, unit: 'kib', value: conns.rss, bar: 8 * KIB,
    refs: [{ name: 'bare relay', value: plain.rss }], note: `private dirty ${(conns.dirty / KIB).toFixed(1)} KiB`,
  });
  const other = await acpd();
  // A session falls idle 5 s after its last turn.
  const sessions = await client(other, 'sessions', { n: N.sessions, settle: 6500 });

  table.add({
    what: `RSS per idle session, of ${N.sessions}, after a turn each`, unit: 'kib', value: sessions.rss, bar: 32 * KIB,
    refs: [{ name: 'PSS of its agent', value: procs.pss(procs.descendants(relay.pid)[0].pid) }],
    note: `private dirty ${(sessions.dirty / KIB).toFixed(1)} KiB`,
  });
  await other.stop();
  await relay.stop();
}

// Where the usage ledger waits for a disk, the disk is all that a round trip shows: see records().
const inMemory = (flags) => acpd({ on: memory, ...flags });

async function roundTrips(table) {
  for (const { name, cores } of placements()) {
    const [plain, relay, us, off] = await rounds(
      N.rounds, [pipe, bare, inMemory, () => inMemory({ journal: 'off' })], 'rtt', { n: N.turns, cores },
    );
    const row = (what, key, bar, refs) => table.add({
      what, unit: 'us', value: best(us, key), bar,
      refs: refs.map(([label, r]) => ({ name: label, value: best(r, key) })),
    });

    tally(us);
    table.section(`round trip of a prompt turn, ${name}`);
    row('p50', 'p50_us', 1.5 * best(plain, 'p50_us'), [['bare pipe', plain], ['bare relay', relay], ['journal off', off]]);
    row('p50, the bar taken against the bare relay', 'p50_us', 1.5 * best(relay, 'p50_us'), [['bare relay', relay]]);
    row('p99', 'p99_us', undefined, [['bare pipe', plain], ['bare relay', relay], ['journal off', off]]);
    row('CPU of the daemon', 'cpu_us', 15, [['bare relay', relay], ['journal off', off]]);
  }
}

// A session that was given so many secrets, which are looked for in each update.
async function secretive(flags) {
  const target = await acpd(flags);

  target.args.push('secrets=8');
  return target;
}

async function updates(table, work, name, cores) {
  const n = work === 'flood' ? N.updates : N.updates / 2;
  const [plain, relay, on, off, searched] = await rounds(
    N.rounds, [pipe, bare, acpd, () => acpd({ journal: 'off' }), secretive], work, { n, size: SIZE, cores },
  );
  const rates = (r) => best(r, 'per_s', Math.max);
  const refs = [{ name: 'bare pipe', value: rates(plain) }, { name: 'bare relay', value: rates(relay) }];
  const cpu = { name: 'bare relay', value: best(relay, 'cpu_us') };
  const gaps = off.reduce((sum, r) => sum + r.gaps, 0);

  tally(on);
  table.section(`updates of ${SIZE} B, written ${work === 'flood' ? 'in blocks of 64 KiB' : 'line by line'}, ${name}`);
  table.add({ what: 'journal on', unit: 'rate', value: rates(on), bar: 300_000, atLeast: true, refs });
  table.add({ what: 'journal on, CPU each', unit: 'us2', value: best(on, 'cpu_us'), bar: 3, refs: [cpu] });
  table.add({ what: 'journal on, 8 secrets', unit: 'rate', value: rates(searched), bar: 300_000, atLeast: true,
    refs: [{ name: 'no secret', value: rates(on) }] });
  table.add({ what: 'journal on, 8 secrets, CPU each', unit: 'us2', value: best(searched, 'cpu_us'), bar: 3,
    refs: [{ name: 'no secret', value: best(on, 'cpu_us') }] });
  table.add({
    what: 'journal off', unit: 'rate', value: rates(off), bar: 300_000, atLeast: true, refs,
    note: `${gaps} gaps announced, ${off.reduce((sum, r) => sum + r.lost, 0)} updates in them`,
  });
  table.add({ what: 'journal off, CPU each', unit: 'us2', value: best(off, 'cpu_us'), bar: 3, refs: [cpu] });
  table.add({ what: 'journal on, peak RSS meanwhile', unit: 'mib', value: best(on, 'peak_rss', Math.max) });
}

async function stalled(table) {
  const mb = Math.round(N.stalled * SIZE / 1e6);
  const run = async (flags, params) => {
    const target = await acpd(flags);

    try {
      return await client(target, 'stall', { n: N.stalled, size: SIZE, ...params });
    } finally {
      await target.stop();
    }
  };
  const closed = await run({}, { hold: 5000 }); // a reader is given some seconds to come back
  const waits = await run({ backlogMax: 4 * 1024 * MIB }, { read: 1 });
  const off = await run({ journal: 'off' });
  const row = (what, r, note) => table.add({
    what, unit: 'mib', value: r.grown, bar: 64 * MIB, note: `${note}; ${(r.written / 1e6).toFixed(0)} MB produced`,
  });

  tally([waits]);
  table.section(`a reader that stalls while ${mb} MB are produced: growth of the daemon`);
  row('closed past the default --backlog-max', closed, `close code ${closed.close}`);
  row('never closed, reads it all afterwards', waits,
    `then ${waits.got} read, ${waits.lost} lost, ${waits.doubled} doubled, peak ${(waits.peak_read / MIB).toFixed(1)} MiB`);
  row('journal off', off, `close code ${off.close}, ${off.gaps} gaps announced`);
}

// Loading a session again reads all of its journal: what a client that lost its history has to wait for.
async function replay(table) {
  const [[us]] = await rounds(1, [acpd], 'load', { n: N.updates, size: SIZE });

  table.section(`a second connection loads a session of ${N.updates} updates`);
  table.add({
    what: 'replay from the journal', unit: 'rate', value: us.per_s,
    note: us.close ? `CLOSED with ${us.close} after ${us.got}` : `${us.got} came, ${us.lost} lost, ${us.doubled} doubled`,
  });
  table.add({ what: 'replay, CPU each', unit: 'us2', value: us.cpu_us });
}

async function opens(table) {
  const [[one]] = await rounds(1, [acpd], 'opens', { n: N.opens });
  const [[many]] = await rounds(1, [acpd], 'opens', { n: N.opens, width: 16 });
  const relay = await bare();

  table.section(`${N.opens} sessions opened, each with a process of its own (stub)`);
  table.add({ what: 'one after the other', unit: 'each', value: one.per_s });
  table.add({ what: '16 asked for at a time', unit: 'each', value: many.per_s, refs: [{ name: 'one by one', value: one.per_s }] });
  table.add({ what: 'CPU of the daemon each', unit: 'us', value: one.cpu_us, refs: [{ name: '16 at a time', value: many.cpu_us }] });
  table.add({
    what: 'RSS of the daemon per open session, no turn yet', unit: 'kib', value: one.rss,
    refs: [{ name: 'PSS of its process', value: procs.pss(procs.descendants(relay.pid)[0].pid) }],
    note: `private dirty ${(one.dirty / KIB).toFixed(1)} KiB`,
  });
  await relay.stop();
}

// A turn is answered when its record is durable: waiting sessions share a sync.
async function records(table) {
  table.section('turns with the usage ledger in memory, and on the disk whose sync each of them waits for');
  if (!memory || !disk) {
    console.log(`left out: there is no ${memory ? 'disk' : 'file system in memory'} to write to`);
    return;
  }
  for (const width of [1, 4, 16]) {
    const [ram, real] = await rounds(Math.min(N.rounds, 3), [inMemory, () => acpd({ on: disk })], 'turns', { n: N.records, width });
    const rate = (r) => best(r, 'per_s', Math.max);
    const who = width === 1 ? 'one session' : `${width} sessions at once`;

    table.add({ what: `on the disk, ${who}`, unit: 'each', value: rate(real), refs: [{ name: 'in memory', value: rate(ram) }] });
    table.add({ what: '  a turn takes longer by', unit: 'us', value: width * (1e6 / rate(real) - 1e6 / rate(ram)) });
    table.add({ what: '  CPU of the daemon each, its syncs included', unit: 'us', value: best(real, 'cpu_us'),
      refs: [{ name: 'in memory', value: best(ram, 'cpu_us') }] });
  }
}

function strippedSize(file) {
  const copy = path.join(scratch, 'stripped');

  execFileSync('strip', ['-o', copy, file]);
  return fs.statSync(copy).size;
}

async function rest(table) {
  table.section('the rest');
  table.add({
    what: 'binary, stripped', unit: 'kib', value: strippedSize(ACPD), bar: 2048 * KIB,
    refs: [{ name: 'bare relay', value: strippedSize(program('bare')) }, { name: 'stub agent', value: strippedSize(STUB) }],
  });
  table.add({
    what: 'updates lost or doubled, journal on', unit: 'count', value: counted.lost + counted.doubled + counted.gaps, bar: 0,
    note: `of ${counted.updates}`,
  });
}

async function floods(table) {
  for (const { name, cores } of placements()) {
    await updates(table, 'flood', name, cores);
    await updates(table, 'lineflood', name, cores);
  }
}

const parts = {
  exec, idle, units, roundTrips, floods, stalled, replay, opens, records, durable: (t) => durable(t, N.durable), mcp: (t) => relay(t, N.relay), model: (t) => modelCalls(t, N.model), harness: (t) => harnessTurns(t, N.harness),
  archives: (t) => archives(t, quick), confine: (t) => confine(t, N.confine), egress: (t) => egress(t, N.egress), hogs: (t) => hogs(t, N.hogs),
  grows, growth: (t) => growth(t, quick), rest,
};
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(parts, name));

if (unknown.length) {
  console.error(`no such part: ${unknown.join(' ')}; there are ${Object.keys(parts).join(' ')}`);
  process.exit(2);
}
printMachine();
const table = new Table('acpd beside bare references');

for (const [name, part] of Object.entries(parts))
  if (!asked.length || asked.includes(name))
    await part(table);
table.end();
