// SPDX-License-Identifier: Apache-2.0
// What a model call is held to before it is asked: calls at a time and in a minute, the provider's models.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { until } from '../../lib/wait.mjs';

let d, taker;
before(async () => {
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  taker = await connectTaker(d);
});
after(() => endInOrder(d, taker.c));

// A session with this provider: {id, call(options): a request at its listener}.
async function session(t, provider, meta) {
  const { sessionId } = await taker.newSession({ model: 'stub-small', ...provider }, {}, meta);
  const where = listenerOf(sessionId);

  return { id: sessionId, async call({ path, model = 'stub-small', body = JSON.stringify({ model }), ...more } = {}) {
    const g = await ModelConnection.open(where);
    t.after(() => g.close());
    return g.send(path, { body, ...more });
  } };
}

// The request reaches the client, which answers it.
async function passes(s, options) {
  const n = taker.requests.length;
  const g = await s.call(options);
  const { callId } = await taker.asked(n);

  taker.answer(callId);
  await until(() => g.body.whole, 'the answer');
}

// It does not, and says so: its headers.
async function refused(s, options, status, code) {
  const [n, counted] = [taker.requests.length, await d.metric('acpd_model_refused_total', `code="${code}"`)];
  const { headers, ...answer } = await (await s.call(options)).refusal();

  assert.deepEqual(answer, { status, code });
  assert.equal(taker.requests.length, n);
  assert.equal(await d.metric('acpd_model_refused_total', `code="${code}"`), counted + 1);
  return headers;
}

describe('calls at a time', () => {
  for (const [concurrency, most] of [[undefined, 8], [1, 1], [64, 64]]) {
    test(`limits.concurrency ${concurrency}: ${most}`, async (t) => {
      const s = await session(t, { limits: concurrency && { concurrency } });
      const n = taker.requests.length;
      const open = [];

      for (let i = 0; i < most; i++)
        open.push(await s.call());
      await taker.asked(n + most - 1);
      assert.equal((await refused(s, {}, 429, 'MODEL_TOO_MANY_CALLS'))['retry-after'], '1');
      for (const { callId } of taker.requests.slice(n))
        taker.answer(callId);
      await Promise.all(open.map((g) => until(() => g.body.whole, 'the end')));
      await passes(s);
    });
  }
});

describe('calls in a minute', () => {
  test('the one too many is told when it may come again', async (t) => {
    const s = await session(t, { limits: { callsPerMinute: 3 } });
    const from = Date.now();

    for (let i = 0; i < 3; i++)
      await passes(s);
    const seconds = Number((await refused(s, {}, 429, 'MODEL_CALLS_PER_MINUTE'))['retry-after']);
    assert.ok(seconds <= 60 && seconds >= 60 - Math.ceil((Date.now() - from) / 1000), `${seconds}`);
  });

  test('a session without the limit, and another session, are free', async (t) => {
    const s = await session(t, { limits: { callsPerMinute: 1 } });

    await passes(s);
    await passes(await session(t, { limits: { callsPerMinute: 1 } }));
    await refused(s, {}, 429, 'MODEL_CALLS_PER_MINUTE');
  });
});

describe('models', () => {
  const rows = [
    ['the model', {}, { model: 'stub-small' }, true],
    ['another', {}, { model: 'stub-large' }, false],
    ['one of the list', { models: ['b', 'c'] }, { model: 'c' }, true],
    ['none of the list', { model: undefined, models: ['stub-small', 'c'] }, { model: 'a' }, false],
    ['the beginning of its name', {}, { model: 'stub' }, false],
    ['no model', {}, { body: '{}' }, false],
    ['a model that is no text', {}, { body: '{"model":["stub-small"]}' }, false],
    ['the list of models', {}, { path: '/v1/models', method: 'GET', body: null }, true],
    ['any, where the provider names none', { model: undefined }, { model: 'zz' }, true],
    ['a list of models beside it, with another in it', {}, { body: '{"model":"stub-small","models":["stub-small","b"]}' }, false],
    ['a list of models beside it that is none', {}, { body: '{"model":"stub-small","models":"b"}' }, false],
    ['a list of models beside it', { models: ['b'] }, { body: '{"model":"stub-small","models":["stub-small","b"]}' }, true],
    ['a model that is named twice', {}, { body: '{"model":"stub-small","model":"b"}' }, null],
    ['an escaped name', {}, { body: '{"model":"\\u0073tub-small"}' }, true],
  ];
  for (const [what, provider, options, allowed] of rows) {
    test(`${allowed ? 'passes' : 'refused'}: ${what}`, async (t) => {
      const s = await session(t, provider);

      if (allowed === null) { // two readers could take it for two models
        await refused(s, options, 400, 'MODEL_REQUEST_INVALID');
        return;
      }
      if (allowed) {
        await passes(s, options);
        return;
      }
      const headers = await refused(s, options, 402, 'MODEL_NOT_ALLOWED');
      assert.deepEqual([headers['x-should-retry'], headers['retry-after']], ['false', undefined]);
    });
  }

  test('the session\'s own model, where the provider has no list', async (t) => {
    const s = await session(t, {}, { model: 'stub-large' });

    await passes(s, { model: 'stub-large' });
    await passes(s, { model: 'stub-small' });
    await refused(s, { model: 'b' }, 402, 'MODEL_NOT_ALLOWED');
  });
});

describe('the log', () => {
  test('a line for each refusal, with session and code and nothing of the request; no more than 60 in a minute', async (t) => {
    const s = await session(t);
    const lines = () => d.logs.filter((line) => line.msg === 'model call refused' && line.session === s.id);

    await refused(s, { model: 'secret-name' }, 402, 'MODEL_NOT_ALLOWED');
    await until(() => lines().length === 1, 'the line');
    assert.deepEqual([lines()[0].level, lines()[0].code], ['info', 'MODEL_NOT_ALLOWED']);
    assert.ok(!JSON.stringify(lines()).includes('secret-name'));
    for (let i = 0; i < 70; i++)
      await (await s.call({ model: 'b' })).refusal();
    const other = await session(t);
    await refused(other, { model: 'b' }, 402, 'MODEL_NOT_ALLOWED');
    await d.waitLog((line) => line.msg === 'model call refused' && line.session === other.id); // by now the others have been read
    assert.equal(lines().length, 60);
  });
});

describe('at session/new', () => {
  const bad = [
    [{ limits: { concurrency: 65 } }, 'limits.concurrency', 'FIELD_OUT_OF_RANGE'],
    [{ limits: { callsPerMinute: 0 } }, 'limits.callsPerMinute', 'FIELD_OUT_OF_RANGE'],
    [{ limits: { perHour: 3 } }, 'limits.perHour', 'PARAM_UNSUPPORTED'],
    [{ limits: 7 }, 'limits', 'FIELD_INVALID'],
    [{ via: 'environment', key: 'sk-12345678', limits: { concurrency: 1 } }, 'limits', 'FIELD_INVALID'],
  ];
  for (const [provider, field, reason] of bad) {
    test(`refused: ${JSON.stringify(provider)}`, async () => {
      await assert.rejects(taker.newSession(provider), (e) => {
        assert.deepEqual([e.data.reason, e.data.field], [reason, `_meta.acpd.provider.${field}`], e.message);
        return true;
      });
    });
  }
});
