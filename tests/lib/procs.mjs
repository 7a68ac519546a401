// SPDX-License-Identifier: Apache-2.0
// What /proc says about the daemon and what it started. A process is named by pid and start time,
// so that a reused pid is not taken for a survivor.
//
// Processes end, and descriptors and threads go, between two looks. So all of the tests read them here (tests/lint/vanishing.sh): what
// has gone is absent (undefined, no name in a list) and never an error. What a living process does not show us is one.

import fs from 'node:fs';
import os from 'node:os';
import { orGone } from './vanishing.mjs';

// Whether there was somebody to take the signal.
export const signal = (pid, name) => orGone(() => process.kill(pid, name), false);

// For another program: it may be gone when that looks.
export const at = (pid, file = '') => `/proc/${pid}/${file}`;

// From now on the peak of its memory is counted anew.
export const clearPeak = (pid) => fs.writeFileSync(at(pid, 'clear_refs'), '5');

// The file of any process, which may as well not be ours to read.
export function textIfOurs(pid, file) {
  try {
    return fs.readFileSync(at(pid, file)).toString('latin1');
  } catch {
    return undefined;
  }
}

// The name, and what stands behind it in /proc/PID/stat (proc(5)); undefined if there is no such process.
function statFields(pid) {
  const said = textIfOurs(pid, 'stat');

  if (!said)
    return undefined;
  const shut = said.lastIndexOf(')');
  return { comm: said.slice(said.indexOf('(') + 1, shut), f: said.slice(shut + 2).split(' ') };
}

// It has ended, or is at it: of a process whose memory is gone already, other files than these may be refused to us. VSIZE: its place.
const VSIZE = 20;

function isEnding(pid) {
  const found = statFields(pid);

  return !found || 'ZX'.includes(found.f[0]) || found.f[VSIZE] === '0';
}

// One look at a file of the process; `otherwise`, if that or the process is gone.
function looked(pid, file, look, otherwise) {
  try {
    return orGone(() => look(at(pid, file)), otherwise);
  } catch (e) {
    if (!['EACCES', 'EPERM'].includes(e.code) || !isEnding(pid))
      throw e;
    return otherwise;
  }
}

export const bytes = (pid, file) => looked(pid, file, (f) => fs.readFileSync(f));
export const text = (pid, file) => bytes(pid, file)?.toString();
export const link = (pid, file) => looked(pid, file, (f) => fs.readlinkSync(f));
export const owner = (pid, file = '') => looked(pid, file, (f) => fs.statSync(f).uid);
// Its memory, to be read; to be closed by who asked.
export const openMemory = (pid) => looked(pid, 'mem', (f) => fs.openSync(f));

// {Name, Uid…}, each as it stands there.
const fields = (all) => all && Object.fromEntries(all.split('\n').map((line) => line.split(/:\s*/)));

export const status = (pid) => fields(text(pid, 'status'));

const names = (pid, dir) => looked(pid, dir, (f) => fs.readdirSync(f), []);

// Each of its threads that is still there, by its own `file`.
export const threads = (pid, file) => names(pid, 'task').map((tid) => text(pid, `task/${tid}/${file}`)).filter((one) => one !== undefined);
export const threadStatus = (pid) => threads(pid, 'status').map(fields);
export const threadCount = (pid) => names(pid, 'task').length;

// Its children as the kernel lists them: cheaper than the whole table.
export const children = (pid) => (text(pid, `task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);

// What its descriptors are; what is closed meanwhile is left out.
export const descriptors = (pid) => names(pid, 'fd').map((fd) => link(pid, `fd/${fd}`)).filter((to) => to !== undefined);
export const descriptorInfo = (pid) => names(pid, 'fdinfo').map((fd) => text(pid, `fdinfo/${fd}`)).filter((one) => one !== undefined);
// The inodes of its sockets, by which /proc/net knows them.
export const sockets = (pid) => descriptors(pid).map((to) => /^socket:\[(\d+)\]$/.exec(to)?.[1]).filter(Boolean);
// The same of any process; none of one that is not ours.
export function socketsIfOurs(pid) {
  try {
    return sockets(pid);
  } catch {
    return [];
  }
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

export const cmdline = (pid) => text(pid, 'cmdline') ?? '';
// As it would be typed.
export const commandLine = (pid) => cmdline(pid).replaceAll('\0', ' ').trim();

// Of any process, also of others.
export function environ(pid) {
  const pairs = (textIfOurs(pid, 'environ') ?? '').split('\0').filter((s) => s.includes('='));

  return Object.fromEntries(pairs.map((s) => [s.slice(0, s.indexOf('=')), s.slice(s.indexOf('=') + 1)]));
}

// At its exit a sanitized program looks for leaks with the help of a child that shares its memory, and waits for that child for ever if
// somebody kills it. It is no process of the program's own; it is known by the signals that it is born with blocked: all but these and
// the two that nobody can block (sanitizer_stoptheworld_linux_libcdep.cpp).
const LEFT_OPEN = ['SIGABRT', 'SIGILL', 'SIGFPE', 'SIGSEGV', 'SIGBUS', 'SIGXCPU', 'SIGXFSZ', 'SIGKILL', 'SIGSTOP'];
const OF_LEAK_CHECK = LEFT_OPEN.reduce((mask, name) => mask & ~(1n << BigInt(os.constants.signals[name] - 1)), (1n << 64n) - 1n);

function isLeakCheck({ pid }) {
  const blocked = status(pid)?.SigBlk ?? '0';

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
  const m = textIfOurs(pid, file)?.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'));

  return m ? Number(m[1]) * 1024 : undefined;
};

export const rss = (pid) => field(pid, 'status', 'VmRSS');
export const anonymous = (pid) => field(pid, 'status', 'RssAnon');
export const pss = (pid) => field(pid, 'smaps_rollup', 'Pss');
export const privateDirty = (pid) => field(pid, 'smaps_rollup', 'Private_Dirty');
export const fdCount = (pid) => names(pid, 'fd').length;
// Journals are opened and closed as they are needed; sockets are what clients make.
export const socketCount = (pid) => sockets(pid).length;

// Milliseconds that the daemon's loop, its first thread, has worked: unlike those of a clock no matter of what else the machine does.
export const loopTime = (pid) => text(pid, `task/${pid}/schedstat`).split(' ')[0] / 1e6;

// The sum of these fields in seconds (clock ticks are 10 ms on Linux).
function cpuOf(pid, fields) {
  const found = statFields(pid);

  return found && fields.reduce((sum, i) => sum + Number(found.f[i]), 0) / 100;
}

// User and system CPU time in seconds; the second with that of all children that were waited for.
export const cpu = (pid) => cpuOf(pid, [11, 12]);
export const cpuWithChildren = (pid) => cpuOf(pid, [11, 12, 13, 14]);
