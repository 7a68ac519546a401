// SPDX-License-Identifier: Apache-2.0
// The log at level info tells a session's story: a structured line for each event of its life, with session, turn and trace.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { until } from '../../../lib/wait.mjs';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

const lines = () => d.stderr.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));
const story = (sessionId) => lines().filter((l) => l.mod === 'session' && l.session === sessionId);
const told = (match) => until(() => lines().some(match), 'a line of the log', 20000);

test('a session from its making to its removal', async () => {
  const a = await d.client();
  const { sessionId } = await a.newSession({});

  a.onPermission('allow');
  await a.prompt(sessionId, 'perm t1', { meta: { traceparent: TRACE, acpd: { key: 'k-1' } } });
  const b = await d.client();
  await b.load(sessionId);
  const begun = b.waitUpdate((u) => u.update.content?.text === 'begun', { from: b.updates.length });
  const turn = b.startPrompt(sessionId, 'echo begun\nsleep 60000');
  await begun;
  b.cancel(sessionId);
  await turn.answer;
  await b.fails('session/prompt', b.promptParams(sessionId, 'error -32603 It broke'));
  await b.close();
  await told((l) => l.session === sessionId && l.msg === 'client left');
  const c = await d.client();
  await c.call('session/delete', { sessionId });
  await told((l) => l.session === sessionId && l.msg === 'session closed');
  await c.close();
  const events = story(sessionId);
  const wanted = ['harness started', 'session created', 'client attached', 'prompt taken', 'turn begun', 'question asked', 'question answered', 'turn ended',
    'client detached', 'client attached', 'prompt taken', 'turn begun', 'turn being cancelled', 'turn ended', 'prompt taken', 'turn begun', 'turn failed',
    'client left', 'harness ended', 'session closed'];

  assert.deepEqual(events.map((l) => l.msg).filter((m) => wanted.includes(m)), wanted);
  const by = (msg, n = 0) => events.filter((l) => l.msg === msg)[n];
  assert.deepEqual([by('session created').harness, by('session created').cwd], ['stub', d.workDir]);
  for (const msg of ['turn begun', 'question asked', 'question answered', 'turn ended'])
    assert.deepEqual([by(msg).turn, by(msg).traceparent], ['1', TRACE], msg);
  assert.deepEqual([by('prompt taken').turn, by('prompt taken').traceparent, by('prompt taken').key], [undefined, TRACE, 'k-1']);
  assert.equal(by('question answered').outcome, 'allow_once');
  assert.deepEqual([by('turn ended').stopReason, by('turn ended', 1).stopReason], ['end_turn', 'cancelled']);
  assert.match(by('turn ended', 1).durationMs, /^\d+$/);
  assert.equal(by('client detached').reason, 'taken_over');
  assert.equal(by('client attached', 1).from, '1');
  assert.deepEqual([by('turn failed').level, by('turn failed').turn, by('turn failed').text.includes('It broke')], ['warn', '3', true]);
});

test('what is refused: the reason and the field, not what was sent; the connection is named as in its other lines', async () => {
  const c = await d.client();
  await c.fails('session/new', { cwd: 'relative', mcpServers: [] });
  await c.fails('session/prompt', { sessionId: 'sess_none', prompt: [{ type: 'text', text: 'a-word-of-the-prompt' }] });
  await told((l) => l.reason === 'SESSION_NOT_FOUND');
  await c.close();
  const refused = lines().filter((l) => l.msg === 'request refused').slice(-2);

  assert.deepEqual(refused.map((l) => [l.level, l.field]), [['info', 'cwd'], ['info', '']]);
  assert.match(refused[0].reason, /^[A-Z_]+$/);
  assert.ok(lines().some((l) => l.msg === 'connection accepted' && l.connection === refused[0].connection));
  assert.ok(!d.stderr.includes('a-word-of-the-prompt'));
});
