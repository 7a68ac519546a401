// SPDX-License-Identifier: Apache-2.0
// What agents answer to a prompt that was cancelled, against ACP or within it: its client is told `cancelled`, once, and the next prompt is
// answered by its own words.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { until } from '../../lib/wait.mjs';
import { turnEnds } from '../robust/rig.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const FAILED = '{"sessionUpdate":"agent_error","error":{"type":"unknown","message":"Aborted","retryable":true},"stopReason":"error"}';

for (const [what, steps] of [
  ['that it ended by itself', 'stop end_turn'],
  ['that it was refused', 'stop refusal'],
  ['an error', 'error -32603 The operation was aborted'],
  ['an error of its own kind, then that it ended', `update ${FAILED}; stop end_turn`],
  ['twice', 'dup'],
  ['more text, then that it ended', 'echo more; stop end_turn'],
]) {
  test(`the agent says ${what}`, async () => {
    const { sessionId } = await c.newSession();
    const held = gate(d);
    const turn = c.prompt(sessionId, `nocancel; echo begun; ${held.step}; ${steps}`);

    await until(() => c.chunks(sessionId).includes('begun'));
    await c.cancel(sessionId);
    await c.call('_acpd/status', {}); // the daemon has the cancel
    held.open();
    assert.equal((await turn).stopReason, 'cancelled');
    const next = await c.prompt(sessionId, 'echo next');
    assert.equal(next.stopReason, 'end_turn');
    assert.equal(c.chunks(sessionId).at(-1), 'next');
    assert.equal(turnEnds(c, sessionId).length, 2, 'each turn ended once');
  });
}
