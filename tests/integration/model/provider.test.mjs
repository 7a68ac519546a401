// SPDX-License-Identifier: Apache-2.0
// Another provider for a session whose harness goes on; paths that a session adds; and keys that a harness finds by itself.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { connectTaker, ModelConnection, listenerOf, STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { until } from '../../lib/wait.mjs';
import { journalOf } from '../ledger.mjs';

const PASSED = { OPENAI_API_KEY: 'sk-of-the-operator-1' };
const AGENTS = [STUB_WITH_PROVIDER, { id: 'plain' }, { id: 'keyed', quirks: 'copilot', env: { ANTHROPIC_API_KEY: 'sk-of-the-manifest-1' } }];

let d, taker;
before(async () => {
  d = await Daemon.start({ harnesses: AGENTS });
  taker = await connectTaker(d);
});
after(() => endInOrder(d, taker.c));

const TUNNEL = { api: 'openai-chat', model: 'stub-small' };
const statusOf = async (sessionId) => (await taker.c.call('_acpd/status', { sessionId })).sessions[0];
const pidOf = async (sessionId) => (await statusOf(sessionId)).pid;
const set = (sessionId, provider) => taker.c.call('_acpd/provider/set', { sessionId, provider });
const journal = (sessionId) => fs.readFileSync(journalOf(d, sessionId), 'utf8');

// A call, up to the client.
async function begin(t, where, path, what) {
  const n = taker.requests.length;
  const g = await ModelConnection.open(where);

  t.after(() => g.close());
  g.send(path, what);
  return { g, request: await taker.asked(n) };
}

async function answered(t, where, path, what) {
  const { g, request } = await begin(t, where, path, what);

  taker.answer(request.callId);
  await until(() => g.body.whole, 'the end');
  return request;
}

async function refused(t, where, path, what) {
  const g = await ModelConnection.open(where);

  t.after(() => g.close());
  return (await g.send(path, what).refusal()).code;
}

async function open(t, provider = {}, more = {}) {
  const { sessionId, _meta } = await taker.newSession({ ...TUNNEL, ...provider }, more);

  t.after(() => taker.c.call('session/delete', { sessionId }));
  return { sessionId, _meta, where: listenerOf(sessionId), pid: await pidOf(sessionId) };
}

describe('_acpd/provider/set', () => {
  test('the next call has the new headers, one under way goes on, and the harness too', async (t) => {
    const { sessionId, where, pid } = await open(t, { headers: { 'x-tenant': 'blue-0123456789' } });
    const { g, request } = await begin(t, where);

    assert.equal(request.headers['x-tenant'], 'blue-0123456789');
    const { _meta } = await set(sessionId, { ...TUNNEL, headers: { 'x-tenant': 'red-0123456789' } });
    assert.deepEqual(_meta.acpd.provider, (await statusOf(sessionId)).provider);
    taker.head(request.callId);
    taker.chunk(request.callId, 'as it began');
    taker.end(request.callId);
    await until(() => g.body.whole, 'the end');
    assert.equal((await answered(t, where)).headers['x-tenant'], 'red-0123456789');
    assert.equal(await pidOf(sessionId), pid);
  });

  test('within a turn, between two calls of it', async (t) => {
    const { sessionId, where, pid } = await open(t);
    const { step, open: release } = gate(d);
    const turn = taker.c.prompt(sessionId, `echo one; ${step}; echo two`);

    await taker.c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'one');
    const before = await answered(t, where);
    await set(sessionId, { ...TUNNEL, headers: { 'x-team': 'a-0123456789' } });
    const later = await answered(t, where);
    assert.deepEqual([before.headers['x-team'], later.headers['x-team']], [undefined, 'a-0123456789']);
    assert.deepEqual([before.turn, later.turn], [1, 1]);
    release();
    assert.equal((await turn).stopReason, 'end_turn');
    assert.equal(await pidOf(sessionId), pid);
  });

  test('new and old secrets are hidden, and nowhere on disk', async (t) => {
    const [old, fresh] = ['old-tenant-3141592653', 'new-tenant-2718281828'];
    const { sessionId } = await open(t, { headers: { 'x-tenant': old } });

    await set(sessionId, { ...TUNNEL, headers: { 'x-tenant': fresh } });
    await taker.c.prompt(sessionId, `echo ${old} and ${fresh}`);
    assert.equal(taker.c.chunks(sessionId).at(-1), '*** and ***');
    for (const text of [journal(sessionId), d.stderr])
      assert.ok(![old, fresh].some((secret) => text.includes(secret)));
  });

  test('a provider without a secret is written down as it is now', async (t) => {
    const { sessionId } = await open(t);

    await set(sessionId, { ...TUNNEL, paths: ['POST /v1/embeddings'] });
    await taker.c.prompt(sessionId, 'echo written');
    assert.match(journal(sessionId), /"POST \/v1\/embeddings"/);
  });

  const fixed = [
    ['another API', { api: 'anthropic', via: 'tunnel' }, 'provider.api'],
    ['a key for the harness', { via: 'environment', key: 'sk-0123456789' }, 'provider.via'],
    ['another model', { model: 'stub-large' }, 'provider.model'],
    ['no model', { model: undefined }, 'provider.model'],
    ['another model for side calls', { smallModel: 'stub-tiny' }, 'provider.smallModel'],
    ['another limit of silence', { idleTimeoutMs: 5000 }, 'provider.idleTimeoutMs'],
  ];
  for (const [what, change, field] of fixed) {
    test(`refused, since the harness would have to be told: ${what}`, async (t) => {
      const { sessionId, where } = await open(t, { headers: { 'x-tenant': 'blue-0123456789' } });
      const error = await taker.c.fails('_acpd/provider/set', { sessionId, provider: { ...TUNNEL, ...change } });

      assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'PROVIDER_FIXED', field], error.message);
      assert.equal((await answered(t, where)).headers['x-tenant'], 'blue-0123456789');
    });
  }

  test('refused where the harness has the key itself, or has no provider', async () => {
    const own = await taker.newSession({ via: 'environment', key: 'sk-0123456789' });
    const none = await taker.c.newSession({ meta: { harness: 'plain' } });

    for (const { sessionId } of [own, none]) {
      const error = await taker.c.fails('_acpd/provider/set', { sessionId, provider: TUNNEL });
      assert.deepEqual([error.data.reason, error.data.field], ['PROVIDER_FIXED', 'provider']);
    }
  });
});

describe('a provider that session/load or resume changes', () => {
  test('what the harness does not know of changes at once, and starts nothing', async (t) => {
    const { sessionId, where, pid } = await open(t);
    const { _meta } = await taker.c.resumeSession(sessionId, { meta: { provider: { ...TUNNEL, headers: { 'x-tenant': 'blue-0123456789' }, paths: ['GET /v1/files/*'] } } });

    assert.equal(_meta.acpd.pending, undefined);
    assert.equal(await pidOf(sessionId), pid);
    const { path, headers } = await answered(t, where, '/v1/files/f-1', { method: 'GET', body: null });
    assert.deepEqual([path, headers['x-tenant']], ['/v1/files/f-1', 'blue-0123456789']);
  });

  test('another limit of silence, or list of models, starts it anew', async (t) => {
    const { sessionId, pid } = await open(t);

    await taker.c.resumeSession(sessionId, { meta: { provider: { ...TUNNEL, models: ['stub-small', 'stub-large'] } } });
    assert.notEqual(await pidOf(sessionId), pid);
  });
});

describe('paths', () => {
  test('pass besides those of the API, and no others', async (t) => {
    const { sessionId, where } = await open(t, { paths: ['POST /v1/embeddings', 'GET /v1/files/*'] });

    assert.equal((await answered(t, where, '/v1/embeddings?a=b')).path, '/v1/embeddings?a=b');
    await answered(t, where, '/v1/files/f-1', { method: 'GET', body: null });
    await answered(t, where);
    for (const [path, method] of [['/v1/files/f-1/content', 'GET'], ['/v1/files/f-1', 'POST'], ['/v1/files/..', 'GET'], ['/v1/embeddings/', 'POST']])
      assert.equal(await refused(t, where, path, { method, ...(method === 'GET' && { body: null }) }), 'MODEL_PATH_NOT_ALLOWED', path);
    await set(sessionId, TUNNEL);
    assert.equal(await refused(t, where, '/v1/embeddings'), 'MODEL_PATH_NOT_ALLOWED');
  });
});

describe('keys that a harness finds by itself', () => {
  const exposed = { via: 'environment', keyExposed: true };
  const told = async (c, meta) => {
    const { sessionId, _meta } = await c.newSession({ meta });
    const { sessions } = await c.call('_acpd/status', { sessionId });

    assert.deepEqual(sessions[0].provider, _meta.acpd.provider);
    return _meta.acpd.provider && { via: _meta.acpd.provider.via, keyExposed: _meta.acpd.provider.keyExposed };
  };

  const rows = [
    ['none', { harness: 'plain' }, undefined],
    ['one of another kind', { harness: 'plain', env: { GITHUB_TOKEN: 'gho-0123456789' } }, undefined],
    ['in env', { harness: 'plain', env: { OPENROUTER_API_KEY: 'sk-0123456789' } }, exposed],
    ['empty', { harness: 'plain', env: { OPENROUTER_API_KEY: '' } }, undefined],
    ['in secrets', { harness: 'plain', secrets: { GEMINI_API_KEY: 'sk-0123456789' } }, exposed],
    ['in the manifest', { harness: 'keyed' }, exposed],
    ['in the manifest, and taken away by env', { harness: 'keyed', env: { ANTHROPIC_API_KEY: '' } }, undefined],
    ['of GitHub, for its agent', { harness: STUB_WITH_PROVIDER.id, env: { GH_TOKEN: 'gho-0123456789' } }, exposed],
    ['beside a tunnel', { harness: 'keyed', provider: TUNNEL }, { via: 'tunnel', keyExposed: true }],
  ];
  for (const [what, meta, want] of rows)
    test(what, async () => assert.deepEqual(await told(taker.c, meta), want));

  test('through --pass-env, and only what it names', async (t) => {
    for (const [passEnv, want] of [['OPENAI_*', exposed], ['ANTHROPIC_API_KEY', undefined]]) {
      const own = await Daemon.start({ harnesses: AGENTS, flags: { passEnv }, env: PASSED });
      t.after(() => own.discard());
      const c = await own.client();

      assert.deepEqual(await told(c, { harness: 'plain' }), want, passEnv);
      await c.close();
    }
  });
});
