// SPDX-License-Identifier: Apache-2.0
// What /proc says about the daemon and what it started. A process is named by pid and start time,
// so that a reused pid is not taken for a survivor.

import fs from 'node:fs';

const read = (path) => {
  try {
    return fs.readFileSync(path);
  } catch {
    return undefined; // gone, or not ours to read
  }
};

// {pid, comm, state, ppid, pgid, sid, start}, undefined if there is no such process.
export function stat(pid) {
  const text = read(`/proc/${pid}/stat`)?.toString();

  if (!text)
    return undefined;
  const open = text.indexOf('(');
  const shut = text.lastIndexOf(')');
  const f = text.slice(shut + 2).split(' ');
  return {
    pid: Number(pid), comm: text.slice(open + 1, shut), state: f[0],
    ppid: Number(f[1]), pgid: Number(f[2]), sid: Number(f[3]), start: f[19],
  };
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

export function descendants(root) {
  const all = list();
  const found = [];
  let level = [root];

  while (level.length) {
    const next = all.filter((p) => level.includes(p.ppid));

    found.push(...next);
    level = next.map((p) => p.pid);
  }
  return found;
}

// Processes whose environment satisfies pred(env).
export function withEnv(pred) {
  return list().filter((p) => p.pid !== process.pid && pred(environ(p.pid)));
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

// User and system CPU time in seconds (clock ticks are 10 ms on Linux).
export function cpu(pid) {
  const f = read(`/proc/${pid}/stat`)?.toString().split(') ')[1]?.split(' ');

  return f ? (Number(f[11]) + Number(f[12])) / 100 : undefined;
}
