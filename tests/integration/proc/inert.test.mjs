// SPDX-License-Identifier: Apache-2.0
// build: release
// An unclaimed daemon is a copy of its template: there is nothing in its memory that two copies must not share. Two that are
// started alike (no address randomization, the same paths in mount namespaces of their own, network namespaces, so that the
// port is the same) are compared word by word in all that they can write; each difference must have a reason in the table below.
// A third one, claimed, shows that the comparison would see an incarnation and a token.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import test from 'node:test';
import { ACPD, SANITIZED } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';
import { sleep } from '../../lib/rawws.mjs';

const able = process.getuid() === 0 && !SANITIZED && !process.env.ACPD_WRAP && spawnSync('unshare', ['-mn', 'setarch', '-R', 'true']).status === 0;
const skip = able ? false : 'needs root, unshare, setarch -R, and a build without sanitizers';

const MASK = (1n << 64n) - 1n;
const rotate = (v, n) => ((v << n) | (v >> (64n - n))) & MASK;
const isText = (b) => b === 0 || b === 9 || b === 10 || (b >= 32 && b < 127);

// The groups that daemons of other tests have left behind: a daemon that starts reads their names and removes them.
const groups = () => spawnSync('find', ['/sys/fs/cgroup', '-path', '*/acpd-*', '-type', 'd'], { encoding: 'utf8' }).stdout;

class Copy {
  static async start(dir, at) {
    const c = new Copy();

    c.groups = groups();
    fs.mkdirSync(dir, { recursive: true });
    const flags = `--listen 0.0.0.0:2270 --state ${at}/state --run-dir ${at}/run`;
    c.dir = dir;
    c.child = spawn('unshare', ['-mn', 'sh', '-c', `mount --bind '${dir}' '${at}' && cd '${at}' && exec setarch -R '${ACPD}' serve ${flags}`],
      { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'ignore'] });
    c.exited = new Promise((resolve) => c.child.once('exit', resolve));
    await new Promise((resolve, reject) => {
      c.child.stdout.once('data', resolve);
      c.child.once('exit', () => reject(new Error('the daemon did not start')));
    });
    await sleep(300); // what it does by itself after its start
    c.groups += groups(); // and those that came about meanwhile
    return c;
  }

  get pid() { return this.child.pid; }

  // doctor's exit code says what this machine lacks.
  control(...args) {
    const { stdout, stderr, status } = spawnSync(ACPD, [args[0], '--run-dir', path.join(this.dir, 'run'), ...args.slice(1)], { input: this.token, encoding: 'utf8' });

    assert.ok(status === 0 || args[0] === 'doctor', stderr);
    return stdout;
  }

  read(file) { return procs.bytes(this.pid, file).toString('latin1'); }

  // All that is writable: {from, to, name}.
  maps() {
    return this.read('maps').split('\n').map((l) => /^([0-9a-f]+)-([0-9a-f]+) .w\S+ \S+ \S+ \S+ *(.*)$/.exec(l)).filter(Boolean)
      .map(([, from, to, name]) => ({ from: BigInt(`0x${from}`), to: BigInt(`0x${to}`), name: name || 'anonymous' }));
  }

  memory({ from, to }) {
    const fd = procs.openMemory(this.pid);
    const out = Buffer.alloc(Number(to - from));

    try {
      fs.readSync(fd, out, 0, out.length, from);
    } finally {
      fs.closeSync(fd);
    }
    return out;
  }

  // The pages that the kernel may drop: the state of the vDSO's getrandom, which it makes void when it has drawn a new seed itself.
  droppable() {
    return [...this.read('smaps').matchAll(/^([0-9a-f]+)-([0-9a-f]+) [^\n]*\n(?:[A-Z]\w+:[^\n]*\n)*?VmFlags:[^\n]* dp\b/gm)].map(([, from, to]) => ({ from: BigInt(`0x${from}`), to: BigInt(`0x${to}`) }));
  }

  // The 16 random bytes that the kernel gives a program: stack canary, and the key of glibc's mangled pointers.
  random() {
    const auxv = procs.bytes(this.pid, 'auxv');

    for (let i = 0; i < auxv.length; i += 16) {
      if (auxv.readBigUInt64LE(i) === 25n) {
        const at = auxv.readBigUInt64LE(i + 8);
        const bytes = this.memory({ from: at, to: at + 16n });

        return { at, bytes, canary: bytes.readBigUInt64LE(0) & ~0xffn, guard: bytes.readBigUInt64LE(8) };
      }
    }
    throw new Error('no AT_RANDOM');
  }

  async end() {
    this.child.kill('SIGTERM');
    await this.exited;
  }
}

const known = (text, who, other) => who.texts.includes(text) || other.all.includes(text);

// Why a word may be what it is where two copies differ; the first that holds, of each copy. who: the copy; other: the other one.
const REASONS = [
  ['AT_RANDOM: the bytes that the kernel gives each program', (w, who) => w.at + 8n > who.random.at && w.at < who.random.at + 16n],
  ["the state of the vDSO's getrandom, which is void once the kernel has a new seed", (w, who) => who.droppable.some(({ from, to }) => w.at >= from && w.at < to)],
  ["the stack's canary, of AT_RANDOM", (w, who) => w.value === who.random.canary],
  ["the key of glibc's mangled pointers, of AT_RANDOM", (w, who) => w.value === who.random.guard],
  ['tcache_key of glibc, which marks freed memory, so that it is not freed twice', (w, who) => w.value === who.tcache],
  ['an address or a number below 2^48: pids, times, inodes, sizes; places in a heap where texts have other lengths', (w) => w.value < (1n << 48n)],
  ['a small number and half an address, left on the stack', (w) => (w.value & 0xffffffffn) < (1n << 16n)],
  ['four small numbers: counters of malloc', (w) => [0n, 16n, 32n, 48n].every((n) => ((w.value >> n) & 0xffffn) < 256n)],
  ['text, or freed text of which two bytes at most are overwritten: mount table, cgroups, times of day, names of what was tried and removed. Digits that could be drawn are those of the mount table; the daemon\'s mark (pid, time of its start, pid namespace) may be written over what stands in the other copy as well',
    (w, who, other) => w.text && w.hex.every((h) => who.texts.includes(h) || known(h.replace(who.mark, ''), who, other))],
  ['its pid in digits, left on the stack beside what was written over', (w, who) => w.numbers.some((n) => n.length > 2 && who.pid.endsWith(n))],
  ['the head of a directory entry (getdents) and its name', ({ bytes: b }) => b[0] % 8 === 0 && b[1] < 2 && b[2] < 16 && b.subarray(3).every(isText)],
  ['a pointer that glibc has mangled with its key', (w, who) => (rotate(w.value, 47n) ^ who.random.guard) < (1n << 48n)],
  ['what stands in the other copy as well, elsewhere', (w, who, other) => other.all.includes(w.bytes)],
];

// The word at i, the run of text that it is in, and what in that looks like a drawn number.
function word(mem, i, at) {
  const bytes = mem.subarray(i, i + 8);
  let from = i;
  let to = i + 8;

  while (from > 0 && isText(mem[from - 1]) && mem[from - 1] !== 0)
    from--;
  while (to < mem.length && isText(mem[to]) && mem[to] !== 0)
    to++;
  const run = mem.subarray(from, to).toString('latin1');
  const hex = run.match(/[0-9a-f]{16,}|[0-9A-Za-z_-]{43,}/g) ?? [];

  return { at, bytes, value: bytes.readBigUInt64LE(0), text: bytes.filter(isText).length >= 6, hex, numbers: run.match(/\d+/g) ?? [] };
}

// glibc's key is the word that stands most often among those that nothing else explains.
function tcacheKey(words, who, other) {
  const counts = new Map();

  for (const w of words.filter((v) => !REASONS.slice(0, -1).some(([, holds]) => holds(v, who, other))))
    counts.set(w.value, (counts.get(w.value) ?? 0) + 1);
  return [...counts].sort(([, m], [, k]) => k - m)[0]?.[0]; // none: it looks like text by chance
}

function compare(...copies) {
  const both = copies.map((c) => ({ pid: String(c.pid), random: c.random(), droppable: c.droppable(), texts: c.read('mountinfo') + c.read('cgroup') + c.read('cmdline') + c.groups,
    mark: new RegExp(`^(acpd-${c.pid}-\\d+-)?${procs.link(c.pid, 'ns/pid').match(/\d+/)}`), maps: c.maps() }));
  const words = [[], []];

  for (const range of both[0].maps) {
    const other = both[1].maps.find((m) => m.from === range.from && m.name === range.name);

    if (!other)
      continue;
    const part = { from: range.from, to: range.to < other.to ? range.to : other.to };
    const mem = copies.map((c) => c.memory(part));

    for (let i = 0; i + 8 <= mem[0].length; i += 8) {
      if (mem[0].compare(mem[1], i, i + 8, i, i + 8) !== 0)
        mem.forEach((m, k) => words[k].push(word(m, i, range.from + BigInt(i))));
    }
  }
  copies.forEach((c, k) => { both[k].all = Buffer.concat(c.maps().map((m) => c.memory(m))); });
  both.forEach((who, k) => { who.tcache = tcacheKey(words[k], who, both[1 - k]); });
  const count = new Map(REASONS.map(([text]) => [text, 0]));
  const unexplained = both.map((who, k) => words[k].filter((w) => {
    const reason = REASONS.find(([, holds]) => holds(w, who, both[1 - k]));

    if (reason)
      count.set(reason[0], count.get(reason[0]) + 1);
    return !reason;
  }));

  return { both, count, unexplained };
}

const show = (w) => `${w.at.toString(16)}: ${w.bytes.toString('hex')} ${w.hex}`;

test('two unclaimed daemons differ only where there is a reason; a claimed one differs elsewhere, too', { skip }, async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-inert-'));
  const at = path.join(root, 'same');
  const copies = [];

  fs.mkdirSync(at);
  try {
    for (const name of ['a', 'b', 'c'])
      copies.push(await Copy.start(path.join(root, name), at));
    const [a, b, c] = copies;
    const first = compare(a, b);

    assert.deepEqual(...first.both.map((who) => who.maps.map((m) => m.name)), 'the same memory');
    assert.ok(first.both[0].random.canary !== first.both[1].random.canary);
    assert.deepEqual(first.unexplained.flat().map(show), []);

    const token = `token-${crypto.randomBytes(24).toString('hex')}`;
    c.token = token;
    c.control('claim');
    const { incarnation } = JSON.parse(c.control('doctor', '--json')).daemon;
    const second = compare(a, c);
    const digest = crypto.createHash('sha256').update(token).digest();

    assert.ok(!second.both[0].all.includes(digest) && second.both[1].all.includes(digest));
    assert.ok(second.unexplained[1].some((w) => digest.includes(w.bytes)), 'the token is seen');
    assert.ok(second.unexplained[1].some((w) => w.hex.includes(incarnation)), 'the incarnation is seen');
  } finally {
    await Promise.all(copies.map((copy) => copy.end()));
    fs.rmSync(root, { recursive: true, force: true });
  }
});
