// SPDX-License-Identifier: Apache-2.0
// What a turn has said comes before the answer of its prompt, also to a client that is sent it from the journal.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Daemon } from '../../../lib/daemon.mjs';
import { assertNoViolations } from '../../../lib/rawws.mjs';
import { until } from '../../../lib/wait.mjs';

after(assertNoViolations);

// The client's own prompt is an event that it is not sent. Here that event is as large as what is read from the journal at once.
test('an answer waits for the updates behind a large prompt of the client itself', async (t) => {
  const d = await Daemon.startFor(t, { flags: { backlogMax: 2 ** 30 } });
  const c = await d.client();
  const { sessionId: flooded } = await c.newSession();
  const { sessionId } = await c.newSession();
  const text = 'x'.repeat(2 ** 19);
  const ended = async (n) => await d.metric('acpd_turns_total') === n && await d.metric('acpd_turns_running') === 0;

  c.ws.pause();
  const flood = c.startPrompt(flooded, 'flood 40000 330'); // more than the sockets hold
  await until(() => ended(1), 'the flood to end', 45000);
  const turn = c.startPrompt(sessionId, `update {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"${text}"}}; flood 2000 330; echo end`);
  await until(() => ended(2), 'the turn to end', 45000);
  c.ws.resume();
  await Promise.all([flood.answer, turn.answer]);

  const said = (words) => c.messages.findIndex((m) => m.params?.sessionId === sessionId && m.params.update?.content?.text === words);
  const order = [said(text), said('end'), c.messages.findIndex((m) => m.id === turn.id)];

  assert.ok(order[0] >= 0);
  assert.deepEqual(order, order.toSorted((a, b) => a - b));
});
