// SPDX-License-Identifier: Apache-2.0
// Runs a case through `acpd archive extract` in a box of its own, with canaries around it, and says what was wrong.
//
//   node tests/archives/run.mjs list               names and verdicts
//   node tests/archives/run.mjs write DIR [NAME]   the archives as files
//   node tests/archives/run.mjs seeds DIR          small ones, for the fuzzer

import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CASES } from './cases/index.mjs';
import { commandProblems } from '../lib/described-commands.mjs';
import { changes, compare, hazards, scan, snapshot } from './tree.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const ACPD = path.resolve(ROOT, process.env.ACPD ?? 'build/release/acpd');
export const TIMEOUT = 30000 * Number(process.env.ACPD_TEST_SLOW ?? 1);
export const NOBODY = 65534;
const isRoot = process.geteuid() === 0;

// How DEST is found: whose its parent is (and so whose it is, when it is there), whether it is there, and with what.
// With a uid the command is run as root. skip: why a test of it cannot run.
export const LAYOUTS = [
  { name: 'own', filled: false },
  { name: 'own-filled', filled: true },
  { name: 'uid', uid: NOBODY, parent: 0, filled: false },
  { name: 'uid-parent', uid: NOBODY, parent: NOBODY, filled: false },
  { name: 'uid-filled', uid: NOBODY, parent: NOBODY, filled: true },
].map((layout) => ({ ...layout, skip: layout.uid !== undefined && !isRoot && 'needs root' }));

// What an escape would touch: files, a directory, where a link leads. Everyone may write here, so that only the extractor
// itself stands before them.
function canary(dir) {
  fs.mkdirSync(`${dir}/directory`, { recursive: true });
  fs.writeFileSync(`${dir}/file`, 'untouched\n', { mode: 0o644 });
  fs.writeFileSync(`${dir}/directory/file`, 'untouched too\n', { mode: 0o640 });
  fs.writeFileSync(`${dir}/target`, 'a link leads here\n');
  fs.symlinkSync('target', `${dir}/link`);
  fs.chmodSync(dir, 0o777);
  for (const name of ['file', 'target', 'directory/file'])
    fs.chmodSync(`${dir}/${name}`, 0o666);
  fs.chmodSync(`${dir}/directory`, 0o777);
}

function fill(dest, uid) {
  const names = ['', '/zz-kept', '/zz-kept/file', '/zz-kept.bin', '/zz-kept/link'];

  fs.mkdirSync(`${dest}/zz-kept`, { recursive: true });
  fs.writeFileSync(`${dest}/zz-kept/file`, 'kept\n', { mode: 0o600 });
  fs.writeFileSync(`${dest}/zz-kept.bin`, crypto.randomBytes(3000));
  fs.symlinkSync('file', `${dest}/zz-kept/link`);
  for (const name of names)
    fs.lchownSync(dest + name, uid, uid);
}

export function temporary(prefix, top = os.tmpdir()) {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? top, prefix));

  fs.chmodSync(dir, 0o755);
  return dir;
}

// A parent with a canary beside DEST; another canary is where absolute names lead.
export class Box {
  constructor(dir, layout) {
    const owner = layout.parent ?? process.geteuid();

    Object.assign(this, { dir, layout, uid: layout.uid ?? process.geteuid(), parent: `${dir}/parent`, dest: `${dir}/parent/dest`, far: `${dir}/far` });
    fs.mkdirSync(this.parent, { recursive: true });
    canary(`${this.parent}/outside`);
    canary(this.far);
    if (layout.filled)
      fill(this.dest, owner);
    if (isRoot)
      fs.chownSync(this.parent, owner, owner);
  }

  markOutside() {
    this.before = { parent: this.#around(), outside: snapshot(`${this.parent}/outside`), far: snapshot(this.far) };
  }

  // To be called when all is in place: what is there now is what must be there later.
  mark() {
    this.markOutside();
    this.destBefore = fs.existsSync(this.dest) ? snapshot(this.dest) : 'absent';
    this.kept = fs.existsSync(this.dest) ? scan(this.dest) : new Map();
    this.keptLines = new Set(this.destBefore.split('\n').slice(1));
    return this;
  }

  #around() {
    return fs.readdirSync(this.parent).filter((n) => n !== 'dest').join(' ');
  }

  get args() {
    return this.layout.uid === undefined ? [] : ['--uid', String(this.layout.uid)];
  }

  // Faults of everything that is not DEST.
  outsideFaults() {
    const around = this.#around();
    const faults = [
      ...changes(this.before.outside, snapshot(`${this.parent}/outside`)).map((line) => `beside DEST: ${line}`),
      ...changes(this.before.far, snapshot(this.far)).map((line) => `far from DEST: ${line}`),
    ];

    return around === this.before.parent ? faults : [...faults, `beside DEST stand now: ${around}`];
  }

  // Faults of DEST after a refusal or a failure: it is as it was, but for the time at which something was last made in it.
  unchangedFaults() {
    const now = fs.existsSync(this.dest) ? snapshot(this.dest) : 'absent';
    const timeless = (text) => text.replace(/^(\. \S+ \S+) \d+$/m, '$1');

    return changes(timeless(this.destBefore), timeless(now)).map((line) => `DEST was not left as it was: ${line}`);
  }

  // Faults of DEST against an expected tree, beside what it held before.
  writtenFaults(tree) {
    if (!fs.existsSync(this.dest))
      return ['DEST is not there'];
    const found = scan(this.dest);
    const keptNow = new Set(snapshot(this.dest).split('\n').slice(1));
    const lost = [...this.keptLines].filter((line) => this.layout.filled && !keptNow.has(line));
    const owner = fs.lstatSync(this.dest).uid;

    return [
      ...compare(found, tree, { uid: this.uid, kept: new Set(this.kept.keys()) }), ...hazards(found, this.kept), ...lost.map((line) => `lost or changed: ${line}`),
      ...(owner === this.uid || this.layout.filled ? [] : [`DEST belongs to ${owner}, not to ${this.uid}`]),
    ];
  }

  // -> faults: what cannot even be removed.
  remove() {
    try {
      fs.rmSync(this.dir, { recursive: true, force: true });
      return [];
    } catch (e) {
      return [`cannot be removed: ${e.message}`];
    }
  }
}

// Runs `acpd archive extract`. -> {code, signal, stdout, stderr, result (the last line), late, group}
export function extract(archive, dest, args = [], { json = true, timeout = TIMEOUT, started, command = [ACPD], env = process.env, cwd } = {}) {
  const [program, ...first] = command;
  const child = spawn(program, [...first, 'archive', 'extract', archive, dest, ...args, ...(json ? ['--json'] : [])],
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env, cwd });
  const out = { stdout: '', stderr: '', late: false, pid: child.pid };
  const killGroup = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
      return true;
    } catch {
      return false; // nobody left
    }
  };
  const timer = setTimeout(() => {
    out.late = true;
    killGroup();
  }, timeout);

  child.stdout.on('data', (data) => { out.stdout += data; });
  child.stderr.on('data', (data) => { out.stderr += data; });
  started?.(child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      out.group = killGroup();
      try {
        out.result = JSON.parse(out.stdout.trimEnd().split('\n').at(-1));
      } catch {
        out.result = undefined;
      }
      const wrong = out.result === undefined ? [] : commandProblems(['archive', 'extract', '--json'], JSON.stringify(out.result));

      wrong.length ? reject(new Error(wrong.join('\n'))) : resolve({ code, signal, ...out });
    });
  });
}

const shown = (r) => `exit ${r.code ?? r.signal}${r.late ? ' (too late)' : ''} ${r.stdout.trim().slice(0, 300)} ${r.stderr.trim().slice(0, 300)}`;

// What is wrong with how a run ended, whatever was expected of it.
export function endFaults(r) {
  const faults = [];

  if (r.late)
    faults.push('did not end in time');
  if (![0, 3].includes(r.code))
    faults.push('ended neither with 0 nor with 3');
  if (r.group)
    faults.push('left a process behind');
  if (r.code === 0 && (r.result?.done === undefined || r.stderr !== ''))
    faults.push('succeeded, but did not say so');
  if (r.code === 3 && (typeof r.result?.refused?.reason !== 'string' || !r.result.refused.message))
    faults.push('refused without a reason and a message');
  return faults;
}

function verdictFaults(box, verdict, r) {
  if (r.code !== 0) {
    const reason = r.result?.refused?.reason;
    const allowed = verdict.refused.length === 0 ? 'it must be written' : `allowed: ${verdict.refused.join(' ')}`;

    return [...(verdict.refused.includes(reason) ? [] : [`${reason}, but ${allowed}`]), ...box.unchangedFaults()];
  }
  if (verdict.trees.length === 0)
    return [`written, but it must be refused: ${verdict.refused.join(' ')}`];
  const tries = verdict.trees.map((tree) => box.writtenFaults(tree));

  return tries.find((faults) => faults.length === 0) ?? tries[0];
}

// Attributes that came with the archive: GNU tar shows all there are.
function attributeFaults(dest) {
  const { stdout } = spawnSync('tar', ['--xattrs', '--xattrs-include=*', '--acls', '--selinux', '-C', dest, '-cf', '-', '.'],
    { maxBuffer: 64 << 20, encoding: 'latin1' });

  return [...stdout.matchAll(/(SCHILY\.[\w.]+|RHT\.[\w.]+)=/g)].map(([, key]) => `has the attribute ${key}`);
}

// Runs one case in one layout. -> {faults: [text], reason, ms}
export async function runCase(c, layout, root, env = process.env) {
  const dir = fs.mkdtempSync(path.join(root, 'box-'));
  const box = new Box(dir, layout);
  const archive = path.join(dir, c.file);

  fs.chmodSync(dir, 0o755);
  fs.writeFileSync(archive, c.build({ outside: box.far, dest: box.dest }));
  box.mark();
  const start = performance.now();
  const r = await extract(archive, box.dest, box.args, { timeout: Math.max(TIMEOUT, c.timeout ?? 0), env });
  const ms = performance.now() - start;
  const faults = [...endFaults(r), ...verdictFaults(box, c.verdict, r), ...box.outsideFaults()];

  if (c.attributes && r.code === 0)
    faults.push(...attributeFaults(box.dest));

  if (faults.length === 0 || !process.env.ACPD_TEST_KEEP)
    faults.push(...box.remove());
  if (faults.length !== 0)
    faults.push(shown(r));
  return { faults: faults.slice(0, 12).map((text) => `${c.name} [${layout.name}, ${env.ACPD_INFLATE ?? 'as it is'}]: ${text}`), reason: r.result?.refused?.reason ?? 'written', ms };
}

// The layouts of the n-th case: DEST absent once and filled once, with and without a uid in turn; all of them when
// ACPD_TEST_FULL is set.
export function layoutsOf(c, n) {
  const pick = (name) => LAYOUTS.find((l) => l.name === name);

  if (process.env.ACPD_TEST_FULL && !c.big)
    return LAYOUTS.filter((l) => !l.skip);
  const choice = [['uid', 'own-filled'], ['uid-parent', 'own-filled'], ['own', 'uid-filled'], ['uid', 'uid-filled']][n % 4];
  const usable = isRoot ? choice : ['own', 'own-filled'];

  return (c.big ? usable.slice(0, 1) : usable).map(pick);
}

// Those that CASE names; without it, all but the slow ones.
export const selected = () => CASES.map((c, n) => ({ c, n })).filter(({ c }) => (process.env.CASE ? c.name.includes(process.env.CASE)
  : !c.slow || process.env.ACPD_TEST_FULL));

const SEED_MAX = 4096;
// How many of each class; the parsers get most.
const SEEDS = { names: 8, links: 8, metadata: 6, structure: 10, volume: 4, streams: 8, zip: 10, disguise: 3, legal: 14 };
const contextOfNone = { outside: '/outside', dest: '/dest' };

// Small archives of all classes, taken evenly, under names that say what they are.
function seeds(dir) {
  const small = new Map();

  for (const c of CASES.filter((one) => !one.big)) {
    const data = c.build(contextOfNone);
    const packed = data.length <= SEED_MAX && data.length !== 0;

    if (packed)
      small.set(c.kind, [...(small.get(c.kind) ?? []), [c.name.replaceAll('/', '-'), data]]);
  }
  fs.mkdirSync(dir, { recursive: true });
  for (const [kind, list] of small) {
    for (let i = 0; i < SEEDS[kind]; i++) {
      const [name, data] = list[Math.floor((i * list.length) / SEEDS[kind])];

      fs.writeFileSync(path.join(dir, name), data);
    }
  }
}

function main([verb, dir, only = '']) {
  const verdict = (v) => [...(v.trees.length ? ['written'] : []), ...v.refused].join(' ');

  if (verb === 'list') {
    for (const c of CASES)
      console.log(`${c.name}: ${verdict(c.verdict)}${c.verdict.rule ? ` (${c.verdict.rule})` : ''}`);
  } else if (verb === 'write' && dir) {
    fs.mkdirSync(dir, { recursive: true });
    for (const c of CASES.filter((one) => one.name.includes(only)))
      fs.writeFileSync(path.join(dir, `${c.name.replace('/', '-')}~${c.file}`), c.build(contextOfNone));
  } else if (verb === 'seeds' && dir) {
    seeds(dir);
  } else {
    console.error('usage: run.mjs list | write DIR [NAME] | seeds DIR');
    process.exitCode = 2;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  main(process.argv.slice(2));
