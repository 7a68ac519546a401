// SPDX-License-Identifier: Apache-2.0
// What session/load and resume change: nothing if they are refused, whyever; at the end of the turn if one runs, and the answer says so.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import * as procs from '../../lib/procs.mjs';
import { until } from '../../lib/wait.mjs';

let d, c;
before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
  c = await d.client();
});
after(() => endInOrder(d));

const stateOf = async (sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0].state;
const seqOf = async (sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0].seq;
const ENV = { KEPT: 'as it was' };

async function said(sessionId, prompt) {
  const from = c.updates.length;

  await c.prompt(sessionId, prompt);
  return c.chunks(sessionId, from).join('');
}

describe('a session/load that is refused', () => {
  const changed = { env: { KEPT: 'changed' }, billingRef: 'changed' };
  const gone = `sha256:${'0'.repeat(64)}`;
  const server = { name: 'none', command: '/nowhere/server', args: [], env: [] };
  // [what, parameters, reason, did a harness have to be tried]
  const rows = [
    ['an archive that is not there', { workspace: { archive: gone } }, 'ARCHIVE_NOT_FOUND'],
    ['a file with an impossible name', { harnessFiles: [{ path: '../out', text: '' }] }, undefined],
    ['a skill that is none', { skills: [{ path: '/nowhere' }] }, undefined],
    ['a model that the harness does not have', { model: 'none' }, 'MODEL_UNKNOWN', true],
    ['a mode that the harness does not have', { mode: 'none' }, 'MODE_UNKNOWN', true],
    ['a server whose program is not there', {}, 'MCP_COMMAND_NOT_FOUND', true, [server]],
    ['a hosted server that nobody has', { mcp: { hosted: ['none'] } }, 'MCP_SERVER_UNKNOWN', true],
  ];

  async function refused(sessionId, [, meta, reason, , mcpServers = []]) {
    const error = await c.fails('session/load', { sessionId, cwd: d.workDir, mcpServers, _meta: { acpd: { ...changed, ...meta } } });

    assert.equal(error.data.reason, reason ?? error.data.reason, JSON.stringify(error.data));
    assert.equal(error.code, -32602);
  }

  for (const row of rows)
    test(`leaves a closed session closed, and its setup as it was: ${row[0]}`, async () => {
      const { sessionId } = await c.newSession({ meta: { env: ENV } });
      await c.call('session/close', { sessionId });
      const before = await seqOf(sessionId);
      await refused(sessionId, row);

      for (let i = 0; await stateOf(sessionId) === 'closing'; i++)
        assert.ok(i < 5000);
      assert.equal(await stateOf(sessionId), 'closed');
      assert.equal(await seqOf(sessionId), before, 'nothing was told of it');
      assert.equal((await c.fails('session/prompt', c.promptParams(sessionId, 'echo no'))).data.reason, 'SESSION_NOT_ACTIVE');
      await c.load(sessionId);
      assert.equal(await said(sessionId, 'env KEPT'), 'env:KEPT=as it was');
      await c.call('session/delete', { sessionId });
    });

  for (const row of rows)
    test(`leaves an open session as it was: ${row[0]}`, async () => {
      const { sessionId } = await c.newSession({ meta: { env: ENV } });
      const pid = await said(sessionId, 'self');
      await refused(sessionId, row);

      assert.equal(await said(sessionId, 'env KEPT'), 'env:KEPT=as it was');
      if (!row[3])
        assert.equal(await said(sessionId, 'self'), pid, 'the harness was not stopped');
      await c.call('session/delete', { sessionId });
    });

  test('and so do those that the next daemon reads: the journal says what holds', async () => {
    const { sessionId } = await c.newSession({ meta: { model: 'stub-small' } });
    await c.call('session/close', { sessionId });
    await refused(sessionId, rows[3]);
    const head = fs.readFileSync(path.join(d.stateDir, 'sessions', `${sessionId}.jsonl`), 'utf8').split('\n')
      .filter((line) => line.includes('"k":"session"')).map((line) => JSON.parse(line).m).at(-1);

    assert.equal(head.model, 'stub-small');
    assert.equal(head.billingRef, undefined);
    await c.call('session/delete', { sessionId });
  });
});

describe('a session/load while a turn runs', () => {
  async function running(opts = {}) {
    const { sessionId } = await c.newSession({ meta: { env: ENV }, ...opts });
    const from = c.updates.length;
    const { step, open } = gate(d);
    c.startPrompt(sessionId, `echo begun\n${step}\nenv KEPT\nself`);
    await c.waitUpdate((u) => u.sessionId === sessionId && u.update.content?.text === 'begun', { from });
    return { sessionId, open };
  }
  const ended = (sessionId, n = 1) => c.waitFor((m) => m.method === '_acpd/turn_end' && m.params.sessionId === sessionId && m.params.turn === n);

  test('what it changes is applied at the end of the turn, and the answer says so', async () => {
    const { sessionId, open } = await running();
    const { _meta: { acpd } } = await c.load(sessionId, { meta: { env: { KEPT: 'new' }, model: 'stub-large', systemPrompt: undefined } });
    assert.deepEqual(acpd.pending, ['env', 'model']);
    const again = await c.load(sessionId);
    assert.deepEqual(again._meta.acpd.pending, ['env', 'model'], 'and says it as long as it is so');
    open();
    await ended(sessionId);
    const old = c.chunks(sessionId);
    assert.ok(old.includes('env:KEPT=as it was'), 'the running turn was not disturbed');

    assert.equal(await said(sessionId, 'env KEPT'), 'env:KEPT=new');
    assert.notEqual(await said(sessionId, 'self'), old.find((x) => x.startsWith('self:')));
    const loaded = await c.load(sessionId);
    assert.equal(loaded._meta.acpd.pending, undefined);
    assert.equal(loaded.configOptions.find((o) => o.id === 'model').currentValue, 'stub-large');
    await c.call('session/delete', { sessionId });
  });

  test('so are servers and the mode; prompts that wait already get them', async () => {
    const { sessionId, open } = await running();
    const { _meta: { acpd } } = await c.load(sessionId, { mcpServers: [{ name: 'one', command: process.execPath, args: [], env: [] }], meta: { mode: 'code' } });
    assert.deepEqual(acpd.pending, ['mcpServers', 'mode']);
    const queued = c.prompt(sessionId, 'getparams'); // behind the turn
    open();
    await queued;
    const given = JSON.parse(c.chunks(sessionId).find((x) => x.startsWith('{')));

    assert.deepEqual(given.mcpServers.map((s) => s.name), ['one']);
    assert.equal((await c.load(sessionId, { mcpServers: [{ name: 'one', command: process.execPath, args: [], env: [] }] })).modes.currentModeId, 'code');
    await c.call('session/delete', { sessionId });
  });

  test('a mode alone stops no harness', async () => {
    const { sessionId, open } = await running();
    assert.deepEqual((await c.load(sessionId, { meta: { mode: 'code' } }))._meta.acpd.pending, ['mode']);
    open();
    await ended(sessionId);
    const self = c.chunks(sessionId).find((x) => x.startsWith('self:'));

    assert.equal(await said(sessionId, 'self'), self);
    const loaded = await c.load(sessionId);
    assert.deepEqual([loaded.modes.currentModeId, loaded._meta.acpd.pending], ['code', undefined]);
    await c.call('session/delete', { sessionId });
  });

  test('what changes nothing waits for nothing', async () => {
    const { sessionId, open } = await running();
    assert.equal((await c.load(sessionId, { meta: { env: ENV } }))._meta.acpd.pending, undefined);
    open();
    await ended(sessionId);
    await c.call('session/delete', { sessionId });
  });
});

test('two loads at once of a session without a harness: each is answered with what it asked for', async () => {
  const { sessionId } = await c.newSession({ meta: { env: ENV } });
  await c.call('session/close', { sessionId });
  const other = await d.client();
  await until(() => procs.stat(d.pid).state === 'S', 'the daemon waits for both'); // or it may read the second connection first
  const answers = await Promise.all([c.load(sessionId, { meta: { env: { KEPT: 'one' } } }), other.load(sessionId, { meta: { env: { KEPT: 'two' } } })]);

  assert.deepEqual(answers.map((a) => a._meta.acpd.pending), [undefined, undefined]);
  await c.load(sessionId);
  assert.equal(await said(sessionId, 'env KEPT'), 'env:KEPT=two');
  await c.call('session/delete', { sessionId });
  await other.close();
});
