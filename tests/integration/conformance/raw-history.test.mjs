// SPDX-License-Identifier: Apache-2.0
// Statements 37-42 and 44: load, resume, list, close, delete.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { until } from '../../lib/wait.mjs';
import { gate } from '../../lib/gate.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { at, isError, isUpdate, kinds, say, serve } from './rig.mjs';

const rig = serve();

// Everything but the words of the moment: what an update says, without its numbers.
const content = (updates) => updates.map((u) => u.update);
const seqs = (updates) => updates.map((u) => u.seq);
// All session ids, over all pages.
async function listed(c, params = {}) {
  const ids = [];
  let cursor;

  do {
    const page = await c.call('session/list', { ...params, cursor });

    ids.push(...page.sessions.map((s) => s.sessionId));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return ids;
}

test('37 load replays user, agent, thoughts, tools and plan in order, all before the response', async () => {
  const { c, sessionId } = await rig.session({ meta: { harness: 'full' } });
  const image = { type: 'image', mimeType: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' };

  await c.prompt(sessionId, [{ type: 'text', text: 'think hm\necho one\ntool t1 read File\nplan\necho two' }, image]);
  await c.prompt(sessionId, 'image\ntitle A title\nmode code\nusage\necho three');
  const other = await rig.client();
  const result = await other.load(sessionId);
  const response = at(other, (m) => m.result !== undefined && m.result === result);
  const last = other.messages.findLastIndex((m) => isUpdate(m, sessionId));
  assert.ok(last < response, 'all updates precede the response');
  assert.equal(Object.prototype.toString.call(result), '[object Object]');
  assert.equal(result.modes.currentModeId, 'code');

  const seen = other.updatesOf(sessionId);
  const own = c.updatesOf(sessionId);
  const isUser = (u) => u.update.sessionUpdate === 'user_message_chunk';
  assert.deepEqual(content(seen.filter((u) => !isUser(u))), content(own), 'the same as the first client saw, in order');
  assert.deepEqual(content(seen.filter(isUser)).map((u) => u.content.type), ['text', 'image', 'text']);
  const talk = ['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'plan'];
  assert.deepEqual(kinds(seen).filter((k) => talk.includes(k)), ['user_message_chunk', 'user_message_chunk', 'agent_thought_chunk',
    'agent_message_chunk', 'tool_call', 'plan', 'agent_message_chunk', 'user_message_chunk', 'agent_message_chunk',
    'agent_message_chunk']);
  const numbers = seqs(seen);
  assert.ok(numbers.every((n, i) => i === 0 || n > numbers[i - 1]), `seq rises: ${numbers}`);
});

test('37 load of an empty session gives an object too', async () => {
  const { sessionId } = await rig.session();
  const c = await rig.client();
  const result = await c.load(sessionId);

  assert.equal(typeof result, 'object');
  assert.notEqual(result, null);
  assert.equal(result.modes.currentModeId, 'ask');
  assert.deepEqual(kinds(c.updatesOf(sessionId)).filter((k) => /chunk|tool/.test(k)), []);
});

test('37 load of a session on the connection that has it replays it again', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo once');
  const from = c.updates.length;
  await c.load(sessionId);
  assert.deepEqual(c.chunks(sessionId, from), ['once']);
  assert.equal((await say(c, sessionId, 'echo again')).text, 'again');
});

test('38 a session of a connection that broke off can be loaded', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo before the loss');
  c.ws.reset();
  await c.ws.waitClosed();
  const other = await rig.client();
  await other.load(sessionId);
  assert.deepEqual(other.chunks(sessionId), ['before the loss']);
  assert.equal((await say(other, sessionId, 'RECALL')).text, '["echo before the loss"]');
});

test('38 a turn goes on without a connection, and its end can be read later', async () => {
  const { c, sessionId } = await rig.session();

  c.startPrompt(sessionId, 'echo a\nsleep 300\necho b\nstop max_tokens');
  await c.waitUpdate('agent_message_chunk');
  c.ws.reset();
  const other = await rig.client();
  await other.load(sessionId);
  const end = await other.waitFor((m) => m.method === '_acpd/turn_end');
  assert.equal(end.params.stopReason, 'max_tokens');
  assert.equal(end.params.turn, 1);
  assert.deepEqual(other.chunks(sessionId), ['a', 'b']);
});

test('39 load during a turn: history, response, live updates, no gap and no duplicate', async () => {
  const { c, sessionId } = await rig.session();
  const { step, open } = gate(rig.d);
  const steps = Array.from({ length: 60 }, (_, i) => `echo ${i}\n${i === 50 ? step : 'sleep 8'}`);
  const turn = c.startPrompt(sessionId, steps.join('\n'));
  const loads = [];

  await c.waitUpdate('agent_message_chunk');
  for (let i = 0; i < 4; i++) {
    const other = await rig.client();
    const result = await other.load(sessionId);

    loads.push({ other, response: at(other, (m) => m.result === result) });
  }
  open();
  const last = loads.at(-1);
  assert.ok(last.other.messages.slice(0, last.response).some((m) => isUpdate(m, sessionId, 'agent_message_chunk')));
  await last.other.waitFor((m) => m.method === '_acpd/turn_end');
  assert.ok(last.other.messages.slice(last.response).some((m) => isUpdate(m, sessionId, 'agent_message_chunk')));
  assert.deepEqual(last.other.chunks(sessionId), Array.from({ length: 60 }, (_, i) => String(i)));
  for (const { other } of loads) {
    const got = other.chunks(sessionId);

    assert.deepEqual(got, Array.from({ length: got.length }, (_, i) => String(i)), 'from the start, without holes');
  }
  const { error } = await turn.answer; // its connection was fenced off
  isError(error, -32002, 'DETACHED', { sessionId });
});

test('39 load from a sequence number gives what is missing and nothing else', async () => {
  const { c, sessionId, opened } = await rig.session();

  await c.prompt(sessionId, 'echo 0\necho 1\necho 2\necho 3');
  const all = c.updatesOf(sessionId);
  const from = all.find((u) => u.update.content?.text === '2').seq;
  const other = await rig.client();
  const meta = { fromSeq: from, incarnation: opened._meta.acpd.incarnation };
  await other.load(sessionId, { meta });
  assert.deepEqual(other.chunks(sessionId), ['2', '3']);
  const error = await other.fails('session/load', {
    sessionId, cwd: rig.d.workDir, mcpServers: [], _meta: { acpd: { fromSeq: 100000 } },
  });
  isError(error, -32602, 'FIELD_OUT_OF_RANGE', { field: '_meta.acpd.fromSeq' });
});

test('40 resume sends no history before its response, and the next prompt has the context', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo remember me');
  const other = await rig.client();
  const result = await other.resumeSession(sessionId);
  const response = at(other, (m) => m.result === result);
  assert.equal(typeof result, 'object');
  assert.equal(at(other, (m) => isUpdate(m, sessionId)), -1);
  assert.equal((await say(other, sessionId, 'RECALL')).text, '["echo remember me"]');
  assert.deepEqual(other.chunks(sessionId), ['["echo remember me"]'], 'and no history afterwards');
  assert.ok(response >= 0);
});

test('40 resume of a closed session starts the harness with its memory', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo of old');
  await c.call('session/close', { sessionId });
  await c.resumeSession(sessionId);
  assert.equal((await say(c, sessionId, 'RECALL')).text, '["echo of old"]');
});

test('41 list filters by exact cwd and gives [] when nothing matches', async () => {
  const c = await rig.client();
  const cwd = path.join(rig.d.workDir, 'a');

  fs.mkdirSync(path.join(cwd, 'b'), { recursive: true });
  const one = await c.newSession({ cwd });
  const two = await c.newSession({ cwd: path.join(cwd, 'b') });
  assert.deepEqual(await listed(c, { cwd }), [one.sessionId]);
  assert.deepEqual(await listed(c, { cwd: path.join(cwd, 'b') }), [two.sessionId]);
  assert.deepEqual(await listed(c, { cwd: `${cwd}/c` }), []);
  assert.deepEqual(await c.call('session/list', { cwd: '/no/such' }), { sessions: [] });
  const all = (await c.call('session/list', {})).sessions;
  for (const s of all)
    assert.ok(path.isAbsolute(s.cwd) && s.sessionId && !Number.isNaN(Date.parse(s.updatedAt)));
  const stranger = await rig.client();
  assert.deepEqual(await listed(stranger, { cwd }), [one.sessionId], 'also those of other connections');
  isError(await c.fails('session/list', { cwd: 7 }), -32602, 'FIELD_INVALID', { field: 'cwd' });
});

test('41 a title shows up in the list', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'title Fix the "build"\necho x');
  const found = (await c.call('session/list')).sessions.find((s) => s.sessionId === sessionId);
  assert.equal(found.title, 'Fix the "build"');
});

test('41 pages by cursor show every session exactly once', async () => {
  const c = await rig.client();
  const cwd = path.join(rig.d.workDir, 'pages');
  const made = [];

  fs.mkdirSync(cwd);
  for (let i = 0; i < 26; i++) {
    const some = await Promise.all([1, 2, 3, 4].map(() => c.newSession({ cwd })));

    made.push(...some.map((s) => s.sessionId));
    await Promise.all(some.map(({ sessionId }) => c.call('session/close', { sessionId })));
  }
  const seen = [];
  let params = { cwd };
  let pages = 0;
  do {
    const page = await c.call('session/list', params);

    seen.push(...page.sessions.map((s) => s.sessionId));
    params = page.nextCursor === undefined ? undefined : { cwd, cursor: page.nextCursor };
    if (++pages === 1)
      await c.call('session/delete', { sessionId: page.sessions.at(-1).sessionId }); // the one the cursor points at
  } while (params);
  assert.ok(pages >= 2, 'there was more than one page');
  assert.deepEqual(seen.sort(), made.sort());
});

test('41 a bogus cursor is -32602', async () => {
  const c = await rig.client();

  for (const cursor of ['x', '', 'after-', 'after-0', 'after--1', 'after-1x', 'after-01', '1', 'after-99999999999999999999999'])
    isError(await c.fails('session/list', { cursor }), -32602, 'CURSOR_INVALID', { field: 'cursor' });
  for (const cursor of [1, {}, true, ['after-1']])
    isError(await c.fails('session/list', { cursor }), -32602, 'FIELD_INVALID', { field: 'cursor' });
});

test('42 close answers the open prompt with cancelled first, then {}', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'echo a\ntoolopen t1\nsleep 60000\necho never');
  const queued = c.startPrompt(sessionId, 'echo never');

  await c.waitUpdate('tool_call');
  const close = c.request('session/close', { sessionId });
  assert.deepEqual((await close.answer).result, {});
  assert.equal((await turn.answer).result.stopReason, 'cancelled');
  assert.equal((await queued.answer).result.stopReason, 'cancelled');
  const order = c.messages.filter((m) => [turn.id, queued.id, close.id].includes(m.id)).map((m) => m.id);
  assert.equal(order.at(-1), close.id, 'the close is answered last');
  assert.deepEqual(c.chunks(sessionId), ['a']);
});

test('42 after close: no prompt, still listed, still loadable', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo kept');
  assert.deepEqual(await c.call('session/close', { sessionId }), {});
  isError(await c.fails('session/prompt', c.promptParams(sessionId, 'echo no')), -32002, 'SESSION_NOT_ACTIVE', { sessionId });
  assert.ok((await listed(c)).includes(sessionId));
  assert.deepEqual(await c.call('session/close', { sessionId }), {}, 'a second close does no harm');
  const other = await rig.client();
  await other.load(sessionId);
  assert.deepEqual(other.chunks(sessionId), ['kept']);
  assert.equal((await say(other, sessionId, 'RECALL')).text, '["echo kept"]');
});

test('42 close stops the harness', async () => {
  const { c, sessionId } = await rig.session();
  const pid = Number((await say(c, sessionId, 'self')).text.slice(5));

  assert.ok(rig.d.ours().some((p) => p.pid === pid));
  await c.call('session/close', { sessionId });
  assert.ok(!rig.d.ours().some((p) => p.pid === pid), 'it is gone when the close is answered');
});

test('44 delete: gone from the list, load is -32002, a second delete succeeds', async () => {
  const { c, sessionId } = await rig.session();

  await c.prompt(sessionId, 'echo secret words');
  await c.call('session/close', { sessionId });
  assert.deepEqual(await c.call('session/delete', { sessionId }), {});
  assert.ok(!(await listed(c)).includes(sessionId));
  for (const method of ['session/load', 'session/resume']) {
    const error = await c.fails(method, { sessionId, cwd: rig.d.workDir, mcpServers: [] });

    isError(error, -32002, 'SESSION_NOT_FOUND', { sessionId });
  }
  assert.deepEqual(await c.call('session/delete', { sessionId }), {});
  // what it leaves is put away at once, and removed beside the loop
  await until(() => !namesBelow(rig.d.stateDir).some((name) => name.includes(sessionId)), 'nothing of it stays in the state directory');
});

test('44 delete of a session with a running turn cancels it first', async () => {
  const { c, sessionId } = await rig.session();
  const turn = c.startPrompt(sessionId, 'echo a\nsleep 60000');

  await c.waitUpdate('agent_message_chunk');
  const del = c.request('session/delete', { sessionId });
  assert.deepEqual((await del.answer).result, {});
  assert.equal((await turn.answer).result.stopReason, 'cancelled');
  assert.ok(at(c, (m) => m.id === turn.id && m.result) < at(c, (m) => m.id === del.id && m.result));
  isError(await c.fails('session/prompt', c.promptParams(sessionId, 'x')), -32002, 'SESSION_NOT_FOUND', { sessionId });
});
