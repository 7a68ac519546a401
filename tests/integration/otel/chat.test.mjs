// SPDX-License-Identifier: Apache-2.0
// Model calls over OTLP: spans and histograms as the conventions for generative AI have them, of each API and by each way that passes the
// daemon; of calls that fail, that are cancelled, and of no turn.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { FORMATS } from '../../harness/model-formats.mjs';
import { startModelServer } from '../../harness/model-server.mjs';
import { KEY, tunnelTo } from '../../harness/rig.mjs';
import { listenerOf, STUB_WITH_GOOGLE, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { connectSdk } from '../../lib/sdk.mjs';
import { until } from '../../lib/wait.mjs';
import { Collector, attrs, exporting } from './receiver.mjs';

after(assertNoViolations);

const MODEL = 'stub-small';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const PROVIDERS = { 'openai-chat': 'openai', 'openai-responses': 'openai', anthropic: 'anthropic', google: 'gcp.gemini' };
const USED = `USAGE:${JSON.stringify({ input: 3000, cached: 1000, written: 0, output: 70, reasoning: 20 })}`;
// As the conventions advise.
const BOUNDS = {
  'gen_ai.client.operation.duration': [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  'gen_ai.client.token.usage': [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864],
};

// A daemon that exports, and a client that makes its model calls.
async function start(t, env = {}) {
  const model = await startModelServer({ key: KEY });
  t.after(() => model.close());
  const r = await Collector.start(t);
  const d = await exporting(t, r, { harnesses: [STUB_WITH_PROVIDER, STUB_WITH_GOOGLE], env: { OTEL_METRICS_EXPORTER: 'otlp', ...env } });
  const tunnel = tunnelTo(model.url);
  const rig = { r, d, model, tunnel };
  rig.c = await connectSdk(d, { tunnel, onPermission: () => new Promise((resolve) => { rig.release = () => resolve('allow'); }) });
  await rig.c.initialize({ acpd: { model: tunnel.capability } });
  return rig;
}

const stop = async ({ c, d }) => {
  await c.close();
  await d.stop();
};

async function open({ c }, api, provider = {}, _meta = {}) {
  const harness = api === 'google' ? STUB_WITH_GOOGLE.id : STUB_WITH_PROVIDER.id;
  const { sessionId } = await c.request('session/new', { cwd: '/tmp', mcpServers: [], _meta: { ..._meta, acpd: { harness, provider: { api, model: MODEL, ...provider } } } });

  return { api, id: sessionId, listener: listenerOf(sessionId) };
}

// What its harness is answered.
async function call({ api, listener }, lines, { stream = true, signal } = {}) {
  const format = FORMATS[api];
  const answer = await fetch(listener.root + format.path(MODEL, stream), { method: 'POST', signal, headers: { 'content-type': 'application/json',
    ...format.headers(listener.key) }, body: JSON.stringify({ model: MODEL, stream, ...format.body([{ role: 'user', text: lines.join('\n') }], ['bash']) }) });

  return answer.text();
}

// A turn in whose midst the calls are made.
async function turn(rig, s, calls, meta = { traceparent: PARENT }) {
  rig.release = undefined;
  const answer = rig.c.prompt(s.id, 'echo on; perm p', { meta });
  await until(() => rig.release, 'the turn runs');
  await calls();
  rig.release();
  return answer;
}

// The last state of a histogram: [{attrs, point}].
const pointsOf = (r, name) => (r.records.metrics.filter((m) => m.name === name).at(-1)?.histogram.dataPoints ?? []).map((point) => ({ point, attrs: attrs(point.attributes) }));

// Each value lies in the bucket that holds it.
function assertHistogram(r, name, unit) {
  const last = r.records.metrics.filter((m) => m.name === name).at(-1);

  assert.deepEqual([last.unit, last.histogram.aggregationTemporality], [unit, 'AGGREGATION_TEMPORALITY_CUMULATIVE']);
  for (const p of last.histogram.dataPoints) {
    assert.deepEqual(p.explicitBounds, BOUNDS[name]);
    assert.equal(p.bucketCounts.length, p.explicitBounds.length + 1);
    assert.equal(p.bucketCounts.reduce((sum, n) => sum + Number(n), 0), Number(p.count));
    assert.ok(BigInt(p.startTimeUnixNano) < BigInt(p.timeUnixNano));
  }
}

describe('a call', { concurrency: true }, () => {
  for (const [api, via, stream, env] of [['openai-chat', 'tunnel', true, {}], ['openai-responses', 'tunnel', false, {}], ['anthropic', 'direct', true, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }],
    ['google', 'tunnel', true, {}]])
    test(`${api}, ${via}: its span and what is measured`, async (t) => {
      const rig = await start(t, env);
      const { r } = rig;
      const s = await open(rig, api, via === 'direct' ? { via, key: KEY, baseUrl: `${rig.model.url}/v1` } : {});

      await turn(rig, s, async () => {
        await call(s, [USED, 'TOOL:bash {"command":"ls"}'], { stream });
        await call(s, [USED, 'TEXT:done'], { stream });
      });
      const [whole] = await r.until('invoke_agent');
      const chats = await r.until('chat', 2);
      const wanted = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': PROVIDERS[api], 'gen_ai.request.model': MODEL, 'gen_ai.conversation.id': s.id,
        'gen_ai.usage.input_tokens': 3000, 'gen_ai.usage.output_tokens': 70, 'gen_ai.usage.cache_read.input_tokens': 1000, 'http.response.status_code': 200,
        'acpd.model.attempt': 1, 'acpd.model.via': via };

      assert.equal(chats.length, 2);
      for (const chat of chats) {
        assert.deepEqual([chat.name, chat.kind, chat.trace, chat.parent, chat.status?.code], [`chat ${MODEL}`, 'SPAN_KIND_CLIENT', TRACE, whole.id, undefined]);
        assert.deepEqual(Object.fromEntries(Object.keys(wanted).map((k) => [k, chat.attrs[k]])), wanted);
        assert.ok(chat.attrs['gen_ai.response.model'] && chat.attrs['gen_ai.response.id'] && chat.attrs['acpd.model.call.id'], JSON.stringify(chat.attrs));
        assert.deepEqual([Array.isArray(chat.attrs['gen_ai.response.finish_reasons']), 'error.type' in chat.attrs], [true, false]);
        assert.ok(chat.from >= whole.from - 1 && chat.to <= whole.to && chat.to - chat.from >= chat.attrs['acpd.model.first_byte_ms'], 'as long as it was');
      }
      assert.equal(new Set(chats.map((x) => x.attrs['acpd.model.call.id'])).size, 2);
      assert.deepEqual(Object.keys(whole.attrs).filter((k) => k.startsWith('gen_ai.usage.')), [], 'tokens stand on the calls');

      const labels = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': PROVIDERS[api], 'gen_ai.request.model': MODEL };
      await until(() => pointsOf(r, 'gen_ai.client.operation.duration')[0]?.point.count === '2', 'both are measured');
      await until(() => pointsOf(r, 'gen_ai.client.token.usage')[0]?.point.count === '2', 'their tokens, too');
      assertHistogram(r, 'gen_ai.client.operation.duration', 's');
      assertHistogram(r, 'gen_ai.client.token.usage', '{token}');
      const [duration, ...more] = pointsOf(r, 'gen_ai.client.operation.duration');
      assert.deepEqual([duration.attrs, more], [labels, []]);
      assert.ok(duration.point.sum >= 0 && duration.point.sum * 1000 <= whole.to - whole.from + 2);
      assert.deepEqual(pointsOf(r, 'gen_ai.client.token.usage').map(({ attrs: a, point: p }) => [a, p.sum, p.bucketCounts.indexOf('2')]), [
        [{ ...labels, 'gen_ai.token.type': 'input' }, 6000, 6], [{ ...labels, 'gen_ai.token.type': 'output' }, 140, 4]]);
      await stop(rig);
    });

  test('that fails, is cut or is given up says of what class; what it told of before stands', async (t) => {
    const rig = await start(t);
    const { r } = rig;
    const s = await open(rig, 'anthropic');
    const abort = new AbortController();

    await turn(rig, s, async () => {
      await call(s, ['ERR:429']);
      await call(s, [USED, 'TEXT:one two three', 'CUT']).catch(() => {});
      await r.until('chat', 2);
      const given = call(s, ['HANG'], { signal: abort.signal }).catch(() => {});
      await until(() => rig.tunnel.open === 1, 'the call is open');
      abort.abort();
      await given;
      await r.until('chat', 3);
      await call(s, [USED, 'TEXT:fine']);
    });
    const [whole] = await r.until('invoke_agent');
    const chats = await r.until('chat', 4);

    assert.deepEqual(chats.map((x) => [x.attrs['error.type'], x.status?.code, x.attrs['http.response.status_code'], x.attrs['gen_ai.usage.input_tokens'], x.parent]), [
      ['rate_limit', 'STATUS_CODE_ERROR', 429, undefined, whole.id], ['provider', 'STATUS_CODE_ERROR', 200, 3000, whole.id],
      ['cancelled', 'STATUS_CODE_ERROR', undefined, undefined, whole.id], [undefined, undefined, 200, 3000, whole.id]]);
    assert.ok(chats[0].status.message, 'in words, too');
    await until(() => pointsOf(r, 'gen_ai.client.operation.duration').length === 4, 'each class is measured by itself');
    assert.deepEqual(pointsOf(r, 'gen_ai.client.operation.duration').map((p) => p.attrs['error.type']), ['rate_limit', 'provider', 'cancelled', undefined]);
    assert.ok(!JSON.stringify(r.requests.map((q) => q.message)).includes(KEY));
    await stop(rig);
  });

  test('of no turn is below what opened the session; one that is not sampled is measured all the same', async (t) => {
    const rig = await start(t, { OTEL_TRACES_SAMPLER: 'parentbased_always_on' });
    const { r } = rig;
    const s = await open(rig, 'openai-chat', {}, { traceparent: PARENT });

    await call(s, [USED, 'TEXT:between']);
    const [between] = await r.until('chat');
    assert.deepEqual([between.trace, between.parent], [TRACE, 'b7ad6b7169203331']);
    await turn(rig, s, () => call(s, [USED, 'TEXT:within']), { traceparent: `${PARENT.slice(0, -1)}0` });
    await until(() => pointsOf(r, 'gen_ai.client.operation.duration')[0]?.point.count === '2', 'both are measured');
    await stop(rig);
    assert.deepEqual(r.spans.map((x) => x.name), [`chat ${MODEL}`]);
  });
});
