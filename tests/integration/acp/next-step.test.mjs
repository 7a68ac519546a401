// SPDX-License-Identifier: Apache-2.0
// What an error says to do next, and what a client sees of a session that is still being opened.

import assert from 'node:assert/strict';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { until } from '../../lib/wait.mjs';

let d, c;

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

test('a session that is unknown, and one that is not active here', async () => {
  const { sessionId } = await c.newSession();
  const other = await d.client();
  const prompt = (id) => other.promptParams(id, 'echo x');

  assert.match((await other.fails('session/prompt', prompt('sess_none'))).rpcMessage, /no such session; session\/list /);
  const inactive = await other.fails('session/prompt', prompt(sessionId));
  assert.deepEqual([inactive.data.reason, /call session\/load first/.test(inactive.rpcMessage)], ['SESSION_NOT_ACTIVE', true], inactive.rpcMessage);
  await other.close();
});

test('a method that does not exist is named', async () => {
  assert.match((await c.fails('_acpd/nothing', {})).rpcMessage, /^method not found: _acpd\/nothing$/);
});

test('an unknown harness: the installed ones', async () => {
  const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { acpd: { harness: 'frob' } } });

  assert.equal(error.data.reason, 'HARNESS_UNKNOWN');
  assert.match(error.rpcMessage, /installed: .*stub.*acpd harness list/);
  const { harnesses } = (await d.http('/ready', { token: d.token })).json;
  assert.deepEqual(error.data.known, harnesses.filter((h) => h.installed).map((h) => h.id));
});

test('a cwd that does not exist: the way to a new one works', async () => {
  const cwd = path.join(d.dir, 'nowhere');
  const error = await c.fails('session/new', { cwd, mcpServers: [] });

  assert.equal(error.data.reason, 'CWD_NOT_FOUND');
  assert.match(error.rpcMessage, /_meta\.acpd\.workspace \{ephemeral: true\}/);
  assert.ok(error.rpcMessage.endsWith(cwd), error.rpcMessage);
  assert.match((await c.newSession({ cwd, meta: { workspace: { ephemeral: true } } })).sessionId, /^sess_/);
});

test('a parameter of ours that stands beside acpd is refused, not ignored', async () => {
  for (const [name, value] of [['harness', 'stub'], ['workspace', { ephemeral: true }], ['provider', {}], ['budgets', { turn: { steps: 1 } }]]) {
    const error = await c.fails('session/new', { cwd: d.workDir, mcpServers: [], _meta: { [name]: value } });

    assert.deepEqual([error.code, error.data.reason, error.data.field], [-32602, 'PARAM_UNSUPPORTED', `_meta.${name}`]);
    assert.match(error.rpcMessage, new RegExp(`_meta\\.acpd\\.${name}`));
  }
  assert.match((await c.newSession({ _meta: { 'other.example/harness': 'x', trace: 1 } })).sessionId, /^sess_/, 'other names are not ours');
});

test('a harness that starts slowly: the status says how long, the log when it was ready', async () => {
  const own = await Daemon.start({ harnesses: [{ id: 'slow', args: ['--init-silent'] }] });

  try {
    const a = await own.client(), b = await own.client();
    const started = a.newSession({ meta: { harness: 'slow' } }).catch((e) => e);
    const { harnesses } = await until(async () => {
      const status = await b.call('_acpd/status');

      return status.harnesses.starting === 1 && status;
    }, 'a harness that starts');

    assert.equal(typeof harnesses.startingMs, 'number', JSON.stringify(harnesses));
    for (const p of own.harnesses())
      process.kill(p.pid, 'SIGKILL');
    assert.equal((await started).code, -32603);
    const { sessionId } = await b.newSession();
    const after = await b.call('_acpd/status');
    assert.deepEqual([after.harnesses.starting, after.harnesses.startingMs, after.sessions[0].startingMs], [0, undefined, undefined]);
    assert.match((await own.waitLog((l) => l.msg === 'harness ready' && l.session === sessionId)).ms, /^\d+$/);
    await a.close();
    await b.close();
  } finally {
    await own.discard();
  }
});
