// SPDX-License-Identifier: Apache-2.0
// Bounds of a daemon's memory.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import * as procs from './procs.mjs';
import { until } from './wait.mjs';

export const mib = (bytes) => Math.round(bytes / 1048576 * 10) / 10;

// The highest RSS of the daemon while fn runs.
export async function peakRss(daemon, fn) {
  let peak = daemon.rss();
  const timer = setInterval(() => { peak = Math.max(peak, daemon.rss() ?? 0); }, 4);

  try {
    return { result: await fn(), peak };
  } finally {
    clearInterval(timer);
  }
}

// A sanitizer or valgrind keeps freed memory back: the size of such a daemon says nothing.
export function instrumented(daemon) {
  try {
    return /lib(asan|ubsan)|valgrind/.test(procs.text(daemon.pid, 'maps'));
  } catch {
    return false; // a daemon that shows its maps to nobody is none of those
  }
}

export function assertGrown(daemon, from, to, most, what = '') {
  if (!instrumented(daemon))
    assert.ok(to - from < most * 1048576, `RSS grew by ${mib(to - from)} MiB, more than ${most} ${what}`);
}

export async function calmAgain(daemon, base, most, ms = 15000) {
  if (!instrumented(daemon))
    await until(() => daemon.rss() < base + most * 1048576, `RSS back to normal, is ${mib(daemon.rss())} MiB`, ms);
}

// How often a key stands in the writable memory of a process.
export function timesIn(pid, key) {
  const fd = procs.openMemory(pid);
  let n = 0;

  for (const line of procs.text(pid, 'maps').split('\n')) {
    const [, from, to] = line.match(/^([0-9a-f]+)-([0-9a-f]+) rw/) ?? [];

    if (!from)
      continue;
    const bytes = Buffer.alloc(Number(BigInt(`0x${to}`) - BigInt(`0x${from}`)));
    try {
      fs.readSync(fd, bytes, 0, bytes.length, BigInt(`0x${from}`));
    } catch {
      continue; // not mapped to anything that can be read
    }
    for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1))
      n++;
  }
  fs.closeSync(fd);
  return n;
}
