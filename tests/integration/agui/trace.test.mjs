// SPDX-License-Identifier: Apache-2.0
// AG-UI: a run is found again in other systems by the trace of its request and by its runId, as a prompt of ACP is by its _meta: in records,
// events, updates, log and spans, and in what the harness gets.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, headers, input, run, said, user, where } from '../../lib/agui.mjs';
import { until } from '../../lib/wait.mjs';
import { turnsOf } from '../ledger.mjs';
import { Collector, exporting } from '../otel/receiver.mjs';

const TRACE = '0af7651916cd43dd8448eb211c80319c', SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;
const OTHER = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
const sessionOf = (all) => all.find((e) => e.type === 'STATE_SNAPSHOT').snapshot.acpd.sessionId;

let d, n = 0;
const thread = () => `thread-${++n}`;

before(async () => {
  d = await Daemon.start();
});
after(() => d.stop());

// One run with such headers, and what is left of it.
async function traced(head, more = {}, steps = 'echo x') {
  const a = agent(d, { threadId: thread() });

  a.headers = { ...headers(d), ...head };
  a.addMessage(user(steps));
  const seen = [];
  await a.runAgent({ runId: `run-${n}`, ...more }, { onEvent: ({ event }) => void seen.push(event) });
  assert.equal(end(seen).type, 'RUN_FINISHED', JSON.stringify(end(seen)));
  const sessionId = sessionOf(seen), [turn] = turnsOf(d, sessionId);
  const { body } = await d.http(`/v1/sessions/${sessionId}/events?format=ndjson`, { token: d.token });

  return { seen, sessionId, turn, events: body.trim().split('\n').map((line) => JSON.parse(line)), runId: `run-${n}` };
}

test('the header traceparent and the runId are in the record, the events and the log', async () => {
  const { turn, events, sessionId, runId } = await traced({ traceparent: PARENT, tracestate: 'a=1' });

  assert.deepEqual([turn.traceId, turn.parentSpanId, turn.clientRequestId], [TRACE, SPAN, runId]);
  const ofTurn = events.filter((e) => e.turnId);

  assert.ok(ofTurn.length > 1);
  for (const e of ofTurn)
    assert.deepEqual([e.traceparent, e.clientRequestId], [PARENT, runId], JSON.stringify(e));
  await until(() => d.logs.some((l) => l.session === sessionId && l.traceparent === PARENT && l.clientRequestId === runId));
});

test('the harness gets them as from a prompt, and is started with them', async () => {
  const { seen } = await traced({ traceparent: PARENT, tracestate: 'a=1' }, { forwardedProps: { _meta: { traceparent: OTHER, tracestate: 'b=2', baggage: 'user=alice' } } },
    'env TRACEPARENT; env TRACESTATE; env BAGGAGE');

  assert.equal(said(seen), `env:TRACEPARENT=${PARENT}env:TRACESTATE=a=1env:BAGGAGE=user=alice`);
});

test('without the header forwardedProps._meta says it; what is malformed is absent, and the runId stays', async () => {
  for (const [head, _meta, want] of [[{}, { traceparent: OTHER }, '1'.repeat(32)], [{ traceparent: 'none' }, { traceparent: OTHER }, '1'.repeat(32)],
    [{ traceparent: `${PARENT}-more` }, { traceparent: 7 }, undefined], [{}, 'text', undefined], [{}, undefined, undefined]]) {
    const { turn, runId } = await traced(head, { forwardedProps: { _meta } });

    assert.deepEqual([turn.traceId, turn.clientRequestId], [want, runId], JSON.stringify([head, _meta]));
  }
});

test('each run of a thread has its own', async () => {
  const id = thread(), first = user('echo one'), second = user('echo two');
  const all = await run(d, input(id, [first], { runId: 'one', forwardedProps: { _meta: { traceparent: PARENT } } }));

  await run(d, input(id, [first, second], { runId: 'two' }));
  assert.deepEqual(turnsOf(d, sessionOf(all)).map((turn) => [turn.clientRequestId, turn.traceId]), [['one', TRACE], ['two', undefined]]);
});

test('the end of a run has the configVersion, billingRef and sandboxId of its turn, where they are known', async (t) => {
  const labels = { billingRef: 'bill-7', configVersion: 'v-3' }, own = await Daemon.startFor(t, { env: { E2B_SANDBOX_ID: 'i-7' } });
  const given = end(await run(own, input(thread(), [user('echo x')], { forwardedProps: { acpd: labels } })));
  const none = end(await run(d, input(thread(), [user('echo x')])));

  assert.deepEqual(given.result, { stopReason: 'end_turn', turn: 1, ...labels, sandboxId: 'i-7' });
  assert.deepEqual(none.result, { stopReason: 'end_turn', turn: 1 });
});

test('the span of its turn is below the caller\'s', async (t) => {
  const collector = await Collector.start(t), own = await exporting(t, collector);
  const res = await fetch(where(own), { method: 'POST', headers: { ...headers(own), 'Content-Type': 'application/json', traceparent: PARENT },
    body: JSON.stringify(input('spans', [user('echo x')])) });

  await res.text();
  const [span] = await collector.until('invoke_agent');

  assert.deepEqual([span.trace, span.parent], [TRACE, SPAN]);
});
