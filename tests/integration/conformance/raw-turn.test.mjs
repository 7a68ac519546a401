// SPDX-License-Identifier: Apache-2.0
// Statements 49-56: the prompt turn.

import assert from 'node:assert/strict';
import test from 'node:test';
import { deadline } from '../../lib/rawws.mjs';
import { gate } from '../../lib/gate.mjs';
import { at, isError, isUpdate, kinds, say, serve, text } from './rig.mjs';

const rig = serve();
const REASONS = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'];
const image = { type: 'image', mimeType: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' };
const audio = { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' };
const resource = { type: 'resource', resource: { uri: 'file:///x.txt', text: 'x' } };
const link = { type: 'resource_link', uri: 'file:///x.txt', name: 'x.txt' };

test('49 zero or more updates, then exactly one result with a valid stop reason', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'think a\necho b\ntool t1 read x\nplan\necho c');
  const { result } = await turn.answer;

  assert.equal(result.stopReason, 'end_turn');
  await c.call('session/list');
  const answer = at(c, (m) => m.id === turn.id);
  const last = c.messages.findLastIndex((m) => isUpdate(m, sessionId) && m.params._meta.acpd.turn === 1);
  assert.ok(last < answer, 'every update of the turn precedes the result');
  assert.equal(c.messages.filter((m) => m.id === turn.id).length, 1);
  assert.deepEqual(kinds(c.updatesOf(sessionId)).filter((k) => !/commands|usage/.test(k)),
    ['agent_thought_chunk', 'agent_message_chunk', 'tool_call', 'tool_call_update', 'tool_call_update', 'plan', 'agent_message_chunk']);
});

test('49 each stop reason of the harness is handed on', async () => {
  const { c, sessionId } = await rig.session();

  for (const reason of REASONS)
    assert.equal((await c.prompt(sessionId, `echo x\nstop ${reason}`)).stopReason, reason);
  const error = await c.fails('session/prompt', c.promptParams(sessionId, 'echo x\nstop because'));
  isError(error, -32603, 'TURN_FAILED', { sessionId });
  assert.equal(error.data.turn.class, 'harness_protocol');
});

test('49 an answer given twice by the harness, or late output, is not handed on', async () => {
  const { c, sessionId } = await rig.session();

  assert.equal((await c.prompt(sessionId, 'echo a\ndup')).stopReason, 'end_turn');
  assert.equal((await c.prompt(sessionId, 'echo b\nlate')).stopReason, 'end_turn');
  assert.equal((await c.prompt(sessionId, 'echo c\nwrongid')).stopReason, 'end_turn');
  assert.equal((await say(c, sessionId, 'echo d')).text, 'd');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b', 'c', 'd'], 'the late chunk belongs to no turn');
});

test('49 a success without any output is an error of its own class', async () => {
  const { c, sessionId } = await rig.session();
  const error = await c.fails('session/prompt', c.promptParams(sessionId, 'stop end_turn'));

  isError(error, -32603, 'TURN_FAILED', { sessionId });
  assert.equal(error.data.turn.class, 'empty_turn');
});

test('50 text and resource_link are always taken, image, audio and resource only where advertised', async () => {
  const { c, sessionId } = await rig.session();

  assert.equal((await say(c, sessionId, [...text('blocks'), link])).text, 'blocks:text,resource_link');
  for (const block of [image, audio, resource]) {
    const error = await c.fails('session/prompt', c.promptParams(sessionId, [...text('echo no'), block]));

    isError(error, -32602, 'CAPABILITY_MISSING', { field: 'prompt[1]' });
  }
  const full = await rig.client();
  const { sessionId: other, _meta } = await full.newSession({ meta: { harness: 'full' } });
  assert.equal(_meta.acpd.capabilities.promptCapabilities.audio, true);
  const all = [...text('blocks'), link, image, audio, resource];
  assert.equal((await say(full, other, all)).text, 'blocks:text,resource_link,image,audio,resource');
});

test('50 content that is no content block is -32602', async () => {
  const { c, sessionId } = await rig.session();
  const bad = [[5], ['x'], [null], [{}], [{ type: 'text' }], [{ type: 'text', text: 5 }], [{ type: 'video', data: 'x' }],
    [{ type: 5, text: 'x' }], [{ type: 'resource_link', uri: 'file:///x' }], [{ text: 'x' }], [...text('a'), { type: 'text' }]];

  for (const prompt of bad) {
    const error = await c.fails('session/prompt', { sessionId, prompt });

    assert.equal(error.code, -32602, JSON.stringify(prompt));
    assert.equal(error.data.field, `prompt[${prompt.length - 1}]`);
  }
  assert.equal((await say(c, sessionId, 'RECALL')).text, '[]', 'none of them reached the harness');
});

test('51 every tool call is announced before its updates and ends completed or failed', async () => {
  const { c, sessionId } = await rig.session();

  c.onPermission('reject');
  await c.prompt(sessionId, 'tool t1 read One\ntoolorphan t2\ntoolopen t3\nperm t4\ntoolopen t5\necho x');
  await c.prompt(sessionId, 'toolopen t6\necho y\nerror -32603 broken').catch(() => {});
  const crash = c.startPrompt(sessionId, 'toolopen t7\necho z\ncrash exit 3');
  assert.equal((await crash.answer).error.code, -32603);
  const state = new Map();
  for (const { update } of c.updatesOf(sessionId)) {
    if (update.sessionUpdate === 'tool_call') {
      assert.ok(!state.has(update.toolCallId), `${update.toolCallId} is announced once`);
      state.set(update.toolCallId, update.status);
    } else if (update.sessionUpdate === 'tool_call_update') {
      assert.ok(state.has(update.toolCallId), `${update.toolCallId} was announced`);
      state.set(update.toolCallId, update.status ?? state.get(update.toolCallId));
    }
  }
  assert.deepEqual(Object.fromEntries(state), {
    t1: 'completed', t2: 'completed', t3: 'failed', t4: 'failed', t5: 'failed', t6: 'failed', t7: 'failed',
  });
  assert.deepEqual(c.requests.map((m) => m.params.toolCall.toolCallId), ['t4']);
});

test('51 a tool call that only a permission request knows is announced first', async () => {
  const { c, sessionId } = await rig.session();
  const params = { toolCall: { toolCallId: 'unseen', title: 'Do it' }, options: [{ optionId: 'o', name: 'O', kind: 'allow_once' }] };

  c.onPermission('o');
  await c.prompt(sessionId, `ask session/request_permission ${JSON.stringify(params)}`);
  const call = at(c, (m) => isUpdate(m, sessionId, 'tool_call') && m.params.update.toolCallId === 'unseen');
  const asked = at(c, (m) => m.method === 'session/request_permission');
  assert.ok(call >= 0 && call < asked, `announced as message ${call}, asked as ${asked}`);
});

test('52 two sessions prompt at once: right ids, and neither waits for the other', async () => {
  const c = await rig.client();
  const [a, b] = [(await c.newSession()).sessionId, (await c.newSession()).sessionId];
  const order = [];
  const note = (name) => (m) => {
    order.push(name);
    return m.result;
  };
  const { step, open } = gate(rig.d);
  const slow = c.startPrompt(a, `echo a1\n${step}\necho a2`).answer.then(note('a'));

  await c.waitUpdate((u) => u.sessionId === a && u.update.sessionUpdate === 'agent_message_chunk');
  for (let i = 0; i < 3; i++)
    await c.startPrompt(b, `echo b${i}`).answer.then(note('b'));
  open();
  assert.equal((await slow).stopReason, 'end_turn');
  assert.deepEqual(order, ['b', 'b', 'b', 'a']);
  assert.deepEqual(c.chunks(a), ['a1', 'a2']);
  assert.deepEqual(c.chunks(b), ['b0', 'b1', 'b2']);
});

test('52 many sessions stream at once and nothing is mixed up', async () => {
  const c = await rig.client();
  const made = await Promise.all(Array.from({ length: 6 }, () => c.newSession()));
  const say20 = (i) => Array.from({ length: 20 }, (_, k) => `echo ${i}-${k}\nsleep 2`).join('\n');
  const results = await Promise.all(made.map((s, i) => c.prompt(s.sessionId, say20(i))));

  for (const [i, { sessionId }] of made.entries()) {
    assert.equal(results[i].stopReason, 'end_turn');
    assert.deepEqual(c.chunks(sessionId), Array.from({ length: 20 }, (_, k) => `${i}-${k}`));
    const seqs = c.updatesOf(sessionId).map((u) => u.seq);
    assert.ok(seqs.every((n, k) => k === 0 || n > seqs[k - 1]), 'every session has numbers of its own');
  }
});

test('53 prompts on a busy session are queued and run in order', async () => {
  const { c, sessionId } = await rig.session();
  const turns = ['echo 1\nsleep 200\necho 1e', 'echo 2\nsleep 50\necho 2e', 'echo 3'].map((p) => c.startPrompt(sessionId, p));
  const done = await Promise.all(turns.map((t) => t.answer));

  assert.deepEqual(done.map((m) => m.result.stopReason), ['end_turn', 'end_turn', 'end_turn']);
  assert.deepEqual(c.chunks(sessionId), ['1', '1e', '2', '2e', '3'], 'never interleaved');
  assert.deepEqual(done.map((m) => m.result._meta.acpd.turn), [1, 2, 3]);
  const places = turns.map((t) => at(c, (m) => m.id === t.id));
  assert.deepEqual(places, [...places].sort((x, y) => x - y), 'answered in order');
  const second = at(c, (m) => isUpdate(m, sessionId, 'agent_message_chunk') && m.params.update.content.text === '2');
  assert.ok(second > places[0], 'the second begins when the first was answered');
});

test('53 whenBusy "reject" is refused with SESSION_BUSY', async () => {
  const { c, sessionId } = await rig.session();
  const { step, open } = gate(rig.d);
  const turn = c.startPrompt(sessionId, `echo a\n${step}`);
  const meta = (whenBusy) => ({ ...c.promptParams(sessionId, 'echo b'), _meta: { acpd: { whenBusy } } });

  await c.waitUpdate('agent_message_chunk');
  isError(await c.fails('session/prompt', meta('reject')), -32600, 'SESSION_BUSY');
  isError(await c.fails('session/prompt', meta('maybe')), -32602, 'FIELD_INVALID', { field: '_meta.acpd.whenBusy' });
  open();
  await turn.answer;
  assert.equal((await c.call('session/prompt', meta('reject'))).stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('54 a harness that dies mid-turn: the prompt fails, connection and session live', async () => {
  const ways = [['crash exit 7', /^harness_exit$/], ['crash segv', /^harness_exit$/], ['crash kill', /^harness_exit$/],
    ['halfline exit 1', /^harness_(exit|protocol)$/]];

  for (const [how, cls] of ways) {
    const { c, sessionId } = await rig.session();
    const turn = c.startPrompt(sessionId, `echo begun\nsleep 100\n${how}`);

    await c.waitUpdate('agent_message_chunk');
    const { error } = await deadline(turn.answer, 10000, `answer after "${how}"`);
    isError(error, -32603, 'TURN_FAILED', { sessionId });
    assert.match(error.data.turn.class, cls);
    assert.equal(typeof error.data.turn.retryable, 'boolean');
    assert.deepEqual(c.chunks(sessionId), ['begun']);
    const other = await rig.client();
    await other.load(sessionId);
    assert.deepEqual(other.chunks(sessionId), ['begun']);
    assert.equal((await say(other, sessionId, 'echo again')).text, 'again');
  }
});

test('54 a queued prompt survives the death of the harness in the turn before', async () => {
  const { c, sessionId } = await rig.session();
  const [one, two] = ['echo a\nsleep 100\ncrash exit 1', 'echo b'].map((p) => c.startPrompt(sessionId, p));

  assert.equal((await one.answer).error.data.turn.class, 'harness_exit');
  assert.equal((await deadline(two.answer, 10000, 'the queued turn')).result.stopReason, 'end_turn');
  assert.deepEqual(c.chunks(sessionId), ['a', 'b']);
});

test('54 an error of the harness is a failed turn with its class', async () => {
  const { c, sessionId } = await rig.session();
  const error = await c.fails('session/prompt', c.promptParams(sessionId, 'echo x\nerror -32603 The model fell over'));

  isError(error, -32603, 'TURN_FAILED', { sessionId });
  assert.equal(error.data.turn.class, 'harness_error');
  assert.match(error.rpcMessage, /The model fell over/);
  assert.equal((await say(c, sessionId, 'echo on')).text, 'on');
});

test('55 an empty prompt is -32602', async () => {
  const { c, sessionId } = await rig.session();

  isError(await c.fails('session/prompt', { sessionId, prompt: [] }), -32602, 'PROMPT_EMPTY', { field: 'prompt' });
  isError(await c.fails('session/prompt', { sessionId }), -32602, 'FIELD_MISSING', { field: 'prompt' });
  for (const prompt of ['text', {}, 5])
    isError(await c.fails('session/prompt', { sessionId, prompt }), -32602, 'FIELD_INVALID', { field: 'prompt' });
  isError(await c.fails('session/prompt', { prompt: text('x') }), -32602, 'FIELD_MISSING', { field: 'sessionId' });
});

test('56 usage_update when it is known: unsigned numbers, cost with a currency, cumulative', async () => {
  const { c, sessionId } = await rig.session();

  for (let i = 0; i < 3; i++)
    await c.prompt(sessionId, 'usage\necho x');
  const updates = c.updatesOf(sessionId, 'usage_update').map((u) => u.update);
  assert.ok(updates.length >= 3);
  for (const [i, u] of updates.entries()) {
    assert.ok(Number.isInteger(u.used) && u.used >= 0 && Number.isInteger(u.size) && u.size > 0);
    assert.match(u.cost.currency, /^[A-Z]{3}$/);
    assert.ok(i === 0 || u.cost.amount >= updates[i - 1].cost.amount, 'cost never falls');
  }
});

test('56 the usage of a turn is in its result when the harness tells it', async () => {
  const { c, sessionId } = await rig.session({ meta: { harness: 'full' } });

  assert.deepEqual((await c.prompt(sessionId, 'echo x')).usage, { totalTokens: 120, inputTokens: 100, outputTokens: 20 });
  const plain = await rig.session();
  assert.equal((await plain.c.prompt(plain.sessionId, 'echo x')).usage, undefined, 'unknown is absent, not zero');
});
