// SPDX-License-Identifier: Apache-2.0
// What it costs that a turn is on the disk before its prompt is answered: beside the disk's own least, a raw write and
// flush, and with the proof that it is so, from the order of the daemon's system calls.

import fs from 'node:fs';
import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { acpd, best, client, disk, figures, memory, placements, program, scratch, sleep } from './rig.mjs';

const SPARE_US = 40; // for the whole of the turn, beyond the flush

// The least that the disk allows.
export const floorOf = (core) => figures(program('floor'), [1500, path.join(disk, `acpd-bench-floor-${process.pid}`), core]);

async function one(target, n, cores) {
  try {
    return await client(target, 'rtt', { n, cores });
  } finally {
    await target.stop();
  }
}

async function rows(table, { name, cores }, { rounds, turns }) {
  const [floors, real, ram] = [[], [], []];

  for (let i = 0; i < rounds; i++) { // in turn, so that all see the same weather
    floors.push(await floorOf(cores.split(',')[2]));
    real.push(await one(await acpd({ on: disk }), turns, cores));
    if (memory)
      ram.push(await one(await acpd({ on: memory }), turns, cores));
  }
  const floor = { name: 'raw write and flush of 512 B in place', value: best(floors, 'p50_us') };
  const inMemory = (key) => (memory ? [{ name: 'state in memory', value: best(ram, key) }] : []);

  table.section(`a prompt turn with the state on the disk, ${name}`);
  table.add({ what: 'p50', unit: 'us', value: best(real, 'p50_us'), bar: floor.value + SPARE_US,
    refs: [floor, ...inMemory('p50_us')] });
  table.add({ what: 'p99', unit: 'us', value: best(real, 'p99_us'),
    refs: [{ ...floor, value: best(floors, 'p99_us') }, ...inMemory('p99_us')] });
  table.add({ what: 'CPU of the daemon, its flushes included', unit: 'us', value: best(real, 'cpu_us'),
    refs: [{ ...floor, value: best(floors, 'cpu_us') }, ...inMemory('cpu_us')] });
}

// Lines of strace -f, in the order of the kernel: [thread, call, text, began, returned].
function* calls(text) {
  for (const line of text.split('\n')) {
    const [, thread, rest] = line.match(/^(\d+)\s+(.*)$/) ?? [];
    const resumed = rest?.match(/^<\.\.\. (\w+) resumed>/)?.[1];

    if (resumed)
      yield { thread, call: resumed, text: rest, began: false, returned: true };
    else if (rest)
      yield { thread, call: rest.match(/^\w*/)[0], text: rest, began: true, returned: !rest.includes('<unfinished ...>') };
  }
}

// Each answer is held against the records that the last flush which had returned by then could cover.
export function judge(text) {
  const seen = { answers: 0, early: 0, inPlace: 0, synced: 0 };
  const running = new Map(); // thread: records that were written when its flush began
  let written = 0;
  let durable = 0;

  for (const c of calls(text)) {
    const flush = c.call === 'pwritev2' || c.call === 'fdatasync';

    if (c.call === 'write' && c.returned && c.text.includes('{\\"v\\":1,\\"n\\":'))
      written++;
    if (flush && c.began)
      running.set(c.thread, written);
    if (flush && c.returned && !/= -1 /.test(c.text)) {
      durable = Math.max(durable, running.get(c.thread) ?? 0);
      seen[c.call === 'pwritev2' ? 'inPlace' : 'synced']++;
    }
    if (c.call === 'sendto' && c.began && c.text.includes('_acpd/turn_end')) {
      seen.answers++;
      seen.early += durable < written;
    }
  }
  return seen;
}

async function proof(table, turns) {
  const file = path.join(scratch, 'calls');

  if (spawnSync('strace', ['-V']).error) {
    console.log('the order of the calls is left out: there is no strace');
    return;
  }
  const target = await acpd({ on: disk });
  const tracer = spawn('strace', ['-f', '-q', '-s', '600', '-e', 'trace=write,sendto,pwritev2,fdatasync', '-o', file,
    '-p', String(target.pid)], { stdio: 'ignore' });

  await sleep(1000);
  await one(target, turns, '');
  tracer.kill('SIGINT');
  await new Promise((resolve) => { tracer.on('close', resolve); });
  const seen = judge(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');

  if (!seen.answers) {
    console.log('the order of the calls is left out: strace may not look at the daemon');
    return;
  }
  table.section('the order of system calls, by strace');
  table.add({ what: 'answers sent before the flush had returned', unit: 'count', value: seen.early, bar: 0,
    note: `of ${seen.answers}; ${seen.inPlace} flushes by pwritev2 in place, ${seen.synced} by fdatasync` });
}

export async function durable(table, sizes) {
  if (!disk) {
    console.log('left out: there is no disk to write to');
    return;
  }
  for (const placement of placements())
    await rows(table, placement, sizes);
  await proof(table, 300);
}
