// SPDX-License-Identifier: Apache-2.0
// How telemetry goes out: by which variables, in which form; receivers that are down, hang, refuse or reject; bounds; secrets.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { ACPD, Daemon } from '../../lib/daemon.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { Collector, CUT, ENDLESS, HANG, QUICK, STALL, exporting } from './receiver.mjs';

after(assertNoViolations);

const KEY = 'k3y-of-the-operator-0123456789';
const metric = (d, name, signal = 'traces') => d.metric(`acpd_otlp_${name}`, `signal="${signal}"`);

async function turns(d, n, prompt = 'echo x') {
  const c = await d.client();
  const { sessionId } = await c.newSession();

  for (let i = 0; i < n; i++)
    await c.prompt(sessionId, prompt);
  return c;
}

describe('by which variables', { concurrency: true }, () => {
  test('an endpoint of all has the path of the signal behind it; one of the signal is as it stands', async (t) => {
    const [all, one] = [await Collector.start(t), await Collector.start(t)];
    const d = await exporting(t, all, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: `${all.url}/below//`, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${one.url}/own?signal=traces`,
      OTEL_LOGS_EXPORTER: undefined, OTEL_METRICS_EXPORTER: 'otlp' } });

    await turns(d, 1);
    await one.until('invoke_agent');
    await until(() => all.records.logs.length && all.records.metrics.length, 'the others');
    assert.deepEqual([...new Set(all.requests.map((q) => q.url))].sort(), ['/below/v1/logs', '/below/v1/metrics']);
    assert.deepEqual([...new Set(one.requests.map((q) => q.url))], ['/own?signal=traces']);
    await d.stop();
  });

  test('headers, service, resource; no secret in log or /metrics', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r, { env: { OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${KEY}, x-team=a%2Cb`, OTEL_EXPORTER_OTLP_TRACES_HEADERS: undefined,
      OTEL_SERVICE_NAME: 'my-sandbox', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other,team=%C3%A4%20b' } });

    await turns(d, 1);
    await r.until('invoke_agent');
    const [{ headers }] = r.requests;
    assert.deepEqual([headers.authorization, headers['x-team']], [`Bearer ${KEY}`, 'a,b']);
    assert.match(headers['user-agent'], /^acpd\//);
    const [resource] = r.resources;
    assert.deepEqual([resource['service.name'], resource['deployment.environment.name'], resource.team], ['my-sandbox', 'test', 'ä b']);
    assert.ok(!(await d.http('/metrics', { token: d.token })).body.includes(KEY));
    await d.stop();
    assert.ok(!d.stderr.includes(KEY));
  });

  for (const [name, env, check] of [
    ['http/json', { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, (q) => assert.equal(q.headers['content-type'], 'application/json')],
    ['gzip', { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' }, (q) => assert.equal(q.headers['content-encoding'], 'gzip')],
    ['both, of the signal', { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' },
      (q) => assert.deepEqual([q.headers['content-type'], q.headers['content-encoding']], ['application/json', 'gzip'])],
  ])
    test(`${name}: the same spans`, async (t) => {
      const r = await Collector.start(t);
      const d = await exporting(t, r, { env });
      const c = await turns(d, 1, 'tool a read A; echo "ü\u{1f600}"');

      await r.until('invoke_agent');
      check(r.requests[0]);
      const [turn] = r.find('invoke_agent'), [tool] = r.find('execute_tool');
      assert.deepEqual([tool.parent, tool.trace, turn.attrs['acpd.turn'], turn.kind], [turn.id, turn.trace, 1, 'SPAN_KIND_INTERNAL']);
      await c.close();
      await d.stop();
    });

  test('nothing is sent without a variable, when it is switched off, or before the claim', async (t) => {
    const r = await Collector.start(t);

    for (const env of [{ OTEL_EXPORTER_OTLP_ENDPOINT: undefined }, { OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }]) {
      const d = await exporting(t, r, { env });
      const c = await turns(d, 1, 'meta');

      assert.ok(!(await d.http('/metrics', { token: d.token })).body.includes('acpd_otlp'));
      assert.ok(!c.updates.some((u) => JSON.stringify(u.msg).includes('traceparent')));
      await d.stop();
    }
    const d = await exporting(t, r, { token: null, env: { OTEL_METRICS_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' } });
    await d.stop();
    assert.deepEqual(r.requests.map((q) => q.url), []);
  });

  const check = (env) => {
    const clean = { PATH: process.env.PATH, HOME: '/tmp' };
    const p = spawnSync(ACPD, ['serve', '--check', '--state', '/tmp/acpd-check-only'], { env: { ...clean, ...env }, encoding: 'utf8' });

    return [p.status, p.stdout + p.stderr];
  };

  test('what cannot be meant is refused by name, and its value is not printed', () => {
    for (const [name, value] of [['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'], ['OTEL_EXPORTER_OTLP_ENDPOINT', 'ftp://x/'], ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://'],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', `http://h/?key=${KEY}`], ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://h:0/'], ['OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', 'http://user@h/'],
      ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://h/ x'], ['OTEL_EXPORTER_OTLP_HEADERS', `no-value-${KEY}`], ['OTEL_EXPORTER_OTLP_METRICS_HEADERS', `bad name=${KEY}`],
      ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0d%0aX: y'], ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'], ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'], ['OTEL_EXPORTER_OTLP_LOGS_PROTOCOL', 'grpc']]) {
      const [status, text] = check({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', [name]: value });

      assert.equal(status, 2, `${name}=${value}: ${text}`);
      assert.ok(text.includes(name) && !text.includes(KEY), text);
    }
    const [status, text] = check({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' });
    assert.equal(status, 0, text);
  });

  test('other bad values are warned of and ignored', async (t) => {
    const r = await Collector.start(t);
    const bad = { OTEL_EXPORTER_OTLP_PROTOCOL: 'thrift', OTEL_EXPORTER_OTLP_COMPRESSION: 'br', OTEL_EXPORTER_OTLP_TIMEOUT: '-5', OTEL_BSP_MAX_QUEUE_SIZE: 'many',
      OTEL_TRACES_SAMPLER: 'most', OTEL_RESOURCE_ATTRIBUTES: 'nothing', OTEL_METRICS_EXPORTER: 'console' };
    const d = await exporting(t, r, { env: bad });

    await turns(d, 1);
    await r.until('invoke_agent');
    const warned = () => new Set(d.logs.filter((l) => l.msg === 'a variable of telemetry is not followed').map((l) => l.name));
    await until(() => warned().size >= Object.keys(bad).length, 'a line for each');
    assert.deepEqual([...warned()].sort(), Object.keys(bad).sort());
    await d.stop();
  });
});

describe('a receiver that', { concurrency: true }, () => {
  test('is down, then comes: turns go on meanwhile, and what waited is sent', async (t) => {
    const r = await Collector.start(t);
    await r.close();
    const d = await exporting(t, r);

    await turns(d, 3);
    await until(async () => await metric(d, 'failed_total') >= 1, 'a failed request');
    assert.equal(await metric(d, 'sent_total'), 0);
    await r.listen();
    await r.until('invoke_agent', 3, 60000);
    await until(async () => await metric(d, 'sent_total') === 3, 'they are counted');
    const refused = (l) => l.msg === 'a receiver of telemetry does not take it';
    await d.waitLog(refused);
    assert.equal(d.logs.filter(refused).length, 1, 'told once');
    assert.equal(await metric(d, 'dropped_total'), 0);
    await d.stop();
  });

  for (const status of [429, 502, 503, 504])
    test(`answers ${status}: the same again, when Retry-After says`, async (t) => {
      const r = await Collector.start(t);
      r.behave = (_, n) => (n === 0 ? { status, headers: { 'Retry-After': '2' } } : 200);
      const d = await exporting(t, r);
      const from = Date.now();

      await turns(d, 1);
      await r.until('invoke_agent', 1, 30000);
      assert.ok(Date.now() - from >= 2000);
      assert.deepEqual(r.requests.map((q) => q.message), [r.requests[0].message, r.requests[0].message]);
      assert.deepEqual([await metric(d, 'failed_total'), await metric(d, 'dropped_total')], [1, 0]);
      await d.stop();
    });

  test('answers 503 with a long page: the same again', async (t) => {
    const r = await Collector.start(t);
    r.behave = (_, n) => (n === 0 ? { status: 503, body: Buffer.alloc(100000, 'x') } : 200);
    const d = await exporting(t, r);

    await turns(d, 1);
    await r.until('invoke_agent', 1, 30000);
    assert.deepEqual([await metric(d, 'failed_total'), await metric(d, 'dropped_total')], [1, 0]);
    await d.stop();
  });

  test('answers 200 and then stalls: sent, and not a second time', async (t) => {
    const r = await Collector.start(t);
    r.behave = (_, n) => (n === 0 ? STALL : 200);
    const d = await exporting(t, r, { env: { OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '300' } });
    const c = await turns(d, 1);

    await until(async () => await metric(d, 'sent_total') === 1, 'it is counted', 30000);
    await c.prompt((await c.newSession()).sessionId, 'echo later');
    await r.until('invoke_agent', 2, 30000);
    assert.equal(r.find('invoke_agent').length, 2);
    assert.deepEqual([await metric(d, 'failed_total'), await metric(d, 'dropped_total')], [0, 0]);
    await d.stop();
  });

  for (const how of [400, 404, 500, 302, ENDLESS])
    test(`answers ${how}: it is dropped and counted, and the next is sent`, async (t) => {
      const r = await Collector.start(t);
      r.behave = (_, n) => (n === 0 ? how : 200);
      const d = await exporting(t, r);
      const c = await turns(d, 1);

      await until(async () => await metric(d, 'dropped_total') === 1, 'it is dropped', 30000);
      await c.prompt((await c.newSession()).sessionId, 'echo later');
      await r.until('invoke_agent', 1, 30000);
      assert.equal(await metric(d, 'failed_total'), 1);
      await d.stop();
    });

  for (const how of [HANG, CUT])
    test(`does ${how}: tried again after its time`, async (t) => {
      const r = await Collector.start(t);
      r.behave = (_, n) => (n === 0 ? how : 200);
      const d = await exporting(t, r, { env: { OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '300' } });

      await turns(d, 2);
      await r.until('invoke_agent', 2, 30000);
      assert.ok(await metric(d, 'failed_total') >= 1);
      await d.stop();
    });

  test('rejects a part: counted, and its words are a line of the log', async (t) => {
    const r = await Collector.start(t);
    r.behave = () => ({ status: 200, rejected: 1, message: 'too old\n{"level":"forged"}' });

    for (const OTEL_EXPORTER_OTLP_PROTOCOL of ['http/protobuf', 'http/json']) {
      const d = await exporting(t, r, { env: { OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_BSP_SCHEDULE_DELAY: '60000', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2' } });

      await turns(d, 2);
      await until(async () => await metric(d, 'rejected_total') === 1, 'it is counted');
      assert.equal(await metric(d, 'sent_total'), 1);
      assert.match((await d.waitLog((l) => l.msg === 'a receiver of telemetry has rejected a part')).text, /too old/);
      assert.ok(!d.logs.some((l) => l.level === 'forged'));
      await d.stop();
    }
  });

  test('never comes: what waits is bounded, the rest is counted, and the end of the daemon does not wait', async (t) => {
    const r = await Collector.start(t);
    r.behave = () => HANG;
    const d = await exporting(t, r, { env: { OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4', OTEL_EXPORTER_OTLP_TIMEOUT: '3600000' } }); // an hour that is not waited for

    await turns(d, 25);
    assert.equal(await metric(d, 'waiting'), 10);
    assert.equal(await metric(d, 'dropped_total'), 15);
    await d.stop();
  });
});

describe('batches', { concurrency: true }, () => {
  test('have at most as many records as the variable says, and none is lost or doubled', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r, { env: { OTEL_BSP_SCHEDULE_DELAY: '300', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '7' } });

    await turns(d, 40);
    await r.until('invoke_agent', 40);
    assert.deepEqual(r.find('invoke_agent').map((s) => s.attrs['acpd.turn']), Array.from({ length: 40 }, (_, i) => i + 1));
    for (const { message } of r.requests)
      assert.ok(message.resourceSpans[0].scopeSpans[0].spans.length <= 7);
    await d.stop();
  });

  test('what waits goes when the daemon ends', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r, { env: { OTEL_BSP_SCHEDULE_DELAY: '3000000', OTEL_METRICS_EXPORTER: 'otlp', OTEL_METRIC_EXPORT_INTERVAL: '3000000', OTEL_LOGS_EXPORTER: 'otlp' } });

    await turns(d, 2);
    assert.equal(r.find('invoke_agent').length, 0);
    await d.stop();
    assert.equal(r.find('invoke_agent').length, 2);
    assert.ok(r.records.metrics.length > 50);
    assert.ok(r.records.logs.some((l) => l.body.stringValue === 'turn ended'));
  });

  test('a span of huge texts is cut, not dropped', async (t) => {
    const r = await Collector.start(t);
    const d = await exporting(t, r);
    const c = await d.client();
    const { sessionId } = await c.newSession();

    await c.startPrompt(sessionId, `error -32000 ${'é'.repeat(20000)}`).answer;
    await c.prompt(sessionId, `update {"sessionUpdate":"tool_call","toolCallId":"t","title":"x","name":"${'n'.repeat(50000)}","status":"completed"}`);
    await r.until('invoke_agent', 2);
    for (const s of r.spans)
      assert.ok(s.name.length <= 4096 && Object.values(s.attrs).every((v) => String(v).length <= 4096), s.name.slice(0, 40));
    assert.equal(await metric(d, 'dropped_total'), 0);
    await d.stop();
  });
});

test('metrics: the numbers of /metrics with their units, and durations of tools', async (t) => {
  const r = await Collector.start(t);
  const d = await Daemon.startFor(t, { env: { ...QUICK, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${r.url}/v1/metrics` } });
  const c = await turns(d, 2, 'tool a read A; tool b read B; echo x');
  const last = (name) => r.records.metrics.filter((m) => m.name === name).at(-1);

  await until(() => last('gen_ai.execute_tool.duration')?.histogram.dataPoints[0].count === '4', 'all tool calls', 20000);
  const total = () => last('acpd.turns')?.sum;
  await until(() => total()?.dataPoints[0].asDouble === 2, 'both turns');
  assert.deepEqual([total().aggregationTemporality, total().isMonotonic, last('acpd.turns').unit], ['AGGREGATION_TEMPORALITY_CUMULATIVE', true, '1']);
  assert.deepEqual([last('process.resident_memory').unit, last('process.cpu').unit, last('acpd.machine_cpu').sum.dataPoints.length], ['By', 's', 8]);
  assert.ok(last('acpd.sessions').gauge.dataPoints[0].asDouble >= 1);
  const [point] = last('gen_ai.execute_tool.duration').histogram.dataPoints;
  assert.equal(point.bucketCounts.reduce((sum, n) => sum + Number(n), 0), 4);
  assert.equal(point.bucketCounts.length, point.explicitBounds.length + 1);
  const names = (list) => new Set(list.map((m) => m.name));
  const { body } = await d.http('/metrics', { token: d.token });
  const families = [...body.matchAll(/^# TYPE (\w+) /gm)].map(([, n]) => n.replace(/_total$/, '').replace(/_(seconds|bytes)$/, '').replace('_', '.'));
  assert.deepEqual(families.filter((n) => !names(r.records.metrics).has(n)), []);
  await c.close();
  await d.stop();
});

test('logs: with severity, fields and the turn\'s trace; none of sending them', async (t) => {
  const r = await Collector.start(t);
  const d = await exporting(t, r, { env: { OTEL_LOGS_EXPORTER: 'otlp' } });
  const c = await turns(d, 1);
  const { sessionId } = await c.newSession();

  await c.startPrompt(sessionId, 'crash exit 3').answer;
  await r.until('invoke_agent', 2);
  await until(() => r.records.logs.some((l) => l.body.stringValue === 'turn failed'), 'its line');
  const fields = (l) => Object.fromEntries(l.attributes.map((a) => [a.key, a.value.stringValue]));
  const failed = r.records.logs.find((l) => l.body.stringValue === 'turn failed');
  const span = r.find('invoke_agent').find((s) => s.status?.code === 'STATUS_CODE_ERROR');

  assert.deepEqual([failed.severityText, failed.severityNumber, fields(failed)['acpd.class'], fields(failed)['gen_ai.conversation.id'], fields(failed)['acpd.module']],
    ['WARN', 'SEVERITY_NUMBER_WARN', 'harness_exit', sessionId, 'session']);
  assert.deepEqual([failed.traceId.toString('hex'), failed.spanId.toString('hex')], [span.trace, span.id]);
  await d.stop();
});
