// SPDX-License-Identifier: Apache-2.0
// The daemon and all below it stopped for longer than every time-out: nothing is taken for silent, and no
// budget pays for a time in which nobody ran.

import assert from 'node:assert/strict';
import { test, after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { SLOW, assertNoViolations, sleep } from '../../lib/rawws.mjs';
import { turnsOf } from '../ledger.mjs';

const FROZEN_MS = 6000;

after(assertNoViolations);

async function freeze(d, ms) {
  const all = [d.pid, ...d.descendants().map((p) => p.pid)];

  for (const pid of all)
    process.kill(pid, 'SIGSTOP');
  await sleep(ms);
  for (const pid of all.reverse())
    process.kill(pid, 'SIGCONT');
}

test('a freeze beyond ping time-out and budget drops no client and charges no second', { timeout: 40000 * SLOW }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: 1 } });
  const c = await d.client(), idle = await d.client();
  const { sessionId } = await c.newSession({ meta: { budgets: { turn: { seconds: 5 } } } });
  const turn = c.prompt(sessionId, 'sleep 60000');
  let ended = false;

  turn.then(() => { ended = true; }, () => { ended = true; });
  await sleep(1200);
  await freeze(d, FROZEN_MS);
  const woke = Date.now();

  await sleep(700);

  assert.equal(ended, false, 'the budget has not been charged for the freeze');
  const result = await turn;
  const left = Date.now() - woke;

  assert.equal(result._meta.acpd.stopDetail.budget, 'seconds');
  assert.ok(left > 1500, `what was left of the budget, ${left} ms`);
  const [record] = turnsOf(d, sessionId);

  assert.ok(record.durationMs < 5000 + FROZEN_MS / 2, `the freeze is no part of the turn: ${record.durationMs}`);
  assert.ok((await idle.call('_acpd/status', {})).incarnation, 'the idle client is still there');
  assert.ok(d.logs.some((l) => l.text === 'was not running' || l.msg === 'was not running'));
  assert.ok(!d.logs.some((l) => l.reason === 'silent'));
});

test('a client that is dead is still found silent after a freeze', { timeout: 40000 * SLOW }, async (t) => {
  const d = await Daemon.startFor(t, { flags: { pingInterval: 1, pingTimeout: 1 } });
  const dead = await d.ws({ autoPong: false });

  await freeze(d, 3000);
  await dead.closed;
  await d.waitLog((l) => l.reason === 'silent');
});
