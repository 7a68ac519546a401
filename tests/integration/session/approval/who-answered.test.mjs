// SPDX-License-Identifier: Apache-2.0
// The events of a question say who answered it, whoever that was, and they pair: what was asked and not closed is open.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { brief, never, questionAnswers, questionEvents, selected } from '../../../lib/approvals.mjs';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { until } from '../../../lib/wait.mjs';

let d, c;

before(async () => {
  d = await Daemon.start({ flags: { permissionTimeout: 1 } });
  c = await d.client();
});
after(() => endInOrder(d, c));

const events = (sessionId) => questionEvents(d, sessionId);
const answers = async (sessionId) => (await questionAnswers(d, sessionId)).map(brief);

test('the driver, with what it chose', async () => {
  const { sessionId } = await c.newSession();

  c.onPermission((params) => (params.toolCall.toolCallId === 'a' ? 'cancelled' : 'always'));
  await c.prompt(sessionId, 'perm a; perm b');
  assert.deepEqual(await answers(sessionId), [['client', 'driver', 'cancelled'], ['client', 'driver', 'always']]);
});

test('a human, if the client says so; anything else that it says is the client', async () => {
  const { sessionId } = await c.newSession();
  const says = { a: 'human', b: 'client', c: 'root', d: 7 };

  c.onRequest('session/request_permission', ({ toolCall }) => ({ ...selected('allow'), _meta: { acpd: { by: says[toolCall.toolCallId] } } }));
  await c.prompt(sessionId, 'perm a; perm b; perm c; perm d');
  assert.deepEqual(await answers(sessionId), ['human', 'client', 'client', 'client'].map((by) => [by, 'driver', 'allow']));
});

test('an answer that is none is the rejection of the daemon, and says so', async () => {
  const { sessionId } = await c.newSession();

  c.onRequest('session/request_permission', () => selected('maybe'));
  await c.prompt(sessionId, 'perm a');
  assert.deepEqual(await answers(sessionId), [['default', 'invalid_answer', 'reject']]);
});

test('a question that the next driver cannot be shown', async () => {
  const able = await d.client({ init: { clientCapabilities: { elicitation: { form: {} } } } });
  const { sessionId } = await able.newSession();

  able.onRequest('elicitation/create', never);
  able.startPrompt(sessionId, 'elicit');
  await able.waitRequest('elicitation/create');
  const plain = await d.client({ init: { clientCapabilities: {} } });
  await plain.load(sessionId);
  await until(async () => (await events(sessionId)).length === 2);
  assert.deepEqual(await answers(sessionId), [['default', 'unsupported', 'cancel']]);
  assert.deepEqual(plain.requests, []);
});

test('nobody in time; the turn that is cancelled; the session that is closed', async () => {
  const gone = await d.client(), { sessionId } = await gone.newSession();
  const cancelled = await c.newSession(), closed = await c.newSession();

  gone.startPrompt(sessionId, 'perm a');
  await gone.waitRequest('session/request_permission');
  gone.ws.reset();
  for (const s of [cancelled, closed]) {
    const from = c.requests.length;

    c.onRequest('session/request_permission', never);
    c.startPrompt(s.sessionId, 'perm a');
    await c.waitRequest('session/request_permission', { from });
  }
  c.cancel(cancelled.sessionId);
  await c.call('session/close', { sessionId: closed.sessionId });
  for (const s of [cancelled, closed]) {
    await until(async () => (await events(s.sessionId)).length === 2);
    assert.deepEqual(await answers(s.sessionId), [['cancelled', undefined, 'cancelled']]);
  }
  await until(async () => (await events(sessionId)).length === 2);
  assert.deepEqual(await answers(sessionId), [['timeout', undefined, 'reject']]);
});

test('more questions than may be open', async () => {
  const { sessionId } = await c.newSession(), from = c.requests.length;

  c.onRequest('session/request_permission', never);
  const turn = c.startPrompt(sessionId, 'perms 70');
  await until(async () => (await events(sessionId)).length >= 64 + 6);
  c.cancel(sessionId);
  await turn.answer;
  assert.equal(c.requests.length - from, 64, 'so many were shown');
  const said = await events(sessionId);
  assert.equal(said.filter((e) => e.reason === 'too_many').length, 6);
  assert.equal(said.filter((e) => e.by === 'cancelled').length, 64);
});
