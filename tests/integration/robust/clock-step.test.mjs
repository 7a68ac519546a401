// SPDX-License-Identifier: Apache-2.0
// The wall clock jumps under a running daemon (tests/clock/clockstep.c): what is a jump, and how long it waits then for
// the file with the sandbox's id.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test, after } from 'node:test';
import { Daemon, STUB } from '../../lib/daemon.mjs';
import { SLOW, assertNoViolations, deadline, sleep } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';

const SHIM = path.join(path.dirname(STUB), 'clockstep.so');

after(assertNoViolations);

// with: the kernel tells when the clock is set. d.step(ms) sets it so much ahead.
async function clocked(t, { tells, idFile = true }) {
  const dir = fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? '/tmp', 'acpd-test-clock-'));
  const clock = path.join(dir, 'clock'), fifo = path.join(dir, 'set'), id = path.join(dir, 'e2b', 'ID');
  const set = (ms) => {
    const bytes = Buffer.alloc(8);

    bytes.writeBigInt64LE(BigInt(ms));
    fs.writeFileSync(clock, bytes);
  };

  t.after(() => fs.rmSync(dir, { recursive: true }));
  set(0);
  execFileSync('mkfifo', [fifo]);
  if (idFile) {
    fs.mkdirSync(path.dirname(id));
    fs.writeFileSync(id, 'i-one');
  }
  const env = { LD_PRELOAD: SHIM, ACPD_TEST_CLOCK: clock, ...(tells && { ACPD_TEST_CLOCK_SET: fifo }) };
  const d = await Daemon.startFor(t, { env, flags: { sandboxIdFile: id } });

  return Object.assign(d, {
    idFile: id,
    step(ms) {
      const fd = fs.openSync(clock, 'r+'), bytes = Buffer.alloc(8);

      bytes.writeBigInt64LE(BigInt(ms));
      fs.writeSync(fd, bytes);
      fs.closeSync(fd);
      if (tells) {
        const way = fs.openSync(fifo, fs.constants.O_RDWR | fs.constants.O_NONBLOCK);

        fs.writeSync(way, '.');
        fs.closeSync(way);
      }
    },
  });
}

const lines = (d, msg) => d.logs.filter((l) => l.mod === 'restore' && l.msg === msg);

// The daemon answers again: how long that took.
async function answers(d) {
  const from = Date.now();

  await until(() => d.http('/health').then((r) => r.status === 200, () => false), 'it answers again');
  return Date.now() - from;
}

test('a jump: nobody is served until the id is written, or for two seconds', { timeout: 40000 * SLOW }, async (t) => {
  const d = await clocked(t, { tells: true });
  const c = await d.client();

  d.step(60000);
  await deadline(c.ws.closed, 1500, 'reset at once');
  await sleep(100);
  assert.equal(lines(d, 'resumed').length, 0, 'it waits');
  const waited = await answers(d);

  assert.ok(waited > 1000 && waited < 4000 * SLOW, `${waited} ms`);
  const again = await d.client();
  const { params } = await again.waitFor((m) => m.method === '_acpd/resumed');

  assert.ok(Math.abs(params.gapMs - 60000) < 1000, `${params.gapMs}`);
  d.step(120000);
  await deadline(again.ws.closed, 1500, 'reset at once');
  fs.writeFileSync(d.idFile, 'i-one');
  assert.ok(await answers(d) < 1500 * SLOW, 'not two seconds');
  assert.equal(lines(d, 'resumed').length, 2);
  assert.equal((await d.http('/v1/info', { token: d.token })).json.sandboxId, 'i-one');
});

test('a small step is a clock that is kept right', { timeout: 40000 * SLOW }, async (t) => {
  const d = await clocked(t, { tells: true });
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

test('where the kernel does not tell, the next wake-up does; without a file it waits for none', { timeout: 40000 * SLOW }, async (t) => {
  const d = await clocked(t, { tells: false, idFile: false });
  const c = await d.client();

  d.step(60000);
  c.call('_acpd/status', {}).catch(() => {});
  await deadline(c.ws.closed, 1500, 'reset');
  assert.ok(await answers(d) < 1500 * SLOW);
  assert.equal(lines(d, 'resumed').length, 1);
});
