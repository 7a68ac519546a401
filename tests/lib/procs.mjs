// SPDX-License-Identifier: Apache-2.0
// What /proc says about the daemon and what it started. A process is named by pid and start time,
// so that a reused pid is not taken for a survivor.

import fs from 'node:fs';
import os from 'node:os';

const read = (path) => {
  try {
    return fs.readFileSync(path);
  } catch {
    return undefined; // gone, or not ours to read
  }
};

// The name, and what stands behind it in /proc/PID/stat (proc(5)); undefined if there is no such process.
function statFields(pid) {
  const text = read(`/proc/${pid}/stat`)?.toString();

  if (!text)
    return undefined;
  const shut = text.lastIndexOf(')');
  return { comm: text.slice(text.indexOf('(') + 1, shut), f: text.slice(shut + 2).split(' ') };
}

// {pid, comm, state, ppid, pgid, sid, start}, undefined if there is no such process.
export function stat(pid) {
  const found = statFields(pid);

  if (!found)
    return undefined;
  const { comm, f } = found;
  return { pid: Number(pid), comm, state: f[0], ppid: Number(f[1]), pgid: Number(f[2]), sid: Number(f[3]), start: f[19] };
}

export function list() {
  return fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n)).map(stat).filter(Boolean);
}

// Alive: present and no zombie. Takes a pid, or a stat() of before.
export function alive(proc) {
  const now = stat(proc.pid ?? proc);

  return now !== undefined && !'ZX'.includes(now.state) && (proc.start === undefined || proc.start === now.start);
}

export const cmdline = (pid) => read(`/proc/${pid}/cmdline`)?.toString() ?? '';

export function environ(pid) {
  const text = read(`/proc/${pid}/environ`)?.toString() ?? '';
  const pairs = text.split('\0').filter((s) => s.includes('='));

  return Object.fromEntries(pairs.map((s) => [s.slice(0, s.indexOf('=')), s.slice(s.indexOf('=') + 1)]));
}

// At its exit a sanitized program looks for leaks with the help of a child that shares its memory, and waits for that child for ever if
// somebody kills it. It is no process of the program's own; it is known by the signals that it is born with blocked: all but these and
// the two that nobody can block (sanitizer_stoptheworld_linux_libcdep.cpp).
const LEFT_OPEN = ['SIGABRT', 'SIGILL', 'SIGFPE', 'SIGSEGV', 'SIGBUS', 'SIGXCPU', 'SIGXFSZ', 'SIGKILL', 'SIGSTOP'];
const OF_LEAK_CHECK = LEFT_OPEN.reduce((mask, name) => mask & ~(1n << BigInt(os.constants.signals[name] - 1)), (1n << 64n) - 1n);

function isLeakCheck({ pid }) {
  const blocked = read(`/proc/${pid}/status`)?.toString().match(/^SigBlk:\s+([0-9a-f]+)$/m)?.[1] ?? '0';

  return BigInt(`0x${blocked}`) === OF_LEAK_CHECK;
}

export function descendants(root) {
  const all = list();
  const found = [];
  let level = [root];

  while (level.length) {
    const next = all.filter((p) => level.includes(p.ppid));

    found.push(...next);
    level = next.map((p) => p.pid);
  }
  return found.filter((p) => !isLeakCheck(p));
}

// Processes whose environment satisfies pred(env).
export function withEnv(pred) {
  return list().filter((p) => p.pid !== process.pid && pred(environ(p.pid)) && !isLeakCheck(p));
}

const field = (pid, file, name) => {
  const m = read(`/proc/${pid}/${file}`)?.toString().match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'));

  return m ? Number(m[1]) * 1024 : undefined;
};

export const rss = (pid) => field(pid, 'status', 'VmRSS');
export const pss = (pid) => field(pid, 'smaps_rollup', 'Pss');
export const privateDirty = (pid) => field(pid, 'smaps_rollup', 'Private_Dirty');
export const fdCount = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;
// Journals are opened and closed as they are needed; sockets are what clients make.
export const socketCount = (pid) => fs.readdirSync(`/proc/${pid}/fd`).filter((fd) => {
  try {
    return fs.readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
  } catch {
    return false; // closed meanwhile
  }
}).length;

// Milliseconds that the daemon's loop, its first thread, has worked: unlike those of a clock no matter of what else the machine does.
export const loopTime = (pid) => read(`/proc/${pid}/task/${pid}/schedstat`).toString().split(' ')[0] / 1e6;

// The sum of these fields in seconds (clock ticks are 10 ms on Linux).
function cpuOf(pid, fields) {
  const found = statFields(pid);

  return found && fields.reduce((sum, at) => sum + Number(found.f[at]), 0) / 100;
}

// User and system CPU time in seconds; the second with that of all children that were waited for.
export const cpu = (pid) => cpuOf(pid, [11, 12]);
export const cpuWithChildren = (pid) => cpuOf(pid, [11, 12, 13, 14]);
