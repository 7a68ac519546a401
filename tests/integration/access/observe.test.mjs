// SPDX-License-Identifier: Apache-2.0
// Who observes a session over ACP: sees all of it beside the driver, is asked nothing, and changes nothing, whether its token may no more or
// it asks for no more.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { gate } from '../../lib/gate.mjs';
import { mint } from '../../lib/tokens.mjs';
import { until } from '../../lib/wait.mjs';

let d, c, token;
before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
  c = await d.client();
  ({ token } = await mint(d, 'observe'));
});
after(() => endInOrder(d, c));

const WAYS = [
  ['a token of scope observe', () => d.client({ token }), undefined],
  ['observe: true of the claim\'s token', () => d.client(), { observe: true }],
];
const refusal = (error) => [error?.code, error?.data.reason, error?.data.scope];
const NO = [-32600, 'SCOPE_REQUIRED', 'drive'];

for (const [name, connect, meta] of WAYS)
  describe(name, () => {
    test('history and what comes, beside the driver, who is not fenced', async () => {
      const { sessionId } = await c.newSession();
      await c.prompt(sessionId, 'echo before');
      const o = await connect();
      const opened = await o.load(sessionId, { meta });

      assert.equal(opened._meta.acpd.observe, true);
      assert.deepEqual(o.chunks(sessionId), ['before'], 'the history stands before the answer');
      await c.prompt(sessionId, 'echo after');
      await o.waitUpdate((u) => u.update.content?.text === 'after');
      assert.deepEqual(o.updatesOf(sessionId).map((u) => u.seq), [...o.updatesOf(sessionId).map((u) => u.seq)].sort((a, b) => a - b));
      assert.equal(c.notifications.filter((n) => n.method === '_acpd/detached' && n.params.sessionId === sessionId).length, 0);
      const r = await connect();
      await r.resumeSession(sessionId, { meta });
      await c.prompt(sessionId, 'echo third');
      await r.waitUpdate((u) => u.update.content?.text === 'third');
      assert.deepEqual(r.chunks(sessionId), ['third']);
      await Promise.all([o, r].map((k) => k.close()));
    });

    test('a question comes as an event, never as a request, and cannot be answered', async () => {
      const { sessionId } = await c.newSession();
      const o = await connect();
      await o.load(sessionId, { meta });
      c.onRequest('session/request_permission', () => new Promise(() => {}));
      const turn = c.startPrompt(sessionId, 'perm a; echo on');
      const asked = await o.waitFor((m) => m.method === '_acpd/event' && m.params.event.kind === 'ask_approval' && m.params.sessionId === sessionId);
      const id = `${sessionId}:${asked.params.event.ask}`;

      assert.deepEqual(refusal((await o.request('_acpd/approvals/answer', { id, optionId: 'allow' }).answer).error), NO);
      assert.deepEqual(refusal((await o.request('_acpd/approvals/answer', { id, sessionId, optionId: 'allow' }).answer).error), NO);
      assert.equal(o.requests.length, 0);
      assert.equal((await o.call('_acpd/approvals/list', { sessionId })).approvals.length, 1);
      await c.call('_acpd/approvals/answer', { id, optionId: 'allow' });
      assert.equal((await turn.answer).result.stopReason, 'end_turn');
      await o.close();
    });

    test('prompt, set, close, delete and the like name the scope; notifications do nothing', async () => {
      const { sessionId } = await c.newSession();
      const o = await connect();
      await o.load(sessionId, { meta });
      const { step, open } = gate(d);
      const turn = c.startPrompt(sessionId, `echo begun; ${step}; echo ended`);
      await o.waitUpdate((u) => u.update.content?.text === 'begun' && u.sessionId === sessionId);
      o.notify('session/cancel', { sessionId });
      for (const [method, params] of [['session/prompt', { prompt: [{ type: 'text', text: 'echo no' }] }], ['session/set_mode', { modeId: 'code' }], ['session/set_model', { modelId: 'stub-large' }],
        ['session/close', {}], ['session/delete', {}], ['_session/steering', { prompt: [{ type: 'text', text: 'x' }] }], ['_acpd/ack', { seq: 1 }], ['_acpd/network/set', { network: { mode: 'on' } }],
        ['_acpd/artifact/put', { name: 'x', text: 'y' }], ['_acpd/session/draft', { on: true }], ['_acpd/approvals/forget', { id: 'x' }]])
        assert.deepEqual(refusal((await o.request(method, { sessionId, ...params }).answer).error), NO, method);
      open();
      assert.equal((await turn.answer).result.stopReason, 'end_turn');
      assert.deepEqual(c.chunks(sessionId), ['begun', 'ended']);
      await o.close();
    });

    test('a load that would give the session something is refused by the field', async () => {
      const { sessionId } = await c.newSession();
      const o = await connect();

      for (const [field, opts] of [['_meta.acpd.env', { meta: { ...meta, env: { A: 'b' } } }], ['_meta.acpd.model', { meta: { ...meta, model: 'stub-large' } }],
        ['mcpServers', { meta, mcpServers: [{ type: 'acp', name: 'x', serverId: 'x' }] }], ['_meta.acpd.budgets', { meta: { ...meta, budgets: {} } }]]) {
        const e = await o.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: opts.mcpServers ?? [], ...(opts.meta && { _meta: { acpd: opts.meta } }) });
        assert.deepEqual([...refusal(e), e.data.field], [...NO, field]);
      }
      assert.equal((await o.call('_acpd/status', { sessionId })).sessions[0].watchers, 1);
      await o.close();
    });

    test('of a session that is closed the history alone: its harness is not started', async () => {
      const { sessionId } = await c.newSession();
      await c.prompt(sessionId, 'echo once');
      await c.call('session/close', { sessionId });
      const o = await connect();
      await o.load(sessionId, { meta });
      const [s] = (await o.call('_acpd/status', { sessionId })).sessions;

      assert.deepEqual(o.chunks(sessionId), ['once']);
      assert.deepEqual([s.state, s.pid, s.watchers], ['closed', undefined, 1], 'the one that closed it');
      await c.load(sessionId);
      await c.prompt(sessionId, 'echo again');
      await o.waitUpdate((u) => u.update.content?.text === 'again');
      await c.call('session/delete', { sessionId });
      await o.waitFor((m) => m.method === '_acpd/detached' && m.params.reason === 'deleted');
      await o.close();
    });
  });

test('observe: false does not widen a token', async () => {
  const { sessionId } = await c.newSession();
  const o = await d.client({ token });

  assert.deepEqual(refusal(await o.fails('session/load', { sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd: { observe: false } } })), NO);
  assert.deepEqual(o.initializeResult.agentCapabilities._meta.acpd.token.scope, 'observe');
  await o.close();
});

test('one connection may observe first and drive then, and the other way round', async () => {
  const { sessionId } = await c.newSession();
  const o = await d.client();

  await o.load(sessionId, { meta: { observe: true } });
  assert.equal((await o.request('session/prompt', o.promptParams(sessionId, 'echo no')).answer).error.data.reason, 'SCOPE_REQUIRED');
  const opened = await o.load(sessionId);
  assert.equal(opened._meta.acpd.observe, undefined);
  await c.waitFor((m) => m.method === '_acpd/detached' && m.params.sessionId === sessionId);
  const { step, open } = gate(d);
  const turn = o.startPrompt(sessionId, `echo begun; ${step}; echo mine`);
  await o.waitUpdate((u) => u.update.content?.text === 'begun');
  const from = o.updates.length;
  await o.resumeSession(sessionId, { meta: { observe: true } });
  assert.equal((await turn.answer).error.data.reason, 'DETACHED');
  open();
  await o.waitUpdate((u) => u.update.content?.text === 'mine', { from });
  await until(async () => (await c.call('_acpd/status', { sessionId })).sessions[0].watchers === 0, 'nobody drives it');
  await o.close();
});

test('what only observes confirms nothing: usage records stay unread', async () => {
  const { sessionId } = await c.newSession();
  await c.prompt(sessionId, 'usage; echo x');
  const unread = () => d.metric('acpd_usage_records_unread');
  const before = await unread();
  const o = await d.client({ token });

  assert.ok(before > 0);
  const { last } = await o.call('_acpd/usage');
  await o.call('_acpd/usage', { since: last });
  await d.http('/v1/usage', { token });
  await d.http(`/v1/usage?since=${last}`, { token });
  assert.equal(await unread(), before);
  const { token: usage } = await mint(d, 'usage');
  await d.http('/v1/usage', { token: usage });
  await d.http(`/v1/usage?since=${last}`, { token: usage });
  assert.equal(await unread(), 0);
  await o.close();
});
