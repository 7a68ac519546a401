// SPDX-License-Identifier: Apache-2.0
// acpd bundle replay: a stored run is the stream that it was, as fast as is asked for.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import readline from 'node:readline';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { fetchBundle } from '../../lib/bundles.mjs';

let d, c, id, cwd, file, original;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
  ({ sessionId: id } = await c.newSession());
  cwd = d.workDir;
  await c.prompt(id, 'title The run; echo one; sleep 1500; tool t1 edit Look; plan; echo two');
  await c.prompt(id, 'think hm; echo three');
  file = `${d.dir}/run.acpd`;
  fs.writeFileSync(file, (await fetchBundle(d, id)).bytes);
  const own = await d.client();
  await own.load(id, { cwd });
  original = own.messages.filter((m) => m.method && m.params?.sessionId === id);
  await own.close();
});
after(() => endInOrder(d, c));

// An agent of a bundle: request(method, params) waits for the answer, told are its notifications.
function agent(...args) {
  const child = spawn(ACPD, ['bundle', 'replay', file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const told = [], waiting = new Map();
  let next = 1;

  readline.createInterface({ input: child.stdout }).on('line', (line) => {
    const m = JSON.parse(line);

    if (m.method)
      told.push({ at: performance.now(), m });
    else
      waiting.get(m.id)(m);
  });
  const send = (m) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`);
  const request = (method, params) => new Promise((done) => { waiting.set(next, done); send({ id: next++, method, params }); });

  return { child, told, send, request, end: async () => { child.stdin.end(); assert.deepEqual(await once(child, 'exit'), [0, null]); } };
}
const CAPS = { protocolVersion: 1, clientCapabilities: { _meta: { acpd: {} } } };

test('the replayed stream is the original', async () => {
  const a = agent('--speed', '0');

  assert.equal((await a.request('initialize', CAPS)).result.agentCapabilities.loadSession, true);
  assert.deepEqual((await a.request('session/list', {})).result.sessions, [{ sessionId: id, cwd, title: 'The run' }]);
  for (let i = 0; i < 2; i++) {
    a.told.length = 0;
    assert.deepEqual((await a.request('session/load', { sessionId: id, cwd, mcpServers: [] })).result, {});
    assert.deepEqual(a.told.map((t) => t.m), original);
  }
  assert.equal((await a.request('session/prompt', { sessionId: id, prompt: [] })).error.data.reason, 'SESSION_IMPORTED');
  assert.equal((await a.request('session/load', { sessionId: 'sess_x' })).error.data.reason, 'SESSION_NOT_FOUND');
  assert.equal((await a.request('what/ever', {})).error.code, -32601);
  await a.end();
});

test('a client that announces nothing is sent plain ACP, with the time that lay between', async () => {
  const a = agent('--speed', '2');

  await a.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const from = performance.now();
  await a.request('session/load', { sessionId: id, cwd, mcpServers: [] });
  assert.deepEqual([...new Set(a.told.map((t) => t.m.method))], ['session/update']);
  const at = (text) => a.told.find((t) => t.m.params.update.content?.text === text).at;
  assert.ok(at('two') - from >= 700, 'half of what the agent slept');
  await a.end();
});

test('a replay that is cancelled is answered, and another may follow', async () => {
  const a = agent();

  await a.request('initialize', CAPS);
  const load = a.request('session/load', { sessionId: id, cwd, mcpServers: [] });
  const second = a.request('session/load', { sessionId: id, cwd, mcpServers: [] });
  a.send({ method: 'session/cancel', params: { sessionId: id } }); // at once: the run is short
  assert.equal((await second).error.data.reason, 'SESSION_BUSY');
  assert.deepEqual((await load).result, {});
  assert.ok(a.told.length < original.length);
  await a.end();
});

test('a bundle that was changed is refused by name', () => {
  const broken = `${d.dir}/broken.acpd`;

  fs.writeFileSync(broken, fs.readFileSync(file).subarray(0, 500));
  const run = spawnSync(ACPD, ['bundle', 'replay', broken], { encoding: 'utf8', input: '' });
  assert.notEqual(run.status, 0);
  assert.match(run.stderr, /^[A-Z_]+: /);
});
