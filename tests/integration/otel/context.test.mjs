// SPDX-License-Identifier: Apache-2.0
// Trace contexts and the client's own id of a request: into the harness, its environment, checks, MCP, events, records and logs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { openRelay } from '../../lib/mcp-relay.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const OTHER = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`;
const CONTEXT = { traceparent: PARENT, tracestate: 'a=1,b=2', baggage: 'user=alice,k=v;p=1', requestId: 'run "7" of nightly' };

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(async () => {
  await d.stop();
  assertNoViolations();
});

const open = (meta, more = {}) => c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { ...meta, acpd: more } });
const texts = (sessionId) => c.updates.filter((u) => u.msg.params.sessionId === sessionId && u.msg.params.update.sessionUpdate === 'agent_message_chunk')
  .map((u) => u.msg.params.update.content.text);
const ENV = ['TRACEPARENT', 'TRACESTATE', 'BAGGAGE'];
const ASK = ENV.map((name) => `env ${name}`).join('\n');

describe('the environment of a harness', () => {
  test('is that of the call which opens its session', async () => {
    const { sessionId } = await open(CONTEXT);

    await c.prompt(sessionId, ASK);
    assert.deepEqual(texts(sessionId).slice(-3), [`env:TRACEPARENT=${PARENT}`, 'env:TRACESTATE=a=1,b=2', 'env:BAGGAGE=user=alice,k=v;p=1']);
  });

  test('is that of the prompt for which it is started', async () => {
    const { sessionId } = await open({ traceparent: OTHER });

    await c.startPrompt(sessionId, 'crash exit 3').answer;
    await c.prompt(sessionId, ASK, { meta: CONTEXT });
    assert.deepEqual(texts(sessionId).slice(-3), [`env:TRACEPARENT=${PARENT}`, 'env:TRACESTATE=a=1,b=2', 'env:BAGGAGE=user=alice,k=v;p=1']);
  });

  test('has nothing of what is malformed, or was not given; the session\'s own variables win', async () => {
    const none = ENV.map((name) => `env:${name} (unset)`);

    for (const meta of [{}, { traceparent: PARENT.toUpperCase(), tracestate: 'a=1' }, { traceparent: `${PARENT}0` }, { traceparent: 7, baggage: ['x'] },
      { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` }, { baggage: 'a=b\nX: y' }, { baggage: `a=${'x'.repeat(8192)}` }]) {
      const { sessionId } = await open(meta);

      await c.prompt(sessionId, ASK);
      assert.deepEqual(texts(sessionId).slice(-3), none, JSON.stringify(meta).slice(0, 80));
      await c.call('session/close', { sessionId });
    }
    const { sessionId } = await open(CONTEXT, { env: { TRACEPARENT: 'mine' } });
    await c.prompt(sessionId, ASK);
    assert.equal(texts(sessionId).at(-3), 'env:TRACEPARENT=mine');
  });

  test('a tracestate that is too long is left out, and the traceparent stays', async () => {
    const { sessionId } = await open({ traceparent: PARENT, tracestate: `a=${'x'.repeat(511)}` });

    await c.prompt(sessionId, ASK);
    assert.deepEqual(texts(sessionId).slice(-3, -1), [`env:TRACEPARENT=${PARENT}`, 'env:TRACESTATE (unset)']);
  });
});

test('a check\'s process has that of its turn', async () => {
  const { sessionId } = await open({ traceparent: OTHER });
  const checks = [{ id: 'trace', kind: 'command', argv: ['sh', '-c', `test "$TRACEPARENT" = ${PARENT} -a "$BAGGAGE" = "${CONTEXT.baggage}"`] }];
  const { _meta } = await c.prompt(sessionId, 'echo x', { meta: { ...CONTEXT, acpd: { checks } } });

  assert.equal(_meta.acpd.checks.verdict, 'verified', JSON.stringify(_meta.acpd.checks));
});

test('the harness gets all of it in _meta', async () => {
  const { sessionId } = await open({});

  await c.prompt(sessionId, 'meta', { meta: CONTEXT });
  const { baggage, requestId, traceparent, tracestate } = JSON.parse(texts(sessionId).at(-1).replace(/^meta:/, ''));
  assert.deepEqual({ traceparent, tracestate, baggage, requestId }, CONTEXT);
});

test('events, the usage record and the log have the trace and the client\'s id', async () => {
  const { sessionId } = await open({});

  await c.prompt(sessionId, 'echo a; tool t read A; plan', { meta: CONTEXT });
  const ours = c.updates.filter((u) => u.msg.params.sessionId === sessionId);
  for (const { msg } of ours.filter((u) => u.msg.params._meta?.acpd?.turn))
    assert.deepEqual([msg.params._meta.traceparent, msg.params._meta.acpd.clientRequestId], [PARENT, CONTEXT.requestId], msg.method);
  const { body } = await d.http(`/v1/sessions/${sessionId}/events?format=ndjson`, { token: d.token });
  const events = body.trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.turnId);
  assert.ok(events.length > 4 && events.some((e) => e.final));
  for (const e of events)
    assert.deepEqual([e.traceparent, e.clientRequestId], [PARENT, CONTEXT.requestId], e.kind);
  const { records } = await c.call('_acpd/usage', { sessionId });
  assert.deepEqual([records.at(-1).traceId, records.at(-1).clientRequestId], [TRACE, CONTEXT.requestId]);
  const line = await d.waitLog((l) => l.session === sessionId && l.msg === 'turn ended');
  assert.deepEqual([line.traceparent, line.clientRequestId], [PARENT, CONTEXT.requestId]);
  await c.prompt(sessionId, 'echo b');
  const { records: [, last] } = await c.call('_acpd/usage', { sessionId });
  assert.deepEqual(['traceId' in last, 'clientRequestId' in last], [false, false], 'and none is left for the next prompt');
});

test('an MCP request that is relayed has what its caller did not say', async (t) => {
  const done = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';
  const { o, c: shim, sessionId } = await openRelay(t, d, { handlers: { 'tools/call': (call) => call.result(done) } });
  const from = o.client.updates.length;
  const turn = o.client.startPrompt(sessionId, 'echo begun\nsleep 600000', { meta: { traceparent: PARENT, tracestate: 'a=1', baggage: 'k=v', requestId: 'r-1' } });
  const said = async (_meta) => {
    await shim.request('tools/call', { name: 'raw', arguments: {}, ...(_meta && { _meta }) }, { timeout: 15000 });
    const seen = o.of('tools/call').at(-1);

    return ['traceparent', 'tracestate', 'baggage', 'requestId'].map((name) => seen.meta(name) && JSON.parse(seen.meta(name)));
  };

  await o.client.waitUpdate('agent_message_chunk', { from });
  assert.deepEqual(await said(), [PARENT, 'a=1', 'k=v', 'r-1']);
  assert.deepEqual(await said({ traceparent: OTHER, baggage: 'mine=1' }), [OTHER, undefined, 'mine=1', 'r-1'], 'no tracestate of another trace');
  assert.deepEqual(await said({ tracestate: 'z=9', requestId: 'theirs' }), [PARENT, 'z=9', 'k=v', 'theirs']);
  o.client.notify('session/cancel', { sessionId });
  await turn.answer;
});
