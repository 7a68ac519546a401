// SPDX-License-Identifier: Apache-2.0
// Calls that the daemon makes itself, to a server of the test: another key and address between two calls, and ACP's providers/* for the sessions
// of a connection.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { until } from '../../lib/wait.mjs';

// A provider: what it was asked stands in `asked`.
async function startProvider() {
  const asked = [];
  const server = http.createServer((req, res) => {
    req.resume().on('end', () => {
      asked.push({ path: req.url, headers: req.headers });
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { asked, base: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

let d, taker, one, other;
before(async () => {
  [one, other] = [await startProvider(), await startProvider()];
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
  taker = await connectTaker(d);
});
after(async () => {
  one.close();
  other.close();
  await endInOrder(d, taker.c);
});

const statusOf = async (c, sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0];

// A call of the session's harness that goes to that provider: what it was asked.
async function asks(t, sessionId, provider) {
  const n = provider.asked.length;
  const g = await ModelConnection.open(listenerOf(sessionId));

  t.after(() => g.close());
  g.send();
  await until(() => g.body.whole, 'the answer');
  assert.equal(provider.asked.length, n + 1);
  return provider.asked[n];
}

async function client(t) {
  const c = await d.client();

  t.after(() => c.close());
  return c;
}

const PLAIN = { harness: STUB_WITH_PROVIDER.id };
const use = (c, provider, headers = {}, apiType = 'openai') => c.call('providers/set', { providerId: 'main', apiType, baseUrl: provider.base, headers });

describe('_acpd/provider/set of a session whose calls the daemon makes', () => {
  test('another key, then another address, then the client, and back: the harness goes on', async (t) => {
    const direct = { api: 'openai-chat', via: 'direct', baseUrl: one.base, key: 'sk-first-0123456789' };
    const { sessionId } = await taker.newSession(direct);
    const { pid } = await statusOf(taker.c, sessionId);
    const set = (provider) => taker.c.call('_acpd/provider/set', { sessionId, provider });

    assert.equal((await asks(t, sessionId, one)).headers.authorization, 'Bearer sk-first-0123456789');
    await set({ ...direct, key: 'sk-second-0123456789' });
    assert.equal((await asks(t, sessionId, one)).headers.authorization, 'Bearer sk-second-0123456789');
    await set({ ...direct, baseUrl: other.base, key: 'sk-second-0123456789', auth: { header: 'api-key' } });
    assert.equal((await asks(t, sessionId, other)).headers['api-key'], 'sk-second-0123456789');
    assert.equal((await set({ api: 'openai-chat' }))._meta.acpd.provider.via, 'tunnel');
    const n = taker.requests.length;
    const g = await ModelConnection.open(listenerOf(sessionId));
    t.after(() => g.close());
    g.send();
    taker.answer((await taker.asked(n)).callId);
    await until(() => g.body.whole, 'the answer of the client');
    assert.equal((await set(direct))._meta.acpd.provider.via, 'direct');
    assert.equal((await asks(t, sessionId, one)).headers.authorization, 'Bearer sk-first-0123456789');
    assert.equal((await statusOf(taker.c, sessionId)).pid, pid);
    await taker.c.prompt(sessionId, 'echo sk-first-0123456789 and sk-second-0123456789');
    assert.equal(taker.c.chunks(sessionId).at(-1), '*** and ***');
  });
});

describe('providers/*', () => {
  test('announced, listed without headers, and gone again', async (t) => {
    const c = await d.connect();
    t.after(() => c.close());
    const { agentCapabilities } = await c.initialize();
    const current = async () => (await c.call('providers/list', {})).providers;

    assert.deepEqual(agentCapabilities.providers, {});
    const main = { providerId: 'main', supported: ['anthropic', 'openai', '_openai-chat', '_openai-responses', '_google'], required: false };
    assert.deepEqual(await current(), [{ ...main, current: null }]);
    assert.deepEqual(await use(c, one, { authorization: 'Bearer sk-listed-0123456789' }), {});
    assert.deepEqual(await current(), [{ ...main, current: { apiType: 'openai', baseUrl: one.base } }]);
    assert.deepEqual(await c.call('providers/disable', { providerId: 'main' }), {});
    assert.deepEqual(await current(), [{ ...main, current: null }]);
    assert.ok(!d.stderr.includes('sk-listed-0123456789'));
  });

  test('sessions that name no provider take it, and the next call of a running one follows it', async (t) => {
    const c = await client(t);
    await use(c, one, { authorization: 'Bearer sk-a-0123456789' });
    const { sessionId, _meta } = await c.newSession({ meta: PLAIN });
    const own = await c.newSession({ meta: { ...PLAIN, provider: { api: 'openai-chat', via: 'direct', baseUrl: one.base, key: 'sk-own-0123456789' } } });
    const { pid } = await statusOf(c, sessionId);

    assert.deepEqual([_meta.acpd.provider.via, _meta.acpd.provider.keyExposed], ['direct', false]);
    assert.equal((await asks(t, sessionId, one)).headers.authorization, 'Bearer sk-a-0123456789');
    assert.deepEqual(await use(c, other, { authorization: 'Bearer sk-b-0123456789' }), {});
    assert.equal((await asks(t, sessionId, other)).headers.authorization, 'Bearer sk-b-0123456789');
    assert.equal((await asks(t, own.sessionId, one)).headers.authorization, 'Bearer sk-own-0123456789');
    assert.equal((await statusOf(c, sessionId)).pid, pid);
    await c.prompt(sessionId, 'echo sk-a-0123456789 and sk-b-0123456789');
    assert.equal(c.chunks(sessionId).at(-1), '*** and ***');
    await c.call('providers/disable', { providerId: 'main' });
    assert.equal((await asks(t, sessionId, other)).headers.authorization, 'Bearer sk-b-0123456789');
    assert.equal((await c.newSession({ meta: PLAIN }))._meta.acpd.provider, undefined);
  });

  test('one that a session was given by name is its own: it follows no more', async (t) => {
    const c = await client(t);
    await use(c, one);
    const { sessionId } = await c.newSession({ meta: PLAIN });

    await c.call('_acpd/provider/set', { sessionId, provider: { api: 'openai-chat', via: 'direct', baseUrl: other.base } });
    await use(c, one, { 'x-tenant': 'blue-0123456789' });
    await asks(t, sessionId, other);
  });

  test('another API: a session whose harness runs keeps what it had, and is named', async (t) => {
    const c = await client(t);
    await use(c, one);
    const { sessionId } = await c.newSession({ meta: PLAIN });

    assert.deepEqual(await use(c, other, {}, 'anthropic'), { _meta: { acpd: { kept: [sessionId] } } });
    await asks(t, sessionId, one);
  });

  test('it is of its connection alone; who takes the session over brings another', async (t) => {
    const [c, next, without] = [await client(t), await client(t), await client(t)];
    await use(c, one);
    const { sessionId } = await c.newSession({ meta: PLAIN });

    assert.equal((await next.call('providers/list', {})).providers[0].current, null);
    await next.call('providers/set', { providerId: 'main', apiType: '_openai-chat', baseUrl: other.base });
    await next.resumeSession(sessionId);
    await asks(t, sessionId, other);
    await without.resumeSession(sessionId);
    await asks(t, sessionId, other);
  });

  test('after a restart of the daemon: the connection\'s again, or the session names one', async (t) => {
    const own = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
    t.after(() => own.discard());
    const c = await own.client();
    await use(c, one, { authorization: 'Bearer sk-a-0123456789' });
    const { sessionId } = await c.newSession({ meta: PLAIN });
    await c.prompt(sessionId, 'echo kept');
    await own.kill9();
    await own.restart();
    const next = await own.client();
    t.after(() => next.close());
    const load = () => next.request('session/load', { sessionId, cwd: own.workDir, mcpServers: [] }).answer;

    assert.equal((await load()).error.data.reason, 'PROVIDER_REQUIRED');
    await use(next, other, { authorization: 'Bearer sk-b-0123456789' });
    assert.equal((await load()).error, undefined);
    assert.equal((await asks(t, sessionId, other)).headers.authorization, 'Bearer sk-b-0123456789');
  });

  const good = { providerId: 'main', apiType: 'openai', baseUrl: 'https://models.example/v1' };
  const refused = [
    ['providers/set', { providerId: 'other' }, 'PROVIDER_UNKNOWN', 'providerId'],
    ['providers/disable', { providerId: 'other' }, 'PROVIDER_UNKNOWN', 'providerId'],
    ['providers/set', { providerId: undefined }, 'FIELD_MISSING', 'providerId'],
    ['providers/set', { apiType: 'vertex' }, 'PROVIDER_API_UNSUPPORTED', 'apiType'],
    ['providers/set', { apiType: 7 }, 'FIELD_INVALID', 'apiType'],
    ['providers/set', { baseUrl: undefined }, 'FIELD_MISSING', 'baseUrl'],
    ['providers/set', { baseUrl: 'gopher://x' }, 'URL_INVALID', 'baseUrl'],
    ['providers/set', { baseUrl: 'https://user:secret-0123@x/v1' }, 'URL_INVALID', 'baseUrl'],
    ['providers/set', { headers: [] }, 'FIELD_INVALID', 'headers'],
    ['providers/set', { headers: { 'a b': 'c' } }, 'FIELD_INVALID', 'headers.a b'],
  ];
  for (const [method, change, reason, field] of refused) {
    test(`refused: ${method} ${JSON.stringify(change)}`, async (t) => {
      const c = await client(t);
      await c.call('providers/set', good);
      const error = await c.fails(method, { ...good, ...change });

      assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, reason, field], error.message);
      assert.equal((await c.call('providers/list', {})).providers[0].current.baseUrl, good.baseUrl);
    });
  }
});
