// SPDX-License-Identifier: Apache-2.0
// Statements 61-64: permissions.

import assert from 'node:assert/strict';
import test from 'node:test';
import { withDaemon } from '../../lib/daemon.mjs';
import { deadline, sleep } from '../../lib/rawws.mjs';
import { withLimit } from '../../lib/wait.mjs';
import { isError, say, serve, silent } from './rig.mjs';

const rig = serve();
const selected = (optionId) => ({ outcome: { outcome: 'selected', optionId } });
const statusOf = (c, sessionId, id) => c.updatesOf(sessionId, 'tool_call_update')
  .filter((u) => u.update.toolCallId === id).at(-1)?.update.status;

test('61 the selected option is obeyed', async () => {
  // "always" is kept here, as a rule of the session: the agent is told of this once
  for (const [option, told, status] of [['allow', 'allow', 'completed'], ['always', 'allow', 'completed'], ['reject', 'reject', 'failed']]) {
    const { c, sessionId } = await rig.session();

    c.onPermission(option);
    const turn = await say(c, sessionId, 'perm t1\necho on');
    assert.deepEqual([turn.stopReason, turn.text], ['end_turn', `permission:${told}on`]);
    assert.equal(statusOf(c, sessionId, 't1'), status);
  }
});

test('61 outcome "cancelled" reaches the harness as such', async () => {
  const { c, sessionId } = await rig.session();

  c.onPermission('cancelled');
  const turn = await say(c, sessionId, 'perm t1\necho on');
  assert.deepEqual([turn.stopReason, turn.text], ['end_turn', 'permission:cancelledon']);
  assert.equal(statusOf(c, sessionId, 't1'), 'failed');
});

test('61 whatever is no valid answer counts as a rejection', async () => {
  const answers = [selected('no-such'), selected('Allow'), selected(5), selected(undefined), {}, { outcome: 'selected' }, null,
    { outcome: { outcome: 'approved', optionId: 'allow' } }, { outcome: { optionId: 'allow' } }, 'allow', [selected('allow')]];
  const { c, sessionId } = await rig.session();

  for (const [i, answer] of answers.entries()) {
    c.onRequest('session/request_permission', (params, msg) => {
      c.send({ jsonrpc: '2.0', id: msg.id, result: answer });
      return new Promise(() => {});
    });
    const turn = await say(c, sessionId, `perm t${i}\necho on`);
    assert.deepEqual([turn.stopReason, turn.text], ['end_turn', 'permission:rejecton'], JSON.stringify(answer));
    assert.equal(statusOf(c, sessionId, `t${i}`), 'failed');
  }
});

test('61 an error answer counts as a rejection, "method not found" too', async () => {
  const { c, sessionId } = await rig.session();

  for (const [i, code] of [-32601, -32603, -32800, -32000].entries()) {
    c.onRequest('session/request_permission', () => {
      throw Object.assign(new Error('No'), { code });
    });
    assert.equal((await say(c, sessionId, `perm e${i}`)).text, 'permission:reject', String(code));
    assert.equal(statusOf(c, sessionId, `e${i}`), 'failed');
  }
});

test('61 a response with neither a sound result nor a sound error counts as a rejection', async () => {
  const { c, sessionId } = await rig.session();

  for (const [i, odd] of [{ error: 'not an object' }, { error: 5 }, { error: null, result: 'x' }].entries()) {
    c.onRequest('session/request_permission', (params, msg) => {
      c.send({ jsonrpc: '2.0', id: msg.id, ...odd });
      return new Promise(() => {});
    });
    assert.equal((await say(c, sessionId, `perm o${i}`)).text, 'permission:reject', JSON.stringify(odd));
  }
});

test('62 the request carries options with unique ids and a tool call with its id', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm call-1');
  const { params } = await c.waitRequest('session/request_permission');

  assert.equal(params.sessionId, sessionId);
  assert.equal(params.toolCall.toolCallId, 'call-1');
  assert.deepEqual(params.options.map((o) => [o.optionId, o.kind]),
    [['allow', 'allow_once'], ['always', 'allow_always'], ['reject', 'reject_once']]);
  assert.ok(params.options.every((o) => o.name));
  c.cancel(sessionId);
  await turn.answer;
});

test('62 a malformed request of the harness never reaches the client', async () => {
  const { c, sessionId } = await rig.session();
  const o = (optionId) => ({ optionId, name: 'O', kind: 'allow_once' });
  const toolCall = { toolCallId: 'x', title: 'X' };
  const bad = [{ toolCall, options: [] }, { toolCall }, { toolCall: {}, options: [o('a')] }, { options: [o('a')] },
    { toolCall, options: [o('a'), o('a')] }, { toolCall, options: [{ optionId: 'a' }] }, { toolCall: 'x', options: [o('a')] }];

  for (const params of bad) {
    const { text } = await say(c, sessionId, `ask session/request_permission ${JSON.stringify(params)}`);

    assert.equal(text, 'ask:error -32602', JSON.stringify(params));
  }
  assert.deepEqual(c.requests, []);
});

// A turn that waits for an answer, on a connection that has just been lost.
async function orphaned() {
  const { c, sessionId } = await rig.session();

  c.startPrompt(sessionId, 'echo begun\nperm t1\necho ended');
  const asked = await c.waitRequest('session/request_permission');
  c.ws.reset();
  await c.ws.waitClosed();
  return { sessionId, asked };
}

for (const method of ['load', 'resumeSession']) {
  test(`63 the socket is lost with an open request: it is put again, with a new id, after ${method}`, async () => {
    const { sessionId, asked } = await orphaned();
    const c = await rig.client();

    await c.call('session/list'); // moves the ids of this connection on nothing of ours
    const result = await c[method](sessionId);
    const again = await c.waitRequest('session/request_permission');
    assert.ok(c.messages.findIndex((m) => m.result === result) < c.messages.indexOf(again), 'after the response');
    assert.deepEqual(again.params, asked.params, 'the same question');
    await sleep(100);
    assert.equal(c.requests.length, 1, 'put once');
    c.respond(again.id, selected('allow'));
    const end = await c.waitFor((m) => m.method === '_acpd/turn_end');
    assert.equal(end.params.stopReason, 'end_turn');
    assert.deepEqual(c.chunks(sessionId).slice(-2), ['permission:allow', 'ended']);
  });
}

test('63 a request that is open on this connection is put again with a new id after a load on it', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1');
  const first = await c.waitRequest('session/request_permission');

  await c.load(sessionId);
  const second = await c.waitRequest('session/request_permission', { from: 1 });
  assert.notEqual(second.id, first.id);
  c.respond(second.id, selected('always'));
  const end = await Promise.race([c.waitFor((m) => m.method === '_acpd/turn_end'), turn.answer]);
  assert.ok(end);
  assert.ok(c.chunks(sessionId).includes('permission:allow'));
});

test('63 nobody comes back: the request is rejected after the policy timeout and the turn ends', async () => {
  const alone = async (permissionTimeout) => {
    let seen;

    await withDaemon({ flags: { permissionTimeout } }, async (d) => {
      const c = await d.client(), other = await d.client();
      const { sessionId } = await c.newSession();
      c.startPrompt(sessionId, 'perm t1\necho ended');
      await c.waitRequest('session/request_permission');
      c.ws.reset();
      await c.ws.waitClosed();
      const state = async () => (await other.call('_acpd/status', { sessionId })).sessions[0].state;
      await sleep(300);
      seen = await state();
      while (await state() === 'busy')
        await sleep(50);
      await other.load(sessionId);
      assert.deepEqual(other.chunks(sessionId), ['permission:reject', 'ended']);
      assert.deepEqual(other.requests, []);
    });
    return seen;
  };

  assert.equal(await withLimit(3, alone, (seen) => seen !== 'busy', 3), 'busy', 'it waits for a while');
});

test('64 a second socket on a session takes it over: the first is told, its question withdrawn, its answer void', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1\necho ended');
  const first = await c.waitRequest('session/request_permission');
  const other = await rig.client();

  await other.load(sessionId);
  const withdrawn = await c.waitFor((m) => m.method === '$/cancel_request');
  assert.deepEqual(withdrawn.params, { requestId: first.id });
  const detached = await c.waitFor((m) => m.method === '_acpd/detached');
  assert.equal(detached.params.sessionId, sessionId);
  isError((await deadline(turn.answer, 5000, 'the fenced prompt')).error, -32002, 'DETACHED', { sessionId });
  const second = await other.waitRequest('session/request_permission');
  await silent(c, () => c.respond(first.id, selected('allow')));
  assert.deepEqual(other.chunks(sessionId), [], 'an answer from behind the fence counts for nothing');
  other.respond(second.id, selected('reject'));
  await other.waitFor((m) => m.method === '_acpd/turn_end');
  assert.deepEqual(other.chunks(sessionId), ['permission:reject', 'ended']);
  assert.ok(c.ws.isOpen, 'the first connection serves its other sessions');
  assert.equal((await say(c, (await c.newSession()).sessionId, 'echo fine')).text, 'fine');
});

test('64 the first valid answer wins, a second one is ignored', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1\nsleep 100\nperm t2');
  const first = await c.waitRequest('session/request_permission');

  c.respond(first.id, selected('reject'));
  c.respond(first.id, selected('allow'));
  const second = await c.waitRequest('session/request_permission', { from: 1 });
  c.respond(first.id, selected('reject'));
  c.respond(second.id, selected('allow'));
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['permission:reject', 'permission:allow']);
});
