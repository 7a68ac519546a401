// SPDX-License-Identifier: Apache-2.0
// The wall clock jumps under a running daemon (tests/clock/clockstep.c): what is a jump, and how long it waits then for
// the file with the sandbox's id.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test, after } from 'node:test';
import { SLOW, assertNoViolations, deadline } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { sandboxed } from './away.mjs';

const WAIT_MS = 2000; // RESTORE_WAIT_MS

after(assertNoViolations);

const lines = (d, msg) => d.logs.filter((l) => l.mod === 'restore' && l.msg === msg);

// What the daemon did in its n-th jump, by its own clock, so that a machine that lets the test wait changes nothing:
// {held} when, {waited} for how long, {reset} how many connections before it went on.
async function jump(d, n = 1) {
  await until(() => lines(d, 'resumed').length >= n, 'it goes on');
  const all = d.logs;
  const end = all.indexOf(all.filter((l) => l.msg === 'resumed')[n - 1]);
  const begin = all.findLastIndex((l, i) => i < end && l.to === 'paused');
  const [held, resumed] = [begin, end].map((i) => Date.parse(all[i].t));

  return { held, waited: resumed - held, reset: all.slice(begin, end).filter((l) => l.msg === 'connection closed').length };
}

// jumping(i) makes one more jump, of which the test is quick enough or not. Where the machine holds it up for seconds it jumps again.
async function jumpsInTime(d, jumping) {
  const waits = [];

  for (let i = 0; i < 8; i++) {
    const n = lines(d, 'resumed').length + 1;

    await jumping(i);
    waits.push((await jump(d, n)).waited);
    if (waits.at(-1) < WAIT_MS)
      return;
  }
  assert.fail(`it always waits: ${waits} ms`);
}

test('a jump: nobody is served until the id is written, or for two seconds', { timeout: 60000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', { clock: 'told' });
  const c = await d.client();

  d.step(60000);
  assert.equal((await deadline(c.ws.closed, 1500, 'reset')).error?.code, 'ECONNRESET');
  const again = await d.client(); // is let in when that is over
  const { params } = await again.waitFor((m) => m.method === '_acpd/resumed');
  const first = await jump(d);

  assert.ok(first.waited >= WAIT_MS - 2, `it waited ${first.waited} ms only`);
  assert.equal(first.reset, 1, 'at once');
  assert.ok(Math.abs(params.gapMs - 60000) < 1000, `${params.gapMs}`);
  await jumpsInTime(d, async (i) => {
    const last = await d.client();

    d.step(120000 + 60000 * i);
    await deadline(last.ws.closed, 1500, 'reset');
    fs.writeFileSync(d.idFile, 'i-one');
  });
  assert.equal((await d.http('/v1/info', { token: d.token })).json.sandboxId, 'i-one');
});

test('a small step is a clock that is kept right', { timeout: 40000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', { clock: 'told' });
  const c = await d.client();

  for (const ms of [1500, 0]) {
    d.step(ms);
    await until(() => lines(d, 'the clock was set').length === (ms ? 1 : 2), 'it is logged');
  }
  assert.ok((await c.call('_acpd/status', {})).incarnation, 'still connected');
  assert.equal((await d.http('/v1/info', { token: d.token })).json.resumed, undefined);
  d.step(-60000); // back is a jump, too
  await deadline(c.ws.closed, 1500, 'reset');
});

test('where the kernel does not tell, the next wake-up does; without a file it waits for none', { timeout: 60000 * SLOW }, async (t) => {
  const d = await sandboxed(t, null, { clock: 'untold' });

  await jumpsInTime(d, async (i) => {
    const c = await d.client();

    d.step(60000 * (i + 1));
    c.call('_acpd/status', {}).catch(() => {});
    await deadline(c.ws.closed, 1500, 'reset');
  });
});
