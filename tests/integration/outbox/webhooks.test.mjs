// SPDX-License-Identifier: Apache-2.0
// Webhooks: who is told, what, in which order, and what becomes of it when the receiver or the daemon does not do its part.

import assert from 'node:assert/strict';
import { describe, test, after } from 'node:test';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { Receiver, told, turns, assertOrder } from './rig.mjs';

after(assertNoViolations);

describe('what is told', { concurrency: true }, () => {
  test('a turn has ended', async (t) => {
    const r = await Receiver.start(t);
    const d = await told(t, [r]);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await turns(c, sessionId, 3);
    const messages = await r.until(3);
    assertOrder(messages);
    assert.deepEqual(messages.map((m) => m.data.number), [1, 2, 3]);
    assert.equal(messages[0].data.sessionId, sessionId);
    assert.equal(messages[0].data.stopReason, 'end_turn');
  });
});
