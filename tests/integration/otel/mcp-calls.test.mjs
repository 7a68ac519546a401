// SPDX-License-Identifier: Apache-2.0
// Tool calls that come over /mcp: an event of the session, a line of the log, a span and a metric each, with the caller's context.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { McpHttp } from '../../lib/mcp-http.mjs';
import { openRelay } from '../../lib/mcp-relay.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { Collector, exporting } from './receiver.mjs';

after(assertNoViolations);

const TRACES = ['0af7651916cd43dd8448eb211c80319c', '1af7651916cd43dd8448eb211c80319c'];
const parent = (n, span = 'b7ad6b7169203331') => `00-${TRACES[n]}-${span}-01`;
const run = (c, opts) => c.modern('tools/call', { name: 'runCommand', arguments: { command: 'true' }, ...(opts?.meta && { _meta: opts.meta }) }, { headers: opts?.headers }).then((a) => a.over());
const eventsOf = async (d, id) => (await d.http(`/v1/sessions/${id}/events?format=ndjson&follow=false`, { token: d.token })).body.split('\n').filter(Boolean).map((l) => JSON.parse(l));
const calledOf = async (d, id) => (await eventsOf(d, id)).filter((e) => e.event === 'tool_called');
const shape = ({ via, server, tool, outcome, reason, traceparent, clientRequestId }) => ({ via, server, tool, outcome, reason, traceparent, clientRequestId });
const own = { via: 'mcp', server: 'acpd', tool: 'runCommand', outcome: 'completed', reason: undefined };

describe('what is told of a call', { concurrency: true }, () => {
  test('of a session: with _meta.traceparent, else the header, else none; what is malformed is none', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r, { env: { OTEL_LOGS_EXPORTER: 'otlp', OTEL_METRICS_EXPORTER: 'otlp', E2B_SANDBOX_ID: 'i-7' } });
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { billingRef: 'bill-7', configVersion: 'v-3' } });
    const mcp = new McpHttp(d, `/mcp?session=${sessionId}`);
    const rows = [
      [{ meta: { traceparent: parent(0), requestId: 'req-1' }, headers: { traceparent: parent(1) } }, 0, 'req-1'],
      [{ headers: { traceparent: parent(1), tracestate: 'v=1' } }, 1],
      [{ meta: { traceparent: '00-zz' }, headers: { traceparent: parent(1) } }, 1],
      [{ meta: { traceparent: parent(0) }, headers: { traceparent: `${parent(1)}0` } }, 0],
      [{ meta: { traceparent: `${parent(0)}-` }, headers: { traceparent: '00-0' } }, undefined],
      [{}, undefined],
    ];

    for (const [opts] of rows)
      assert.ok((await run(mcp, opts)).answer.result);
    const spans = await r.until('execute_tool runCommand', rows.length);
    assert.deepEqual(spans.map((s) => [s.kind, s.parent, s.attrs['gen_ai.conversation.id'], s.attrs['acpd.mcp.server'], s.attrs['gen_ai.tool.name'], s.status?.code]),
      rows.map(([, n]) => ['SPAN_KIND_SERVER', n === undefined ? undefined : 'b7ad6b7169203331', sessionId, 'acpd', 'runCommand', undefined]));
    for (const [i, [, n]] of rows.entries())
      assert.ok(n === undefined ? !TRACES.includes(spans[i].trace) : spans[i].trace === TRACES[n], `call ${i}`);
    const events = await calledOf(d, sessionId);
    assert.deepEqual(events.map(shape), rows.map(([, n, clientRequestId]) => ({ ...own, traceparent: n === undefined ? undefined : parent(n), clientRequestId })));
    for (const [i, e] of events.entries()) {
      assert.ok(e.durationMs >= 0);
      const text = `00-${spans[i].trace}-${spans[i].id}-01`;
      const line = await d.waitLog((l) => l.mod === 'mcp' && l.msg === 'tool called' && l.traceparent === text);
      assert.deepEqual([line.session, line.tool, line.outcome, line.configVersion], [sessionId, 'runCommand', 'completed', 'v-3']);
    }
    await until(() => r.records.logs.filter((l) => l.body.stringValue === 'tool called' && l.traceId?.toString('hex') === TRACES[0]).length === 2, 'lines with their trace');
    const frames = c.messages.filter((m) => m.method === '_acpd/event' && m.params.event.event === 'tool_called').map((m) => m.params._meta.acpd);
    for (const told of [frames, events])
      assert.deepEqual(told.map((e) => [e.billingRef, e.configVersion, e.sandboxId]), rows.map(() => ['bill-7', 'v-3', 'i-7']));
    assert.equal(await d.metric('acpd_mcp_tool_calls_total', 'outcome="completed"'), rows.length);
    await until(() => r.records.metrics.some((m) => m.name === 'gen_ai.execute_tool.duration'), 'its duration');
    await d.stop();
  });

  test('of no session: a span, a line and a count', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const mcp = new McpHttp(d, '/mcp');

    await run(mcp, { headers: { traceparent: parent(0) } });
    const [span] = await r.until('execute_tool runCommand');
    assert.deepEqual([span.trace, span.parent, span.attrs['gen_ai.conversation.id']], [TRACES[0], 'b7ad6b7169203331', undefined]);
    const line = await d.waitLog((l) => l.msg === 'tool called' && l.traceparent === `00-${span.trace}-${span.id}-01`);
    assert.deepEqual([line.session, line.server, line.tool], [undefined, 'acpd', 'runCommand']);
    assert.equal(await d.metric('acpd_mcp_tool_calls_total', 'outcome="completed"'), 1);
    await d.stop();
  });

  test('what fails, and what is cancelled', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession();
    const mcp = new McpHttp(d, `/mcp?session=${sessionId}`);

    await (await mcp.modern('tools/call', { name: 'readFile', arguments: { path: '/no/such/file' } })).over();
    const left = await mcp.modern('tools/call', { name: 'runCommand', arguments: { command: 'sleep 1000', timeoutMs: 600000 } });
    left.close();
    await until(async () => (await calledOf(d, sessionId)).length === 2, 'both to be told');
    assert.deepEqual((await calledOf(d, sessionId)).map((e) => [e.tool, e.outcome]), [['readFile', 'failed'], ['runCommand', 'cancelled']]);
    const [failed] = await r.until('execute_tool readFile'), [cancelled] = await r.until('execute_tool runCommand');
    assert.deepEqual([failed.attrs['error.type'], cancelled.attrs['error.type']], ['tool_error', 'cancelled']);
    await d.stop();
  });

  test('calls that run when their session is closed: each is told once, with its context, before the session is', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const { o, sessionId, given } = await openRelay(t, d, { handlers: { 'tools/call': () => {} } });
    const mark = path.join(d.workDir, 'running');
    const call = (where, n, params) => new McpHttp(d, `${where}?session=${sessionId}`).modern('tools/call', params, { headers: { traceparent: parent(n) } });
    const calls = [call(`/mcp/${given[0].name}`, 0, { name: 'raw', arguments: {} }),
      call('/mcp', 1, { name: 'runCommand', arguments: { command: `touch ${mark}; exec sleep 1000`, timeoutMs: 600000 } })];

    await until(() => o.of('tools/call').length === 1 && fs.existsSync(mark), 'both to run');
    assert.deepEqual(await calledOf(d, sessionId), []);
    await o.client.call('session/close', { sessionId });
    for (const answer of await Promise.all(calls))
      await answer.over();
    const events = await eventsOf(d, sessionId);

    assert.deepEqual(events.slice(-3).map((e) => e.event), ['tool_called', 'tool_called', 'closed']);
    assert.deepEqual((await calledOf(d, sessionId)).map(shape).toSorted((one, two) => (one.traceparent < two.traceparent ? -1 : 1)), [[given[0].name, 'raw'], ['acpd', 'runCommand']].map(([server, tool], n) =>
      ({ via: 'mcp', server, tool, outcome: 'failed', reason: 'SERVER_GONE', traceparent: parent(n), clientRequestId: undefined })));
    for (const [n, name] of ['raw', 'runCommand'].entries()) {
      const [span, ...more] = await r.until(`execute_tool ${name}`);

      assert.deepEqual([span.trace, span.attrs['gen_ai.conversation.id'], more], [TRACES[n], sessionId, []]);
    }
    assert.equal(await d.metric('acpd_mcp_tool_calls_total', 'outcome="failed"'), 2);
    await d.stop();
  });

  test('a server of the client\'s is called below the span of the call', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const { o, sessionId, given } = await openRelay(t, d, { handlers: { 'tools/call': (call) => call.result('{"resultType":"complete","content":[]}') } });
    const mcp = new McpHttp(d, `/mcp/${given[0].name}?session=${sessionId}`);

    await (await mcp.modern('tools/call', { name: 'raw', arguments: {} }, { headers: { traceparent: parent(0) } })).over();
    const [outer] = await r.until('execute_tool raw'), [inner] = await r.until('tools/call raw');
    assert.deepEqual([outer.trace, outer.parent, inner.trace, inner.parent], [TRACES[0], 'b7ad6b7169203331', TRACES[0], outer.id]);
    assert.equal(JSON.parse(o.of('tools/call')[0].meta('traceparent')), `00-${TRACES[0]}-${outer.id}-01`);
    assert.deepEqual((await calledOf(d, sessionId)).map(shape), [{ ...own, server: given[0].name, tool: 'raw', traceparent: parent(0), clientRequestId: undefined }]);
    await d.stop();
  });
});

test('a flood of calls: events and lines have a pace, and what was left out is told and counted', async (t) => {
  const r = await Collector.start(t);
  const d = await exporting(t, r);
  const c = await d.client();
  const { sessionId } = await c.newSession();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  const mcp = new McpHttp(d, `/mcp?session=${sessionId}`, { agent });
  const began = Date.now(), N = 1400;
  const call = async () => (await mcp.modern('tools/call', { name: 'noSuchTool', arguments: {} })).over();
  const some = async (n) => { for (let i = 0; i < n; i++) await call(); };
  let made = N;

  t.after(() => agent.destroy());
  await Promise.all(Array.from({ length: 14 }, () => some(N / 14)));
  await until(async () => { await call(); made++; return (await calledOf(d, sessionId)).some((e) => e.more > 0); }, 'what was left out to be told', 30000);
  const events = await calledOf(d, sessionId);
  const pace = 1000 + (Date.now() - began) / 1000 + 1;
  assert.ok(events.length >= 1000 && events.length <= pace, `${events.length} events`);
  assert.equal(await d.metric('acpd_mcp_tool_calls_total', 'outcome="failed"'), made);
  assert.ok(events.length + events.reduce((sum, e) => sum + (e.more ?? 0), 0) <= made);
  await d.stop();
});
