// SPDX-License-Identifier: Apache-2.0
// The usage ledger: one record for every turn however it ended, on disk before its answer, in one chain.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test, describe, before, after } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { failing, fileOf, journalOf, records, running, turnsOf, verify } from '../ledger.mjs';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const WHOLE = { inputTokens: 100, outputTokens: 20, cachedReadTokens: 60, cachedWriteTokens: 5, thoughtTokens: 7, totalTokens: 120 };
const tokens = (usage) => `tokens ${JSON.stringify(usage)}`;

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'caller', quirks: 'copilot' }] });
  c = await d.client();
});

after(() => endInOrder(d, c, () => verify(d)));

const lastOf = (sessionId) => turnsOf(d, sessionId).at(-1);

describe('one record for each turn', () => {
  test('a success: every member that the description has', async () => {
    const { sessionId } = await c.newSession({ meta: { billingRef: 'tenant-3', configVersion: '12' } });
    const text = `think a; tool t1 read A file; tool t2 read B; toolopen t3; sleep 60; ${tokens(WHOLE)}`;
    const result = await c.prompt(sessionId, text, { meta: { traceparent: TRACE, acpd: { key: 'job-7' } } });
    const r = lastOf(sessionId);

    assert.deepEqual(result.usage, WHOLE);
    assert.equal(r.turn, 1);
    assert.equal(r.key, 'job-7');
    assert.equal(r.harness, 'stub');
    assert.equal(r.harnessVersion, '1');
    assert.equal(r.model, 'stub-small');
    assert.equal(r.stopReason, 'end_turn');
    assert.ok(!('error' in r) && !('stopDetail' in r) && !('cost' in r) && !('modelCalls' in r) && !('provider' in r));
    assert.deepEqual(r.usage, { inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 5,
      reasoningTokens: 7, totalTokens: 120 });
    assert.deepEqual(Object.keys(r.sources).sort(), Object.keys(r.usage).sort());
    assert.deepEqual([...new Set(Object.values(r.sources))], ['session/prompt.usage']);
    assert.deepEqual(Object.keys(r.toolCalls).sort(), ['execute', 'read']);
    assert.deepEqual([r.toolCalls.read.ok, r.toolCalls.read.err], [2, 0]);
    assert.deepEqual([r.toolCalls.execute.ok, r.toolCalls.execute.err], [0, 1], 'left open: failed');
    assert.ok(r.toolCalls.execute.ms >= 20 && r.toolCalls.execute.ms <= r.durationMs + 1, JSON.stringify(r.toolCalls));
    assert.ok(r.durationMs >= 40 && r.ttftMs >= 0 && r.ttftMs <= r.durationMs);
    for (const at of [r.tsStart, r.tsEnd])
      assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(Date.parse(r.tsEnd) - Date.parse(r.tsStart) - r.durationMs) < 1000);
    assert.match(r.process.source, /^(cgroup|procfs|rusage)$/);
    assert.ok(r.process.peakRssBytes > 100000 && r.process.cpuMs >= 0, JSON.stringify(r.process));
    assert.equal(r.traceId, '0af7651916cd43dd8448eb211c80319c');
    assert.equal(r.parentSpanId, 'b7ad6b7169203331');
    assert.equal(r.billingRef, 'tenant-3');
    assert.equal(r.configVersion, '12');
    const { billingRef, configVersion } = c.messages.find((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId).params._meta.acpd;
    assert.deepEqual({ billingRef, configVersion }, { billingRef: 'tenant-3', configVersion: '12' });
    for (const event of ['turn begun', 'turn ended'])
      assert.equal((await d.waitLog((l) => l.msg === event && l.session === sessionId)).configVersion, '12', event);
    assert.equal(r.incarnation, c.initializeResult.agentCapabilities._meta.acpd.incarnation);
    assert.deepEqual(r.cumulative, { turns: 1, modelCalls: 0, usage: r.usage });
  });

  test('what was not reported is absent, never 0', async () => {
    const { sessionId } = await c.newSession();
    const result = await c.prompt(sessionId, `echo x; ${tokens({ inputTokens: 9 })}`);
    const r = lastOf(sessionId);

    assert.ok(!('usage' in result), 'ACP wants input, output and total together');
    assert.deepEqual(r.usage, { inputTokens: 9 });
    await c.prompt(sessionId, 'echo x');
    assert.ok(!('usage' in lastOf(sessionId)) && !('sources' in lastOf(sessionId)));
    await c.prompt(sessionId, `echo x; ${tokens({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })}`);
    assert.deepEqual(lastOf(sessionId).usage, { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, 'a reported 0 is one');
    await c.prompt(sessionId, `echo x; ${tokens({ inputTokens: 4, outputTokens: 3 })}`);
    assert.equal(lastOf(sessionId).usage.totalTokens, 7);
    assert.equal(lastOf(sessionId).sources.totalTokens, 'sum');
    await c.prompt(sessionId, `echo x; ${tokens({ inputTokens: -1, outputTokens: 1.5, totalTokens: 'many' })}`);
    assert.ok(!('usage' in lastOf(sessionId)), 'nonsense counts as not reported');
    assert.equal(lastOf(sessionId).cumulative.turns, 5);
  });

  test('cancelled: running and waiting', async () => {
    const { sessionId } = await c.newSession();
    const first = await running(c, sessionId, 'one', 'sleep 60000');
    const second = c.startPrompt(sessionId, 'echo two');
    await c.call('_acpd/status', {});
    c.cancel(sessionId);
    for (const { answer } of [first, second])
      assert.equal((await answer).result.stopReason, 'cancelled');
    const both = turnsOf(d, sessionId).sort((a, b) => a.turn - b.turn);
    assert.deepEqual(both.map((r) => [r.turn, r.stopReason]), [[1, 'cancelled'], [2, 'cancelled']]);
    assert.ok('durationMs' in both[0]);
    assert.ok(!('durationMs' in both[1]) && !('process' in both[1]), 'it never began');
    assert.deepEqual(both[1].toolCalls, {});
    assert.deepEqual(Math.max(...both.map((r) => r.cumulative.turns)), 2);
  });

  test('failed: exit of the harness, broken protocol, empty turn, error', async () => {
    const { sessionId } = await c.newSession();

    for (const [text, cls, retryable] of [
      ['toolopen t; crash exit 3', 'harness_exit', true],
      ['echo x; badjson', 'harness_protocol', true],
      ['stop end_turn', 'empty_turn', true],
      ['echo x; error -32603 no', 'harness_error', false],
      ['echo x; stop nonsense', 'harness_protocol', false],
    ]) {
      const error = await failing(c, sessionId, text);
      const r = lastOf(sessionId);

      assert.equal(error.data.turn.class, cls, text);
      assert.deepEqual(r.error, error.data.turn, text);
      assert.equal(r.error.retryable, retryable, text);
      assert.ok(!('stopReason' in r));
    }
    assert.deepEqual(turnsOf(d, sessionId).map((r) => r.turn), [1, 2, 3, 4, 5]);
    assert.equal(turnsOf(d, sessionId)[0].toolCalls.execute.err, 1);
  });

  test('tool calls are counted by the name the harness gives them, once each', async () => {
    const { sessionId } = await c.newSession();
    const call = (id, name, rest) => `update ${JSON.stringify({ sessionUpdate: 'tool_call', toolCallId: id, title: 't', name, ...rest })}`;
    const update = (id, status) => `update ${JSON.stringify({ sessionUpdate: 'tool_call_update', toolCallId: id, status })}`;
    const odd = 'quo"te\\ \n é';

    await c.prompt(sessionId, [
      call('a', 'bash', { kind: 'execute' }), update('a', 'completed'), update('a', 'completed'),
      call('b', 'bash'), update('b', 'failed'), call('c', odd), update('c', 'completed'), update('d', 'failed'),
    ].map((s) => s.replaceAll(';', '\\;')).join(';'));
    const { toolCalls } = lastOf(sessionId);
    assert.deepEqual(Object.entries(toolCalls).map(([name, { ok, err }]) => [name, ok, err]),
      [['bash', 1, 1], [odd, 1, 0], ['other', 0, 1]]);
  });

  test('numbers add up over the session', async () => {
    const { sessionId } = await c.newSession();

    for (let i = 1; i <= 5; i++)
      await c.prompt(sessionId, `echo ${i}; ${tokens({ inputTokens: i * 10, outputTokens: i, totalTokens: i * 11, ...(i % 2 && { thoughtTokens: 1 }) })}`);
    const all = turnsOf(d, sessionId);
    for (const [i, r] of all.entries()) {
      const sum = (name) => all.slice(0, i + 1).reduce((n, x) => n + (x.usage[name] ?? 0), 0);

      assert.equal(r.cumulative.turns, i + 1);
      for (const name of Object.keys(r.cumulative.usage))
        assert.equal(r.cumulative.usage[name], sum(name), name);
    }
    assert.equal(all.at(-1).cumulative.usage.reasoningTokens, 3);
  });

  test('is in the file when the answer comes, each time', async () => {
    const { sessionId } = await c.newSession();
    let size = fs.statSync(fileOf(d)).size;

    for (let i = 1; i <= 200; i++) {
      await c.prompt(sessionId, 'echo x');
      const fd = fs.openSync(fileOf(d));
      const b = Buffer.alloc(fs.fstatSync(fd).size - size);

      fs.readSync(fd, b, 0, b.length, size);
      fs.closeSync(fd);
      size += b.length;
      const lines = b.toString().split('\n').filter(Boolean).map((line) => JSON.parse(line));
      assert.deepEqual(lines.map((r) => [r.sessionId, r.turn]), [[sessionId, i]]);
    }
    assert.equal(fs.statSync(fileOf(d)).mode & 0o7777, 0o600);
  });

  test('ten sessions at once: each turn once, one chain', async () => {
    const ids = [];

    for (let i = 0; i < 10; i++)
      ids.push((await c.newSession()).sessionId);
    await Promise.all(ids.flatMap((id) => Array.from({ length: 5 }, (_, i) => c.prompt(id, `echo ${i}`))));
    for (const id of ids)
      assert.deepEqual(turnsOf(d, id).map((r) => r.turn), [1, 2, 3, 4, 5]);
    verify(d);
    for (const sessionId of ids)
      await c.call('session/close', { sessionId });
  });
});

describe('trace context', () => {
  test('stands on every update of the turn, on its end and in its record; not on the next turn', async () => {
    const { sessionId } = await c.newSession();
    const from = c.messages.length;

    await c.prompt(sessionId, 'echo a; tool t read A; plan', { meta: { traceparent: TRACE } });
    const of = (list) => list.filter((m) => m.params?.sessionId === sessionId && m.params._meta?.acpd?.turn === 1);
    const seen = of(c.messages.slice(from));
    assert.ok(seen.length >= 5);
    for (const m of seen)
      assert.equal(m.params._meta.traceparent, TRACE, m.method);
    assert.ok(seen.some((m) => m.method === '_acpd/turn_end'));
    await c.prompt(sessionId, 'echo b');
    assert.ok(!('traceparent' in c.updates.at(-1).msg.params._meta));
    assert.ok(!('traceId' in lastOf(sessionId)));
    assert.ok(fs.readFileSync(journalOf(d, sessionId), 'utf8').includes(TRACE));
  });

  test('what is malformed counts as absent', async () => {
    const { sessionId } = await c.newSession();
    const zero = (from, n) => `${TRACE.slice(0, from)}${'0'.repeat(n)}${TRACE.slice(from + n)}`;

    for (const traceparent of ['', 'x', TRACE.toUpperCase(), `${TRACE}-`, `${TRACE}0`, TRACE.slice(0, -1), `ff${TRACE.slice(2)}`,
      zero(3, 32), zero(36, 16), TRACE.replace('-01', '_01'), TRACE.replace('0af', 'gaf'), ` ${TRACE}`.slice(0, 55), 7, null, {}, [TRACE]]) {
      assert.equal((await c.prompt(sessionId, 'echo x', { meta: { traceparent } })).stopReason, 'end_turn');
      assert.ok(!('traceId' in lastOf(sessionId)) && !('parentSpanId' in lastOf(sessionId)), JSON.stringify(traceparent));
      assert.ok(!('traceparent' in c.updates.at(-1).msg.params._meta), JSON.stringify(traceparent));
    }
  });
});

test('no secret of the session is in it', async () => {
  const secret = (name) => `SECRET-${name}-0123456789abcdef`;
  const provider = { api: 'openai-chat', key: secret('key'), headers: { 'X-Auth': secret('header') } };
  const { sessionId } = await c.newSession({ meta: { harness: 'caller', provider, env: { MY_TOKEN: secret('env') } } });
  const all = [provider.key, provider.headers['X-Auth'], secret('env')];
  const titled = (title, i) => `update ${JSON.stringify({ sessionUpdate: 'tool_call', toolCallId: `t${i}`, title })}`;

  await c.prompt(sessionId, all.map(titled).join(';'));
  await failing(c, sessionId, `echo x; error -32603 the key ${all.join(' and ')}`);
  const text = fs.readFileSync(fileOf(d), 'utf8');
  assert.equal(turnsOf(d, sessionId).length, 2);
  assert.equal(lastOf(sessionId).provider, 'openai');
  for (const s of all)
    assert.ok(!text.includes(s), s.slice(0, 12));
});

describe('_acpd/usage', () => {
  test('since, sessionId, and pages that lose and repeat nothing', async () => {
    const { sessionId } = await c.newSession();
    const padding = (i) => Array.from({ length: 60 }, (_, k) =>
      `update ${JSON.stringify({ sessionUpdate: 'tool_call', toolCallId: `t${k}`, title: 't', name: `${i}-${k}-${'x'.repeat(400)}` })}`).join(';');

    for (let i = 0; i < 50; i++)
      await c.prompt(sessionId, padding(i));
    const all = records(d);
    const got = [];
    let page, pages = 0;
    do {
      page = await c.call('_acpd/usage', { since: got.at(-1)?.n ?? 0 });
      assert.ok(page.records.length > 0);
      got.push(...page.records);
      assert.equal(page.last, got.at(-1).n);
      pages++;
    } while (page.more);
    assert.deepEqual(got, all);
    assert.ok(pages > 1, `${fs.statSync(fileOf(d)).size} bytes in ${pages} pages`);
    const own = [];
    let since = 0;
    do {
      page = await c.call('_acpd/usage', { sessionId, since });
      own.push(...page.records);
      since = page.last;
    } while (page.more);
    assert.deepEqual(own, all.filter((r) => r.sessionId === sessionId));
    const end = all.at(-1).n;
    assert.deepEqual((await c.call('_acpd/usage', { since: end - 1 })).records, [all.at(-1)]);
    assert.deepEqual(await c.call('_acpd/usage', { since: end }), { records: [], last: end, more: false });
    assert.deepEqual(await c.call('_acpd/usage', { since: end + 1000 }), { records: [], last: end + 1000, more: false });
    assert.deepEqual((await c.call('_acpd/usage', { sessionId: 'nobody' })).records, []);
    for (const [params, field] of [[{ since: -1 }, 'since'], [{ since: 'x' }, 'since'], [{ sessionId: 7 }, 'sessionId']])
      assert.equal((await c.fails('_acpd/usage', params)).data.field, field);
  });
});

describe("the file that Agenta's runner reads", () => {
  test('the last turn whole, gone while the next one runs, none without a total', async () => {
    const file = path.join(d.workDir, 'relay', '.agenta-usage.json');
    const { sessionId } = await c.newSession({ meta: { env: { AGENTA_AGENT_USAGE_CAPTURE_PATH: file } } });
    const read = () => JSON.parse(fs.readFileSync(file, 'utf8'));

    await c.prompt(sessionId, `echo a; ${tokens(WHOLE)}`);
    assert.deepEqual(read(), { input: 100, output: 20, total: 120 });
    const { step, open } = gate(d);
    const next = c.startPrompt(sessionId, `echo begun; ${step}; ${tokens({ inputTokens: 1, outputTokens: 2, totalTokens: 3 })}`);
    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'begun');
    assert.ok(!fs.existsSync(file), 'an earlier turn is not told again');
    open();
    await next.answer;
    assert.deepEqual(read(), { input: 1, output: 2, total: 3 }, 'of this turn, not of the session');
    await c.prompt(sessionId, 'echo unknown');
    assert.ok(!fs.existsSync(file));
    assert.deepEqual(fs.readdirSync(path.dirname(file)), []);
  });
});
