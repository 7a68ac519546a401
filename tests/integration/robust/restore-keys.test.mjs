// SPDX-License-Identifier: Apache-2.0
// build: both
// Provider keys after a restore: the machine itself keeps every one, a copy of it none, whatever way the key was given and whatever its
// session was doing.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { test, after } from 'node:test';
import { SANITIZED } from '../../lib/daemon.mjs';
import { timesIn } from '../../lib/memory.mjs';
import { API, ModelConnection, STUB_WITH_PROVIDER, listenerOf } from '../../lib/model-calls.mjs';
import * as procs from '../../lib/procs.mjs';
import { SLOW, assertNoViolations } from '../../lib/rawws.mjs';
import { until } from '../../lib/wait.mjs';
import { running } from '../ledger.mjs';
import { claimed, resumed, sandboxed } from './away.mjs';

after(assertNoViolations);

const NOWHERE = 'http://127.0.0.1:9/v1';
const secret = () => `sk-${crypto.randomBytes(20).toString('hex')}`;

// Ways to give a key.
const WAYS = {
  'to the harness': (key, baseUrl) => ({ via: 'environment', baseUrl, key }),
  'to the daemon': (key, baseUrl) => ({ via: 'direct', baseUrl, key }),
  'in a header': (key, baseUrl) => ({ via: 'direct', baseUrl, headers: { authorization: `Bearer ${key}` } }),
  'of a fallback': (key, baseUrl) => ({ via: 'direct', baseUrl: NOWHERE, fallbacks: [{ baseUrl, key }] }),
};

// What a session is doing when the machine is copied. dir: where its harness leaves a file if it is asked to end.
const STATES = {
  'a turn': (c, { sessionId, dir }) => running(c, sessionId, 'on', `together eof 1 ${dir}; sleep 3600000`),
  'nothing, without a harness': async (c, { sessionId }) => {
    const pid = async () => (await c.call('_acpd/status', { sessionId })).sessions[0].pid;

    process.kill(await pid(), 'SIGKILL');
    await until(async () => !await pid(), 'it has exited');
  },
  'nothing, closed': (c, { sessionId }) => c.call('session/close', { sessionId }),
};

// A provider; seen: the keys that it was called with.
async function startProvider(t) {
  const seen = [];
  const server = http.createServer((req, res) => {
    seen.push(req.headers.authorization?.replace('Bearer ', ''));
    req.resume().on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });

  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => server.close());
  return { seen, base: `http://127.0.0.1:${server.address().port}/v1` };
}

// A model call of the session's harness: the key that its provider was given.
async function keyUsed(provider, sessionId) {
  const g = (await ModelConnection.open(listenerOf(sessionId))).send();

  await until(() => g.body.whole, 'the answer');
  g.close();
  return provider.seen.at(-1);
}

// A daemon with a session for each way and each state.
async function machine(t) {
  const provider = await startProvider(t);
  const d = await sandboxed(t, 'i-parent', { harnesses: [STUB_WITH_PROVIDER], flags: { harnessMax: 32 } });
  const c = await d.client();
  const sessions = [];
  const dir = path.join(d.workDir, 'told');

  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o777);
  for (const [way, give] of Object.entries(WAYS))
    for (const [doing, act] of Object.entries(STATES)) {
      const key = secret(), given = { api: API, ...give(key, provider.base) };
      const { sessionId } = await c.newSession({ meta: { harness: STUB_WITH_PROVIDER.id, provider: given } });
      const s = { sessionId, key, direct: given.via === 'direct', what: `a key given ${way}, a session that does ${doing}`, give, dir };

      if (s.direct)
        assert.equal(await keyUsed(provider, sessionId), key, s.what);
      await c.prompt(sessionId, 'echo before');
      const turn = await act(c, s);
      turn?.answer?.catch(() => {}); // goes with the connection
      sessions.push(s);
    }
  return { provider, d, c, sessions, dir };
}

// How often the key is in the memory of the daemon and of acpd-fetch.
const readable = !SANITIZED && process.getuid() === 0; // sanitizers keep what was freed; only root reads the memory of others
const inMemory = (d, key) => [d.pid, ...procs.descendants(d.pid).filter((p) => p.comm === 'acpd-fetch').map((p) => p.pid)]
  .reduce((n, pid) => n + timesIn(pid, key), 0);

const load = (c, { sessionId }, meta) => c.load(sessionId, { meta }).then(() => 'loaded', (e) => e.data.reason);

test('the same machine: each session has the key that it had', { timeout: 240000 * SLOW }, async (t) => {
  const { provider, d, c, sessions } = await machine(t);

  d.become('i-parent');
  await resumed(d);
  await c.closed;
  const again = await d.client();
  for (const s of sessions) {
    if (readable)
      assert.ok(inMemory(d, s.key) > 0, `the search finds ${s.what}`);
    assert.equal(await load(again, s), 'loaded', s.what);
    if (s.direct)
      assert.equal(await keyUsed(provider, s.sessionId), s.key, s.what);
  }
});

test('a copy: no session has a key, none is in memory, and each takes another', { timeout: 240000 * SLOW }, async (t) => {
  const { provider, d, c, sessions, dir } = await machine(t);
  const hosted = d.harnesses().filter((p) => p.comm !== 'acpd-fetch');

  assert.ok(hosted.length >= Object.keys(WAYS).length);
  d.become('i-child');
  await resumed(d);
  await c.closed;
  await d.gone(hosted);
  assert.deepEqual(fs.readdirSync(dir), [], 'no harness was asked to end: all were killed');
  if (readable)
    for (const s of sessions)
      await until(() => inMemory(d, s.key) === 0, `no memory of ${s.what}`);
  d.token = await claimed(d);
  const calls = provider.seen.length, again = await d.client();
  for (const s of sessions) {
    const key = secret();

    assert.equal(await load(again, s), 'PROVIDER_REQUIRED', s.what);
    assert.equal((await again.fails('session/fork', { sessionId: s.sessionId, cwd: d.workDir, mcpServers: [] })).data.reason, 'PROVIDER_REQUIRED', s.what);
    assert.equal(await load(again, s, { provider: { api: API, ...s.give(key, provider.base) } }), 'loaded', s.what);
    if (s.direct)
      assert.equal(await keyUsed(provider, s.sessionId), key, s.what);
  }
  assert.ok(provider.seen.slice(calls).every((key) => !sessions.some((s) => s.key === key)));
});
