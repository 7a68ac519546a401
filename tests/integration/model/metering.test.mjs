// SPDX-License-Identifier: Apache-2.0
// What model calls use, read from the provider's answers: records, the account of the turn and the session's totals say the
// same, to the token, for all four APIs; also for calls that are cut, cancelled, asked again, refused, or of no turn.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MISBEHAVIOURS } from '../../harness/misbehaviours.mjs';
import { FORMATS } from '../../harness/model-formats.mjs';
import { startModelServer } from '../../harness/model-server.mjs';
import { KEY, tunnelTo } from '../../harness/rig.mjs';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { connectTaker, listenerOf, ModelConnection, STUB_WITH_GOOGLE, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { connectSdk } from '../../lib/sdk.mjs';
import { until } from '../../lib/wait.mjs';
import { fileOf, records, turnsOf, verify } from '../ledger.mjs';
import { acpd } from '../run.mjs';

const MODEL = 'stub-small';
const SCRIPT = { input: 3000, cached: 1000, written: 0, output: 70, reasoning: 20 };
const COUNTED = { inputTokens: 3000, outputTokens: 70 };
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 };
const COST = (2000 * 3 + 1000 * 0.3 + 70 * 15) / 1e6; // exact as it stands

let d, model, tunnel, c;
let release; // of the turn that waits

before(async () => {
  model = await startModelServer({ key: KEY });
  tunnel = tunnelTo(model.url);
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER, STUB_WITH_GOOGLE] });
  c = await connectSdk(d, { tunnel, onPermission: () => new Promise((resolve) => { release = () => resolve('allow'); }) });
  await c.initialize({ acpd: { model: tunnel.capability } });
});
after(async () => {
  verify(d);
  assert.match((await acpd(['usage', 'verify', '--file', fileOf(d)])).stdout, /^ok: /);
  await c?.close();
  await model?.close();
  await endInOrder(d);
});

const callsOf = (sessionId) => records(d).filter((r) => r.type === 'model_call' && r.sessionId === sessionId);

async function open(api, provider = {}, meta = {}) {
  const harness = api === 'google' ? STUB_WITH_GOOGLE.id : STUB_WITH_PROVIDER.id;
  const { sessionId } = await c.newSession({ meta: { harness, provider: { api, model: MODEL, ...provider }, ...meta } });

  return { api, id: sessionId, listener: listenerOf(sessionId) };
}

// A model call of its harness.
function call({ api, listener }, lines, { stream = true, tools = ['bash'], signal } = {}) {
  const format = FORMATS[api];

  return fetch(listener.root + format.path(MODEL, stream), { method: 'POST', signal, headers: { 'content-type': 'application/json',
    ...format.headers(listener.key) }, body: JSON.stringify({ model: MODEL, stream, ...format.body([{ role: 'user', text: lines.join('\n') }], tools) }) });
}

const said = async (s, lines, opts) => (await call(s, [`USAGE:${JSON.stringify(SCRIPT)}`, ...lines], opts)).text();

// Up to a word, or to the end.
async function readTo(answer, word) {
  let text = '';

  for await (const bytes of answer.body.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    if (word && text.includes(word))
      return;
  }
}

// A turn in whose midst `during` happens; how: the steps before its end.
async function turn(s, during, how = 'echo on; perm p') {
  release = undefined;
  const answer = c.prompt(s.id, how);
  await until(() => release, 'the turn runs');
  await during();
  release();
  return answer;
}

for (const api of Object.keys(FORMATS)) {
  describe(api, () => {
    for (const stream of [true, false]) {
      test(stream ? 'streamed' : 'not streamed', async () => {
        const s = await open(api, { prices: { [MODEL]: PRICES } });
        const answer = await turn(s, async () => {
          await said(s, ['THINK:why', 'TEXT:π and 🙂', 'TOOL:bash {"command":"ls"}'], { stream });
          await said(s, ['TEXT:done'], { stream });
        });
        const [one, two, ...more] = callsOf(s.id);
        const [record] = turnsOf(d, s.id);

        assert.deepEqual(more, []);
        assert.deepEqual([one.turn, one.call, two.call, one.attempt, one.status, one.complete, one.via], [1, 1, 2, 1, 200, true, 'tunnel']);
        for (const { usage } of [one, two]) {
          assert.deepEqual({ inputTokens: usage.inputTokens, outputTokens: usage.outputTokens }, COUNTED);
          assert.equal(usage.cacheReadTokens, 1000);
        }
        assert.deepEqual(one.cost, { amount: COST, currency: 'USD', source: 'prices' });
        assert.ok(one.responseId && one.finishReason && one.model && one.modelAsked === MODEL && one.callId !== two.callId);
        assert.ok(one.bytes.received > 0 && one.bytes.sent > 0 && one.durationMs >= one.ttfbMs);
        assert.ok(!('auxiliary' in one) && !('error' in one));
        assert.deepEqual([record.modelCalls, record.usage.inputTokens, record.usage.outputTokens, record.usage.totalTokens], [2, 6000, 140, 6140]);
        assert.deepEqual(record.cost, { amount: 2 * COST, currency: 'USD', source: 'prices' });
        assert.deepEqual([answer.usage.inputTokens, answer.usage.outputTokens, answer.usage.cachedReadTokens], [6000, 140, 2000]);
        assert.deepEqual([record.cumulative.modelCalls, record.cumulative.usage.inputTokens, record.cumulative.cost.amount], [2, 6000, 2 * COST]);
      });
    }

    for (const { name, lines, status, ends } of MISBEHAVIOURS) {
      test(`the provider: ${name}`, async () => {
        const s = await open(api);
        const abort = new AbortController();

        await turn(s, async () => {
          const asked = call(s, [`USAGE:${JSON.stringify(SCRIPT)}`, ...lines], { signal: abort.signal });
          if (ends === 'never' && !status)
            until(() => tunnel.open === 1, 'the call is open').then(() => abort.abort());
          await asked.then((answer) => readTo(answer, ends === 'never' ? 'three' : undefined)).catch(() => {});
          abort.abort();
          await until(() => callsOf(s.id).length, 'its record');
        });
        const [record, ...more] = callsOf(s.id);
        const [end] = turnsOf(d, s.id);
        const failed = name.startsWith('error'); // of openai-responses the last event says so
        const whole = status >= 300 || (failed && api === 'openai-responses');
        const begun = api === 'anthropic' || api === 'google'; // they tell of the input at once

        assert.deepEqual(more, []);
        assert.equal(record.complete, whole, JSON.stringify(record));
        if (ends === 'never')
          assert.deepEqual([record.cancelled, record.error], [true, undefined]);
        else if (status !== 200 || failed)
          assert.equal(record.error.class, { 401: 'auth', 402: 'quota', 429: name.includes('quota') ? 'quota' : 'rate_limit' }[status] ?? 'provider');
        else if (ends === 'cut')
          assert.deepEqual([record.error.class, record.error.retryable], ['provider', true]);
        assert.equal(record.usage?.inputTokens, status === 200 && begun ? 3000 : undefined);
        assert.equal(end.usage?.inputTokens, record.usage?.inputTokens);
        assert.equal(end.modelCalls, ends === 'whole' && status === 200 && !record.error ? 1 : undefined);
      });
    }
  });
}

test('calls that the daemon makes itself', async () => {
  const s = await open('anthropic', { via: 'direct', key: KEY, baseUrl: `${model.url}/v1` });
  const answer = await turn(s, () => said(s, ['TEXT:a'], { stream: false }));
  const [record, ...more] = callsOf(s.id);

  assert.deepEqual([record.via, record.complete, record.requestId, more.length], ['direct', true, 'req_scripted', 0]);
  assert.deepEqual([answer.usage.inputTokens, answer.usage.outputTokens], [3000, 70]);
});

describe('a turn', () => {
  test('its harness has its own numbers: they stand beside', async () => {
    const s = await open('openai-chat');
    await turn(s, () => said(s, ['TEXT:a']), 'tokens {"inputTokens":1,"outputTokens":2,"totalTokens":3}; echo on; perm p');
    const [record] = turnsOf(d, s.id);

    assert.deepEqual([record.usage.inputTokens, record.usage.outputTokens, record.modelCalls], [3000, 70, 1]);
    assert.deepEqual(record.reported.usage, { inputTokens: 1, outputTokens: 2, totalTokens: 3 });
    assert.equal(callsOf(s.id).length, 1);
  });

  test('that ends as if nothing had been, after a call that failed, has failed of that', async () => {
    const s = await open('anthropic');
    const { step, open: goOn } = gate(d);
    const asked = c.prompt(s.id, `echo on; ${step}`).catch((e) => e);
    await until(() => c.chunks(s.id).includes('on'), 'the turn runs');
    await (await call(s, ['ERR:529'])).text();
    goOn();
    const { data } = await asked;

    assert.deepEqual({ ...data.turn, message: '' }, { class: 'provider', httpStatus: 529, provider: 'anthropic', retryable: true, message: '' });
    assert.ok(data.turn.message);
  });

  test('that the harness reports as failed has the class of its last call', async () => {
    const s = await open('openai-chat');
    release = undefined;
    const asked = c.prompt(s.id, 'perm p; error -32603 it broke').catch((e) => e);
    await until(() => release, 'the turn runs');
    await (await call(s, ['ERR:429'])).text();
    release();
    const { data } = await asked;

    assert.deepEqual({ class: data.turn.class, httpStatus: data.turn.httpStatus, provider: data.turn.provider, retryable: data.turn.retryable },
      { class: 'rate_limit', httpStatus: 429, provider: 'openai', retryable: true });
    assert.match(data.turn.message, /it broke/);
  });

  test('a call that succeeded after it clears that', async () => {
    const s = await open('openai-chat');
    const { stopReason } = await turn(s, async () => {
      await (await call(s, ['ERR:500'])).text();
      await said(s, ['TEXT:better']);
    });

    assert.equal(stopReason, 'end_turn');
    assert.deepEqual(callsOf(s.id).map((r) => r.error?.httpStatus), [500, undefined]);
    assert.equal(turnsOf(d, s.id)[0].modelCalls, 1);
  });
});

test('side calls are marked; counting tokens and listing models are no calls', async () => {
  const s = await open('anthropic');
  await turn(s, async () => {
    await said(s, ['TEXT:a title'], { tools: [] });
    for (const [path, method] of [['/v1/models', 'GET'], ['/v1/messages/count_tokens', 'POST']])
      await (await fetch(s.listener.root + path, { method, headers: FORMATS.anthropic.headers(s.listener.key), body: method === 'POST' ? JSON.stringify({ model: MODEL }) : undefined })).text();
  });

  assert.deepEqual(callsOf(s.id).map((r) => r.auxiliary), [true]);
});

test('calls between turns are recorded without one, and are in the totals', async () => {
  const s = await open('openai-responses', { prices: { [MODEL]: PRICES } }, { budgets: { session: { tokens: 7000 } } });

  await said(s, ['TEXT:before']);
  await turn(s, () => said(s, ['TEXT:within']));
  await said(s, ['TEXT:behind']);
  const { stopReason, _meta } = await c.prompt(s.id, 'echo not reached');
  const [one, two] = turnsOf(d, s.id);

  assert.deepEqual(callsOf(s.id).map((r) => [r.turn, r.call]), [[undefined, undefined], [1, 1], [undefined, undefined]]);
  assert.equal(one.usage.inputTokens, 3000);
  assert.deepEqual([one.cumulative.usage.inputTokens, one.cumulative.modelCalls], [6000, 2]);
  assert.deepEqual([two.cumulative.usage.inputTokens, two.cumulative.modelCalls, two.cumulative.cost.amount], [9000, 3, 3 * COST]);
  assert.deepEqual([stopReason, _meta.acpd.stopDetail.used], ['max_tokens', 9210]);
});

describe('budgets', () => {
  // Goes on asking although it has been cancelled, until it is let go.
  const staying = () => {
    const { step, open: release } = gate(d);

    return { script: `nocancel; echo on; perm p; ${step}`, release };
  };
  const TOOL = 'TOOL:bash {"command":"ls"}';
  // Calls until one is refused: how many were answered.
  async function calls(s, last) {
    let n = 0;

    for (; n < 6; n++) {
      const lines = n === last ? ['TEXT:done'] : [TOOL];
      const text = await said(s, lines).catch(() => '');
      if (!text.includes('data:'))
        break;
    }
    return n;
  }

  for (const [budget, limit, stopReason, used] of [['steps', 2, 'max_turn_requests', 2], ['tokens', 6140, 'max_tokens', 6140], ['cost', 2 * COST, 'max_turn_requests', 2 * COST]]) {
    test(`${budget}: not one call more`, async () => {
      const s = await open('openai-chat', { prices: { [MODEL]: PRICES } }, { budgets: { turn: { [budget]: limit } } });
      const at = model.requests.length;
      const { script, release: go } = staying();
      let n;
      const answer = await turn(s, async () => {
        n = await calls(s);
        go();
      }, script);

      assert.deepEqual([answer.stopReason, answer._meta.acpd.stopDetail], [stopReason, { budget, scope: 'turn', limit, used }]);
      assert.deepEqual([n, model.requests.length - at], [2, 2]);
      assert.equal(turnsOf(d, s.id)[0].modelCalls, 2);
    });
  }

  test('a turn that ends with its last call has kept it; another call has not', async () => {
    const s = await open('openai-chat', {}, { budgets: { turn: { steps: 2 } } });
    const kept = await turn(s, async () => {
      await said(s, [TOOL]);
      await said(s, ['TEXT:done']);
    });

    assert.equal(kept.stopReason, 'end_turn');
    const at = model.requests.length;
    const { script, release: go } = staying();
    const answer = await turn(s, async () => {
      await calls(s, 1);
      go();
    }, script);
    assert.equal(answer.stopReason, 'max_turn_requests');
    assert.equal(model.requests.length - at, 2);
  });
});

describe('byte by byte', () => {
  const CHUNK = (usage, finish = null) => `data: ${JSON.stringify({ id: 'c-1', model: 'm-x', choices: [{ delta: {}, finish_reason: finish }], usage })}\n\n`;
  const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.00025 };
  let taker, sessionId, listener;

  before(async () => {
    taker = await connectTaker(d);
    ({ sessionId } = await taker.newSession());
    listener = listenerOf(sessionId);
  });
  after(() => taker.c.close());

  async function begin(t) {
    const n = taker.requests.length;
    const g = (await ModelConnection.open(listener)).send();

    t.after(() => g.close());
    return { g, id: (await taker.asked(n)).callId };
  }

  const last = async (n) => {
    await until(() => callsOf(sessionId).length > n, 'the record');
    return callsOf(sessionId).slice(n);
  };

  test('200 with an error has the status that the error stands for', async (t) => {
    const { g, id } = await begin(t);
    const text = '{"error":{"message":"slow down","code":"rate_limit_exceeded"}}';

    taker.head(id, 200, { 'content-type': 'application/json' });
    for (const piece of [text.slice(0, 12), text.slice(12)])
      taker.chunk(id, piece);
    taker.end(id);
    assert.equal((await g.head()).status, 429);
    await until(() => g.body.whole, 'the end');
    assert.equal(g.body.bytes.toString(), text);
  });

  test('a cost that the provider tells, and the id that the client knows', async (t) => {
    const n = callsOf(sessionId).length;
    const { g, id } = await begin(t);

    taker.head(id);
    taker.chunk(id, CHUNK(null, 'stop'));
    taker.chunk(id, CHUNK(USAGE) + 'data: [DONE]\n\n');
    taker.end(id, { complete: true, requestId: 'req-77' });
    await until(() => g.body.whole, 'the answer');
    const [record] = await last(n);
    assert.deepEqual([record.cost, record.requestId, record.complete, record.usage],
      [{ amount: 0.00025, currency: 'USD', source: 'provider' }, 'req-77', true, { inputTokens: 10, outputTokens: 5, totalTokens: 15 }]);
  });

  test('asked again: each attempt has a record', async (t) => {
    const n = callsOf(sessionId).length;
    const first = await connectTaker(d, { only: true });
    await first.c.call('_acpd/model/attach', { sessionIds: [sessionId] });
    const g = (await ModelConnection.open(listener)).send();
    t.after(() => g.close());
    const { callId } = await first.asked();
    const at = taker.requests.length;
    first.c.close();
    await taker.asked(at);
    taker.head(callId);
    taker.chunk(callId, CHUNK(USAGE, 'stop'));
    taker.end(callId);
    await until(() => g.body.whole, 'the answer');
    const [lost, got] = await last(n + 1).then(() => callsOf(sessionId).slice(n));

    assert.deepEqual([lost.callId, lost.attempt, lost.complete, lost.error.class, lost.usage], [callId, 1, false, 'provider', undefined]);
    assert.deepEqual([got.callId, got.attempt, got.complete, got.error, got.usage.inputTokens], [callId, 2, true, undefined, 10]);
  });

  test('the harness goes after the last number: nothing is missing', async (t) => {
    const n = callsOf(sessionId).length;
    const { g, id } = await begin(t);

    taker.head(id);
    taker.chunk(id, CHUNK(USAGE, 'stop'));
    await until(() => g.body.bytes.length > 0, 'the piece');
    g.close();
    const [record] = await last(n);
    assert.deepEqual([record.complete, record.cancelled, record.usage.outputTokens], [true, undefined, 5]);
  });

  test('a turn that is cancelled has what the call told until then', async (t) => {
    const n = callsOf(sessionId).length;
    const { answer } = taker.c.startPrompt(sessionId, 'echo on; sleep 60000');
    await taker.c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'on');
    const { g, id } = await begin(t);

    taker.head(id);
    taker.chunk(id, CHUNK({ prompt_tokens: 10 }));
    await until(() => g.body.bytes.length > 0, 'the piece');
    taker.c.cancel(sessionId);
    await answer;
    g.close();
    const [record] = await last(n);
    const end = turnsOf(d, sessionId).at(-1);

    assert.deepEqual([record.turn, record.complete, record.cancelled, record.usage], [end.turn, false, true, { inputTokens: 10 }]);
    assert.deepEqual([end.stopReason, end.usage], ['cancelled', { inputTokens: 10 }]);
  });
});

test('a daemon that is killed in mid-turn: the next one has the sums of what was recorded', async () => {
  const own = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  const client = await connectSdk(own, { tunnel, onPermission: () => new Promise(() => {}) });

  await client.initialize({ acpd: { model: tunnel.capability } });
  const { sessionId } = await client.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: { api: 'anthropic', model: MODEL, prices: { [MODEL]: PRICES } } } });
  const s = { api: 'anthropic', listener: listenerOf(sessionId) };
  client.prompt(sessionId, 'echo on; perm p').catch(() => {});
  await until(() => client.permissions.length, 'the turn runs');
  await said(s, ['TEXT:one']);
  await (await call(s, ['ERR:500'])).text();
  await said(s, ['TEXT:two']);
  await until(() => records(own).length === 3, 'their records');
  await own.kill9();
  await own.restart();
  await until(() => turnsOf(own, sessionId).length, 'the end of the turn');
  const [record] = turnsOf(own, sessionId);

  assert.deepEqual([record.error.class, record.modelCalls, record.usage.inputTokens, record.usage.outputTokens], ['shutdown', 2, 6000, 140]);
  assert.deepEqual([record.cost, record.cumulative.cost.source], [{ amount: 2 * COST, currency: 'USD', source: 'prices' }, 'prices']);
  await endInOrder(own);
});
