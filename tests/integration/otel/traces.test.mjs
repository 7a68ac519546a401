// SPDX-License-Identifier: Apache-2.0
// Spans over OTLP: of what, below what, with which attributes; what is passed on; what is sampled.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openRelay } from '../../lib/mcp-relay.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { Collector, exporting } from './receiver.mjs';

after(assertNoViolations);

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const SECRET = 's3cret-of-the-session-0123456789';
const texts = (c) => c.updates.filter((u) => u.msg.params.update?.sessionUpdate === 'agent_message_chunk').map((u) => u.msg.params.update.content.text);

describe('what is told', { concurrency: true }, () => {
  test('a turn with its tool calls, question and checks: one tree below the prompt\'s span', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { billingRef: 'bill-7' } });

    c.onRequest('session/request_permission', () => new Promise((done) => { setTimeout(() => done({ outcome: { outcome: 'selected', optionId: 'allow' } }), 60); }));
    await c.prompt(sessionId, 'tool a read A title; perm p1; echo x; sleep 30', { meta: { traceparent: PARENT, tracestate: 'v=1', requestId: 'req-1',
      acpd: { key: 'k-1', checks: [{ id: 'yes', kind: 'command', argv: ['true'] }, { id: 'no', kind: 'command', argv: ['false'] }] } } });
    const [turn] = await r.until('invoke_agent');
    const within = r.spans.filter((s) => s.parent === turn.id);

    assert.deepEqual([turn.name, turn.kind, turn.trace, turn.parent], ['invoke_agent stub', 'SPAN_KIND_INTERNAL', TRACE, 'b7ad6b7169203331']);
    assert.deepEqual(within.map((s) => s.name).sort(), ['check no', 'check yes', 'execute_tool execute', 'execute_tool read', 'wait_for_human permission'].sort());
    for (const s of r.spans) {
      assert.equal(s.trace, TRACE);
      assert.equal(s.attrs['gen_ai.conversation.id'], sessionId);
      assert.ok(s.from >= turn.from && s.to <= turn.to && s.to >= s.from, s.name);
    }
    const { attrs } = turn;
    assert.deepEqual([attrs['gen_ai.operation.name'], attrs['gen_ai.agent.name'], attrs['acpd.turn'], attrs['acpd.turn.key'], attrs['acpd.request.id'], attrs['acpd.billing.ref'],
      attrs['gen_ai.response.finish_reasons'], attrs['acpd.checks.verdict']], ['invoke_agent', 'stub', 1, 'k-1', 'req-1', 'bill-7', ['end_turn'], 'failed']);
    const [tool] = r.find('execute_tool read');
    assert.deepEqual([tool.attrs['gen_ai.operation.name'], tool.attrs['gen_ai.tool.name'], tool.attrs['gen_ai.tool.type'], tool.attrs['gen_ai.tool.call.id']], ['execute_tool', 'read', 'function', 'a']);
    const [human] = r.find('wait_for_human');
    assert.deepEqual([human.attrs['acpd.question.answered_by'], human.attrs['acpd.question.outcome']], ['client', 'allow_once']);
    assert.ok(human.to - human.from >= 50, 'as long as it was waited');
    const [no] = r.find('check no');
    assert.deepEqual([no.attrs['acpd.check.ok'], no.attrs['process.exit.code'], no.attrs['error.type'], no.status.code], [false, 1, 'check_failed', 'STATUS_CODE_ERROR']);
    const [resource] = r.resources;
    assert.deepEqual([resource['service.name'], resource['service.instance.id']], ['acpd', c.initializeResult.agentCapabilities._meta.acpd.incarnation]);
    await d.stop();
  });

  test('a prompt without a context begins a trace, and each has its own', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo x');
    await c.prompt(sessionId, 'echo y');
    const turns = await r.until('invoke_agent', 2);
    assert.equal(new Set(turns.map((s) => s.trace)).size, 2);
    for (const s of turns) {
      assert.equal(s.parent, undefined);
      assert.match(s.trace, /^(?!0{32})[0-9a-f]{32}$/);
    }
    await d.stop();
  });

  test('a turn that fails, is cancelled, or whose harness crashes', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession({ meta: { secrets: { TOKEN: SECRET } } });

    await c.startPrompt(sessionId, `error -32000 it was ${SECRET}`).answer;
    const from = c.updates.length;
    const cancelled = c.startPrompt(sessionId, 'toolopen o1; echo begun; sleep 20000');
    await c.waitUpdate('agent_message_chunk', { from });
    c.notify('session/cancel', { sessionId });
    await cancelled.answer;
    await c.startPrompt(sessionId, 'crash exit 3').answer;
    const [failed, stopped, crashed] = await r.until('invoke_agent', 3);

    assert.equal(failed.status.code, 'STATUS_CODE_ERROR');
    assert.ok(failed.attrs['error.type'] && failed.status.message.includes('it was *'), failed.status.message);
    assert.deepEqual([stopped.attrs['gen_ai.response.finish_reasons'], stopped.status?.code], [['cancelled'], undefined]);
    assert.deepEqual([crashed.attrs['error.type'], crashed.status.code], ['harness_exit', 'STATUS_CODE_ERROR']);
    const [open] = r.find('execute_tool');
    assert.deepEqual([open.parent, open.attrs['error.type']], [stopped.id, 'tool_error'], 'a call that never ended ends with its turn');
    assert.ok(!JSON.stringify(r.requests.map((x) => x.message)).includes(SECRET));
    await d.stop();
  });

  test('tokens of a harness that reports them stand on the turn', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, 'echo x; tokens {"totalTokens":30,"inputTokens":20,"outputTokens":10,"cachedReadTokens":5}');
    const [turn] = await r.until('invoke_agent');
    assert.deepEqual(Object.entries(turn.attrs).filter(([k]) => k.startsWith('gen_ai.usage.')).sort(), [
      ['gen_ai.usage.cache_read.input_tokens', 5], ['gen_ai.usage.input_tokens', 20], ['gen_ai.usage.output_tokens', 10]]);
    await d.stop();
  });

  test('what is put into a workspace: below the context that opened the session', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();

    await c.call('session/new', { cwd: d.workDir, mcpServers: [], _meta: { traceparent: PARENT, acpd: { instructions: { text: 'be kind' } } } });
    const [span] = await r.until('materialize');
    assert.deepEqual([span.trace, span.parent, span.attrs['acpd.workspace.written']], [TRACE, 'b7ad6b7169203331', true]);
    await d.stop();
  });

  test('relayed requests: their own spans, which the server is given as parent', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const answers = ['{"resultType":"complete","content":[]}', '{"resultType":"complete","content":[],"isError":true}'];
    const { o, c: shim, sessionId } = await openRelay(t, d, { handlers: { 'tools/call': (call) => call.result(answers[o.of('tools/call').length - 1]) } });
    const from = o.client.updates.length;
    const turn = o.client.startPrompt(sessionId, 'echo begun\nsleep 600000', { meta: { traceparent: PARENT } });
    await o.client.waitUpdate('agent_message_chunk', { from });
    const call = (_meta) => shim.request('tools/call', { name: 'raw', arguments: {}, ...(_meta && { _meta }) }, { timeout: 15000 });
    await call();
    await call({ traceparent: `00-${TRACE}-1111111111111111-01` });
    o.client.notify('session/cancel', { sessionId });
    await turn.answer;
    const whole = (await r.until('invoke_agent', 2)).at(-1); // the first prompt asked for its servers
    const [first, second] = await r.until('tools/call raw', 2);

    assert.deepEqual([first.kind, first.parent, first.attrs['mcp.method.name'], first.attrs['gen_ai.tool.name'], first.status?.code],
      ['SPAN_KIND_CLIENT', whole.id, 'tools/call', 'raw', undefined]);
    assert.equal(JSON.parse(o.of('tools/call')[0].meta('traceparent')), `00-${TRACE}-${first.id}-01`);
    assert.deepEqual([second.parent, second.attrs['error.type']], ['1'.repeat(16), 'tool_error'], 'below its caller\'s, whose words stay');
    assert.equal(JSON.parse(o.of('tools/call')[1].meta('traceparent')), `00-${TRACE}-1111111111111111-01`);
    await d.stop();
  });

  test('harness, processes and log have the turn\'s span as their parent', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.startPrompt(sessionId, 'crash exit 3').answer;
    await c.prompt(sessionId, 'meta; echo then', { meta: { traceparent: PARENT, baggage: 'a=1', acpd: { checks: [{ id: 'trace', kind: 'command', argv: ['sh', '-c', 'echo "$TRACEPARENT"'] }] } } });
    const [, turn] = await r.until('invoke_agent', 2);
    const mine = `00-${TRACE}-${turn.id}-01`;
    const meta = JSON.parse(texts(c).at(-2).replace(/^meta:/, ''));

    assert.deepEqual([meta.traceparent, meta.baggage], [mine, 'a=1']);
    const { body } = await d.http(`/v1/sessions/${sessionId}/events?format=ndjson`, { token: d.token });
    const check = body.split('\n').filter(Boolean).map((line) => JSON.parse(line)).find((e) => e.kind === 'check');
    assert.ok(JSON.stringify(check).includes(mine), JSON.stringify(check));
    await d.waitLog((l) => l.msg === 'turn ended' && l.traceparent === mine);
    for (const { msg } of c.updates.filter((u) => u.msg.params._meta?.traceparent))
      assert.equal(msg.params._meta.traceparent, PARENT, 'events name the prompt\'s own');
    await d.stop();
  });
});

describe('which are told', { concurrency: true }, () => {
  const NOT = `${PARENT.slice(0, -1)}0`;

  for (const [sampler, arg, sampled, unsampled, none] of [
    [undefined, undefined, 1, 0, 1], ['always_on', undefined, 1, 1, 1], ['always_off', undefined, 0, 0, 0], ['parentbased_always_off', undefined, 1, 0, 0],
    ['traceidratio', '0', 0, 0, 0], ['traceidratio', '1', 1, 1, 1], ['parentbased_traceidratio', '0', 1, 0, 0], ['no_such', undefined, 1, 0, 1],
  ])
    test(`OTEL_TRACES_SAMPLER=${sampler} ${arg ?? ''}`, async (t) => {
      const r = await Collector.start(t);
      const d = await exporting(t, r, { env: { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg } });
      const c = await d.client();
      const { sessionId } = await c.newSession();

      for (const [key, traceparent] of [['sampled', PARENT], ['unsampled', NOT], ['none', undefined]])
        await c.prompt(sessionId, 'meta', { meta: { ...(traceparent && { traceparent }), acpd: { key } } });
      const passed = texts(c).map((s) => JSON.parse(s.replace(/^meta:/, '')).traceparent.slice(-2));
      assert.deepEqual(passed, [sampled, unsampled, none].map((n) => `0${n}`), 'what is passed on says so');
      await d.stop();
      assert.deepEqual(r.find('invoke_agent').map((s) => s.attrs['acpd.turn.key']), Object.entries({ sampled, unsampled, none }).filter(([, n]) => n).map(([k]) => k));
    });
});
