// SPDX-License-Identifier: Apache-2.0
// What a long line of a harness costs the daemon. A tool call is searched for what rules, budgets and clients need of it; none of that
// may read the whole of it once more for each member.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon, SANITIZED, endInOrder } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';

const SIZE = 8 << 20;
const ROUNDS = 5;

let d, c, sessionId;
before(async () => {
  d = await Daemon.start();
  c = await d.client();
  ({ sessionId } = await c.newSession());
});
after(() => endInOrder(d, c));

const worked = () => procs.threads(d.pid, 'schedstat').reduce((sum, one) => sum + Number(one.split(' ')[0]) / 1e6, 0);

// CPU of the daemon for a turn with one such line; the best of some.
async function costOf(kind) {
  let least = Infinity;

  for (let i = 0; i < ROUNDS; i++) {
    const before = worked();

    await c.prompt(sessionId, `longline ${kind} ${SIZE}`);
    least = Math.min(least, worked() - before);
  }
  return least;
}

test('a tool call costs less than three times what a message of the same text does', { skip: SANITIZED && 'the sanitizers distort times' }, async () => {
  const message = await costOf('message'), tool = await costOf('tool');

  assert.ok(tool < 3 * message, `a tool call ${tool.toFixed(0)} ms, a message ${message.toFixed(0)} ms`);
});
