// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: the programs under test as "targets", the load client, numbers and the table.
//
// A target has `args`, what the load client needs to reach it, `pid`, whose CPU time and memory are looked at, and stop().
// All of them end up at the same agent: the stub of the tests, without a store.

import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { ACPD, Daemon, ROOT, STUB } from '../lib/daemon.mjs';

export { ACPD, ROOT, STUB };
export const KIB = 1024;
export const MIB = 1024 * KIB;
export const AGENT = [STUB, '--no-store'];
export const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-bench-'));
export const program = (name) => path.join(path.dirname(ACPD), 'bench', name);
export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

const children = new Set();
const states = new Set(); // of daemons, removed even where a run is cut short

process.on('exit', () => {
  for (const child of children)
    child.kill('SIGKILL');
  for (const dir of [scratch, ...states])
    fs.rmSync(dir, { recursive: true, force: true });
});

export function launch(command, args, opts = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], ...opts });

  children.add(child);
  child.ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      children.delete(child);
      resolve({ code, signal });
    });
  });
  child.ended.catch(() => {});
  return child;
}

export async function stop(child, signal = 'SIGTERM') {
  child.kill(signal);
  await child.ended;
}

// Runs a program that prints one JSON object.
export async function figures(command, args, opts) {
  const child = launch(command, args.map(String), opts);
  let text = '';

  child.stdout.on('data', (data) => { text += data; });
  const { code, signal } = await child.ended;
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${signal ?? code}\n${text}`);
  return JSON.parse(text);
}

export const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer().on('error', reject).listen(0, '127.0.0.1', () => {
    const { port } = server.address();

    server.close(() => resolve(port));
  });
});

// --- targets -----------------------------------------------------------------------------

export const pipe = () => ({
  name: 'bare pipe', args: ['transport=pipe'], tail: ['--', ...AGENT], stop: async () => {},
});

// The least a relay can be (bare.c). No agent: it only answers /health.
export async function bare({ agent = AGENT, name = 'bare' } = {}) {
  const port = await freePort();
  const child = launch(program(name), [String(port), ...agent]);

  await sleep(100);
  return {
    name: 'bare relay', pid: child.pid, port, stop: () => stop(child, 'SIGKILL'),
    args: [`port=${port}`, `daemon=${child.pid}`],
  };
}

export function harnessFile(more = []) {
  const file = path.join(scratch, 'harnesses.json');
  const [command, ...args] = AGENT;

  fs.writeFileSync(file, JSON.stringify({ harnesses: [{ id: 'bench', command, args }, ...more] }));
  return file;
}

// Where a record of the usage ledger is durable at once, and where the daemon waits for the disk. Undefined: there is none.
const MEMORY_FS = [0x01021994, 0x858458f6]; // tmpfs, ramfs
const inMemory = (dir) => fs.existsSync(dir) && MEMORY_FS.includes(fs.statfsSync(dir).type);
export const memory = ['/dev/shm', '/run', os.tmpdir()].find((dir) => inMemory(dir) && writable(dir));
export const disk = [os.tmpdir(), path.join(ROOT, 'build'), '/var/tmp'].find((dir) => !inMemory(dir) && writable(dir));

function writable(dir) {
  try {
    fs.accessSync(dir, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

// on: a directory below which the daemon's state is kept, for this run only; harness: one besides the stub of all; program: not ACPD
export async function acpd({ on, harness, program: file, ...flags } = {}) {
  const state = on && fs.mkdtempSync(path.join(on, 'acpd-bench-'));
  if (state)
    states.add(state);
  const d = await Daemon.start({
    ...(file && { program: file }),
    flags: { harnessConfig: harnessFile(harness && [harness]), defaultHarness: 'bench', log: 'warn', ...(state && { state }), ...flags },
  });
  const end = async () => {
    await d.stop();
    if (state)
      fs.rmSync(state, { recursive: true, force: true });
  };

  return {
    name: 'acpd', pid: d.pid, daemon: d, stop: end,
    args: [`port=${d.port}`, `daemon=${d.pid}`, `token=${d.tokenFile}`, `cwd=${d.workDir}`],
  };
}

export const client = (target, work, params = {}) => figures(program('client'), [
  work, ...target.args, ...Object.entries(params).map(([k, v]) => `${k}=${v}`), ...(target.tail ?? []),
]);

// Each round puts the work through every target in turn, so that all see the same weather. The targets are made by
// `make`, an array of functions; returns one array of figures per target.
export async function rounds(n, make, work, params) {
  const results = make.map(() => []);

  for (let i = 0; i < n; i++) {
    for (const [at, open] of make.entries()) {
      const target = await open();

      try {
        results[at].push(await client(target, work, params));
      } finally {
        await target.stop();
      }
    }
  }
  return results;
}

// --- cores -------------------------------------------------------------------------------

// Up to two cores we may use, the last ones: the first often serve interrupts.
export function cores() {
  const list = fs.readFileSync('/proc/self/status', 'utf8').match(/^Cpus_allowed_list:\s+(\S+)/m)[1];
  const all = list.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map(Number);

    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });

  return all.slice(-2);
}

// client,agent,daemon
export function placements() {
  const [a, b] = cores();
  const one = { name: 'all on one core', cores: `${a},${a},${a}` };

  return b === undefined ? [one] : [{ ...one, cores: `${b},${b},${b}` },
    { name: 'daemon on a core of its own', cores: `${a},${a},${b}` }];
}

// --- numbers -------------------------------------------------------------------------------

// Other work on the machine only ever makes a figure worse: the best of some rounds is the one to compare.
export const best = (results, key, pick = Math.min) => pick(...results.map((r) => r[key]));

export const show = {
  s: (v) => `${(v / 1000).toFixed(2)} s`, // of milliseconds
  ms: (v) => `${v.toFixed(2)} ms`,
  ns: (v) => `${v.toFixed(0)} ns`,
  us: (v) => `${v.toFixed(1)} µs`,
  us2: (v) => `${v.toFixed(2)} µs`,
  mib: (v) => `${(v / MIB).toFixed(2)} MiB`,
  kib: (v) => `${(v / KIB).toFixed(1)} KiB`,
  rate: (v) => `${(v / 1000).toFixed(0)} k/s`,
  bytes: (v) => `${(v / 1e6).toFixed(0)} MB/s`,
  each: (v) => `${v.toFixed(0)} /s`,
  count: (v) => String(v),
  exponent: (v) => v.toFixed(2),
};

// --- the table -------------------------------------------------------------------------------

// A row: what, unit (a key of show), value, bar (number; undefined: none), atLeast (the bar is a lower one), refs
// [{name, value}] and, where only words say it, note.
export class Table {
  rows = [];

  constructor(title, subject = 'acpd') {
    console.log(`\n${title}\n`);
    this.#print(['what', subject, 'bar', 'verdict', 'beside it in this run (ratio)']);
  }

  #print([what, value, bar, verdict, refs]) {
    console.log(`${what.padEnd(50)} ${value.padStart(11)} ${bar.padStart(13)}  ${verdict.padEnd(7)} ${refs}`.trimEnd());
  }

  add({ what, unit, value, bar, atLeast = false, refs = [], note = '' }) {
    const text = show[unit];
    const ok = bar === undefined ? '' : (atLeast ? value >= bar : value <= bar) ? 'meets' : 'misses';
    const beside = refs.filter((r) => r.value !== undefined).map((r) => {
      const ratio = r.value > 0 ? ` (${(value / r.value).toFixed(2)}x)` : '';

      return `${r.name} ${text(r.value)}${ratio}`;
    });

    this.rows.push({ what, value, bar, verdict: ok, refs });
    this.#print([what, text(value), bar === undefined ? '' : `${atLeast ? '>=' : '<='} ${text(bar)}`, ok,
      [...beside, note].filter(Boolean).join('; ')]);
  }

  section(name) {
    console.log(`-- ${name}`);
  }

  end() {
    const judged = this.rows.filter((r) => r.verdict);
    const missed = judged.filter((r) => r.verdict === 'misses');

    console.log(`\n${judged.length - missed.length} of ${judged.length} bars met`);
    for (const r of missed)
      console.log(`  misses: ${r.what}`);
  }
}

// What the run was made on; figures of different machines, or of a busy one, do not compare.
export function printMachine() {
  const [{ model }] = os.cpus();
  const load = os.loadavg().map((x) => x.toFixed(2)).join(' ');

  console.log(`${os.cpus().length} x ${model.trim()}, Linux ${os.release()}, load ${load}`);
  console.log('Only ratios of one run say something on a shared machine.');
}
