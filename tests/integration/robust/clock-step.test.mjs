// SPDX-License-Identifier: Apache-2.0
// build: release
// The wall clock jumps under a running daemon (tests/clock/clockstep.c): what is a jump, and how long it waits then for
// the file with the sandbox's id.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, after } from 'node:test';
import { SLOW, assertNoViolations, deadline } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { sandboxed } from './away.mjs';

const WAIT_MS = 2000; // RESTORE_WAIT_MS
const STEP_MS = 60000;

after(assertNoViolations);

const lines = (d, msg) => d.logs.filter((l) => l.mod === 'restore' && l.msg === msg);

// The n-th jump by the daemon's own clock, so that a machine that lets the test wait changes nothing: when it began, and how long it waited.
async function jump(d, n = 1) {
  await until(() => lines(d, 'resumed').length >= n, 'it goes on');
  const all = d.logs;
  const end = all.indexOf(all.filter((l) => l.msg === 'resumed')[n - 1]);
  const begin = all.findLastIndex((l, i) => i < end && l.to === 'paused');
  const [held, goes] = [begin, end].map((i) => Date.parse(all[i].t));

  return { held, waited: goes - held };
}

// jumping(ms) sets the clock to that and sees to the rest; it gives when the client was reset. inTime(what it gave, jump): as it should
// be. Where the machine holds the test up for seconds that is no fault of the daemon's, and it jumps again.
async function jumpsInTime(d, jumping, inTime) {
  const tries = [];

  for (let i = 0; i < 8; i++) {
    const c = await d.client(), n = lines(d, 'resumed').length + 1;

    await jumping(STEP_MS * n, c);
    await deadline(c.ws.closed, 1500, 'reset');
    const reset = c.ws.closedAt + STEP_MS * n, one = await jump(d, n);

    if (inTime(one, reset - one.held))
      return;
    tries.push([one.waited, reset - one.held]);
  }
  assert.fail(`waited, reset after ms: ${JSON.stringify(tries)}`);
}

test('a jump: nobody is served until the id is written, or for two seconds', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', { clock: 'told' });

  await jumpsInTime(d, (ms) => d.step(ms), ({ waited }, reset) => {
    assert.ok(waited >= WAIT_MS - 2, `it waited ${waited} ms only`);
    return reset < WAIT_MS / 2; // at once
  });
  const again = await d.client(); // is let in when that is over
  const { params } = await again.waitFor((m) => m.method === '_acpd/resumed');

  assert.ok(Math.abs(params.gapMs - STEP_MS) < 1000, `${params.gapMs}`);
  await jumpsInTime(d, async (ms, c) => {
    d.step(ms);
    await deadline(c.ws.closed, 1500, 'reset');
    fs.writeFileSync(d.idFile, 'i-one');
  }, ({ waited }) => waited < WAIT_MS);
  assert.equal((await d.http('/v1/info', { token: d.token })).json.sandboxId, 'i-one');
});

test('a small step is a clock that is kept right', { timeout: 240000 * SLOW }, async (t) => {
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

test('where the kernel does not tell, the next wake-up does; without a file it waits for none', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, null, { clock: 'untold' });

  await jumpsInTime(d, (ms, c) => {
    d.step(ms);
    c.call('_acpd/status', {}).catch(() => {});
  }, ({ waited }) => waited < WAIT_MS);
});

test('a stop that nothing of the loop brings to its end has one all the same: everything is killed, and it says so', { timeout: 240000 * SLOW }, async (t) => {
  const d = await sandboxed(t, 'i-one', { clock: 'told' });
  const c = await d.client(), { sessionId } = await c.newSession();
  const dir = path.join(d.workDir, 'kill');

  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o777);
  await c.prompt(sessionId, `together kill 1 ${dir}; echo ready`); // it ends by SIGKILL only
  const [harness] = d.harnesses();
  assert.ok(harness);
  d.step(STEP_MS);
  d.stick();
  const stopped = d.stop({ code: 1, keep: true, logs: false, timeout: 120000 });
  await d.waitLog((l) => l.msg === 'stop timed out, killing all processes');
  assert.deepEqual(await stopped, { code: 1, signal: null });
  assert.equal(d.logs.at(-1).msg, 'stop timed out, exiting');
  await d.gone([harness], 0);
});
