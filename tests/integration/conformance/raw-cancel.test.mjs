// SPDX-License-Identifier: Apache-2.0
// Statements 57-60: cancellation.

import assert from 'node:assert/strict';
import test from 'node:test';
import { deadline, sleep } from '../../lib/rawws.mjs';
import { gate } from '../../lib/gate.mjs';
import { at, isError, isUpdate, say, serve, silent } from './rig.mjs';

const rig = serve();

// Starts a turn that has said something and goes on for a minute.
async function running(prompt = 'echo begun\nsleep 60000\necho never') {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, prompt);

  await c.waitUpdate('agent_message_chunk');
  return { c, sessionId, turn };
}

// No update of that turn may come behind its answer.
async function assertQuietAfter(c, sessionId, turn) {
  await sleep(150);
  await c.call('session/list');
  const answer = at(c, (m) => m.id === turn.id && m.method === undefined);
  const late = c.messages.slice(answer).filter((m) => isUpdate(m, sessionId) && m.params._meta.acpd.turn === 1);

  assert.deepEqual(late, []);
}

test('57 session/cancel ends the turn with the result "cancelled", and nothing of it follows', async () => {
  const { c, sessionId, turn } = await running('echo begun\ntoolopen t1\nsleep 60000\necho never');

  c.cancel(sessionId);
  const { result, error } = await deadline(turn.answer, 5000, 'the cancelled turn');
  assert.equal(error, undefined);
  assert.equal(result.stopReason, 'cancelled');
  await assertQuietAfter(c, sessionId, turn);
  assert.deepEqual(c.chunks(sessionId), ['begun']);
  const [failed] = c.updatesOf(sessionId, 'tool_call_update');
  assert.equal(failed.update.status, 'failed', 'the open tool call is closed before');
  assert.equal((await say(c, sessionId, 'echo next')).text, 'next');
});

test('57 a flood is cancelled too, and its rest is not delivered', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'flood 100000 200');

  await c.waitUpdate('agent_message_chunk');
  c.cancel(sessionId);
  assert.equal((await deadline(turn.answer, 10000, 'the cancelled flood')).result.stopReason, 'cancelled');
  await assertQuietAfter(c, sessionId, turn);
  assert.ok(c.chunks(sessionId).length < 100000);
});

test('57 a harness that does not hear the cancel is bounded: the turn ends, the session works on', async () => {
  for (const deaf of ['echo begun\nnocancel\nsleep 60000\necho never', 'echo begun\nsilence']) {
    const { c, sessionId, turn } = await running(deaf);

    c.cancel(sessionId);
    const { result } = await deadline(turn.answer, 5000, 'the cancelled turn of a deaf harness');
    assert.equal(result.stopReason, 'cancelled');
    assert.equal((await say(c, sessionId, 'echo next')).text, 'next');
    assert.deepEqual(c.chunks(sessionId), ['begun', 'next']);
  }
});

test('57 a cancelled turn is "cancelled" even when the harness answers it with an error or dies of it', async () => {
  for (const end of ['error -32603 interrupted', 'crash exit 1', 'stop end_turn']) {
    const { step, open } = gate(rig.d);
    const { c, sessionId, turn } = await running(`echo begun\nnocancel\n${step}\n${end}`);

    c.cancel(sessionId);
    await c.call('session/list'); // it has come
    open();
    const { result } = await deadline(turn.answer, 5000, `the cancelled turn with ${end}`);
    assert.equal(result?.stopReason, 'cancelled', end);
  }
});

test('57 cancel takes queued prompts with it, each answered once', async () => {
  const { c, sessionId, turn } = await running();
  const queued = [c.startPrompt(sessionId, 'echo q1'), c.startPrompt(sessionId, 'echo q2')];

  c.cancel(sessionId);
  const answers = await Promise.all([turn, ...queued].map((t) => deadline(t.answer, 5000, 'a cancelled prompt')));
  assert.deepEqual(answers.map((m) => m.result.stopReason), ['cancelled', 'cancelled', 'cancelled']);
  assert.equal((await say(c, sessionId, 'RECALL')).text, JSON.stringify(['echo begun\nsleep 60000\necho never']));
});

test('58 session/cancel without a turn, or for an unknown session, has no answer and no effect', async () => {
  const { c, sessionId } = await rig.session();

  await silent(c, () => {
    for (const id of [sessionId, 'sess_none', '', 5, null, undefined, {}])
      c.notify('session/cancel', { sessionId: id });
  });
  const next = await say(c, sessionId, 'echo normal');
  assert.deepEqual([next.stopReason, next.text], ['end_turn', 'normal']);
});

test('58 a cancel right behind the end of a turn does not hit the next one', async () => {
  const { c, sessionId } = await rig.session();

  for (let i = 0; i < 5; i++) {
    await c.prompt(sessionId, 'echo x');
    c.cancel(sessionId);
    const next = await say(c, sessionId, 'echo y\nsleep 20\necho z');
    assert.deepEqual([next.stopReason, next.text], ['end_turn', 'yz']);
  }
});

test('58 session/cancel from a connection on which the session is not active does nothing', async () => {
  const { step, open } = gate(rig.d);
  const { c, sessionId, turn } = await running(`echo begun\n${step}\necho ended`);
  const stranger = await rig.client();

  await silent(stranger, () => stranger.cancel(sessionId));
  open();
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['begun', 'ended']);
});

test('59 cancel with an open permission request that the client answers "cancelled": the tool does not run', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1');
  const asked = await c.waitRequest('session/request_permission');

  c.cancel(sessionId);
  c.respond(asked.id, { outcome: { outcome: 'cancelled' } });
  assert.equal((await deadline(turn.answer, 5000, 'the cancelled turn')).result.stopReason, 'cancelled');
  const states = c.updatesOf(sessionId, 'tool_call_update').map((u) => u.update.status);
  assert.equal(states.at(-1), 'failed');
  assert.ok(!states.includes('completed'));
});

test('59 cancel with an open permission request that nobody answers: $/cancel_request, then the result', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1');
  const asked = await c.waitRequest('session/request_permission');

  c.cancel(sessionId);
  assert.equal((await deadline(turn.answer, 5000, 'the cancelled turn')).result.stopReason, 'cancelled');
  const withdrawn = c.notifications.filter((m) => m.method === '$/cancel_request');
  assert.deepEqual(withdrawn.map((m) => m.params), [{ requestId: asked.id }]);
  assert.ok(c.messages.indexOf(withdrawn[0]) < at(c, (m) => m.id === turn.id && m.result));
  await silent(c, () => c.respond(asked.id, { outcome: { outcome: 'selected', optionId: 'allow' } }));
  assert.ok(!c.updatesOf(sessionId, 'tool_call_update').some((u) => u.update.status === 'completed'));
});

test('59 a client that refuses the withdrawn request with -32800 is as good', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'perm t1');
  const asked = await c.waitRequest('session/request_permission');

  c.cancel(sessionId);
  await c.waitFor((m) => m.method === '$/cancel_request');
  c.respondError(asked.id, -32800, 'Request cancelled');
  assert.equal((await turn.answer).result.stopReason, 'cancelled');
  await silent(c, () => c.respondError(asked.id, -32800, 'Request cancelled'));
  c.onPermission('allow');
  assert.equal((await say(c, sessionId, 'perm t2')).text, 'permission:allow');
});

test('59 a harness that does not hear the cancel still has its question answered "cancelled", and lives', async () => {
  const { c, sessionId } = await rig.session();
  const pid = (await say(c, sessionId, 'self')).text;
  const turn = c.startPrompt(sessionId, 'nocancel\nperm t1\necho after');

  await c.waitRequest('session/request_permission');
  c.cancel(sessionId);
  await c.waitFor((m) => m.method === '$/cancel_request');
  assert.equal((await turn.answer).result.stopReason, 'cancelled');
  assert.equal((await say(c, sessionId, 'self')).text, pid, 'there was no need to kill it');
});

test('60 $/cancel_request for a running prompt: one response, "cancelled"', async () => {
  const { c, sessionId, turn } = await running();

  c.notify('$/cancel_request', { requestId: turn.id });
  c.notify('$/cancel_request', { requestId: turn.id });
  const { result, error } = await deadline(turn.answer, 5000, 'the cancelled request');
  assert.ok(result?.stopReason === 'cancelled' || error?.code === -32800);
  await assertQuietAfter(c, sessionId, turn);
  await silent(c, () => c.notify('$/cancel_request', { requestId: turn.id }));
});

test('60 $/cancel_request hits only the prompt it names, queued or running, by type and value', async () => {
  const { c, sessionId } = await rig.session();
  const start = (id, prompt) => c.request('session/prompt', c.promptParams(sessionId, prompt), { id });
  const { step, open } = gate(rig.d);
  const [one, two, three] = [start('41', `echo a\n${step}\necho b`), start(41, 'echo two'), start('x', 'echo three')];

  await c.waitUpdate('agent_message_chunk');
  c.notify('$/cancel_request', { requestId: 41 });
  assert.equal((await two.answer).result.stopReason, 'cancelled');
  open();
  assert.equal((await one.answer).result.stopReason, 'end_turn');
  assert.equal((await three.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b', 'three']);
});

test('60 unknown ids, and ids of our own requests, match nothing', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.request('session/prompt', c.promptParams(sessionId, 'perm t1'), { id: 'mine' });
  const asked = await c.waitRequest('session/request_permission');

  await silent(c, () => {
    for (const requestId of [asked.id, String(asked.id), 9999, 'nope', null, undefined, {}, [asked.id], 'min', 'mine2'])
      c.notify('$/cancel_request', { requestId });
  });
  const stranger = await rig.client();
  await silent(stranger, () => stranger.notify('$/cancel_request', { requestId: 'mine' }));
  c.respond(asked.id, { outcome: { outcome: 'selected', optionId: 'allow' } });
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['permission:allow']);
});

test('60 a number that only begins like the id of a prompt is another id', async () => {
  const { c, sessionId } = await rig.session();
  const { step, open } = gate(rig.d);
  const turn = c.request('session/prompt', c.promptParams(sessionId, `echo a\n${step}\necho b`), { id: 41 });

  await c.waitUpdate('agent_message_chunk');
  for (const requestId of [412, 4, -41, 41.5, '41', [41], { id: 41 }])
    c.notify('$/cancel_request', { requestId });
  await c.call('session/list'); // by now they have been read
  open();
  assert.equal((await turn.answer).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('60 $/cancel_request as a request is unknown', async () => {
  const c = await rig.client();

  isError(await c.fails('$/cancel_request', { requestId: 1 }), -32601, 'METHOD_NOT_FOUND');
});
