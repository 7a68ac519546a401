// SPDX-License-Identifier: Apache-2.0
// Long lines of harnesses are read by a thread. The daemon answers others meanwhile, and what the line was part of stays what it is:
// the order of lines, cancelling, the end of the harness and of its session.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, SANITIZED, endInOrder } from '../../lib/daemon.mjs';
import * as procs from '../../lib/procs.mjs';

const MIB = 1 << 20;
const SIZE = (SANITIZED ? 2 : 16) * MIB;
const LIST = 9 * MIB;
const KINDS = ['message', 'half', 'tool', 'output', 'items', 'commands', 'plan'];

let d, c;
before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const lines = () => d.metric('acpd_long_lines_total');
const inWork = () => d.metric('acpd_long_lines_in_work');

// Until a line of a child is in work, as another connection sees it; false: what was started has ended before.
async function seenInWork(started) {
  let over = false;

  started.then(() => { over = true; }, () => { over = true; });
  while (!over)
    if (await inWork())
      return true;
  return false;
}

const repeated = (step, n) => Array(n).fill(step).join('; ');
// The text of escapes that the stub sends.
const repeats = (text) => text.length > SIZE / 3 && text === '\n\t'.repeat(text.length / 2);
const notes = (client, sessionId, event) => client.notifications
  .filter((n) => n.method === '_acpd/event' && n.params.sessionId === sessionId && n.params.event.event === event)
  .map((n) => n.params.event);

describe('another connection is answered while a line is in work', () => {
  for (const kind of KINDS)
    test(kind, async () => {
      const { sessionId } = await c.newSession();
      const before = await lines();
      let seen = false, turns = 0;

      for (; !seen && turns < 10; turns++) {
        const turn = c.prompt(sessionId, `${repeated(`longline ${kind} ${SIZE}`, 4)}; echo end`);

        seen = await seenInWork(turn);
        await turn;
      }
      assert.ok(seen, 'no request was answered while a line was in work');
      assert.equal(await lines() - before, 4 * turns);
      assert.equal(await inWork(), 0);
      await c.call('session/delete', { sessionId });
    });

  test('a short line is no such line', async () => {
    const { sessionId } = await c.newSession();
    const before = await lines();

    await c.prompt(sessionId, `longline message ${200 << 10}`);
    assert.equal(await lines(), before);
    await c.call('session/delete', { sessionId });
  });
});

test('the order of lines stays, and each is whole', async () => {
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, `echo a; longline message ${SIZE}; echo b; longline output ${SIZE}; echo c; longline items ${SIZE}; echo d`);
  const got = c.updates.filter((u) => u.sessionId === sessionId && u.turn).map((u) => u.update);

  assert.deepEqual(got.map((u) => u.sessionUpdate === 'agent_message_chunk' && u.content.text.length === 1 ? u.content.text : u.sessionUpdate),
    ['a', 'agent_message_chunk', 'b', 'tool_call', 'tool_call_update', 'c', 'tool_call_update', 'd', 'tool_call_update']);
  assert.ok(repeats(got[1].content.text));
  assert.ok(JSON.stringify(got[1]).length > SIZE - 64);
  assert.ok(repeats(got[4].rawOutput));
  assert.ok(got[6].rawOutput.length > SIZE / 32 && got[6].rawOutput.at(-1).line === 1);
  await c.call('session/delete', { sessionId });
});

test('half of a surrogate pair in a long line is repaired and reported', async () => {
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, `longline half ${SIZE}; echo end`);
  const { text } = c.updatesOf(sessionId, 'agent_message_chunk')[0].update.content;

  assert.ok(text[0] === '\ufffd' && repeats(text.slice(1)));
  assert.deepEqual(notes(c, sessionId, 'text_repaired').map((e) => e.harness), [1]);
  await c.call('session/delete', { sessionId });
});

test('two harnesses with long lines at once', async () => {
  const two = [await c.newSession(), await c.newSession()].map((s) => s.sessionId);

  await Promise.all(two.map((id) => c.prompt(id, `${repeated(`longline message ${SIZE}`, 3)}; echo end`)));
  for (const sessionId of two) {
    const got = c.updatesOf(sessionId, 'agent_message_chunk').map((u) => u.update.content.text.length);

    assert.equal(got.length, 4);
    assert.ok(got.slice(0, 3).every((n) => n > SIZE / 3), `lengths ${got}`);
    await c.call('session/delete', { sessionId });
  }
});

test('cancelled while a line is in work', async () => {
  const { sessionId } = await c.newSession();
  const turn = c.prompt(sessionId, `${repeated(`longline message ${SIZE}`, 4)}; sleep 60000`);

  await seenInWork(turn);
  c.cancel(sessionId);
  assert.equal((await turn).stopReason, 'cancelled');
  assert.equal((await c.prompt(sessionId, 'echo next')).stopReason, 'end_turn');
  await c.call('session/delete', { sessionId });
});

test('the harness is killed while a line is in work', async () => {
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'self');
  const pid = Number(/^self:(\d+)$/.exec(c.updatesOf(sessionId, 'agent_message_chunk').at(-1).update.content.text)[1]);
  const turn = c.fails('session/prompt', c.promptParams(sessionId, `${repeated(`longline message ${SIZE}`, 4)}; sleep 60000`), { timeout: 30000 });

  await seenInWork(turn);
  procs.signal(pid, 'SIGKILL');
  assert.equal((await turn).data.turn.class, 'harness_exit');
  assert.equal((await c.prompt(sessionId, 'echo next')).stopReason, 'end_turn');
  await c.call('session/delete', { sessionId });
});

test('the session is deleted while a line is in work', async () => {
  const { sessionId } = await c.newSession();
  const turn = c.prompt(sessionId, `${repeated(`longline message ${SIZE}`, 4)}; sleep 60000`).catch((e) => e);

  await seenInWork(turn);
  await c.call('session/delete', { sessionId });
  await turn;
  assert.equal(await inWork(), 0);
});

test('long lists are refused, reported, and not replayed', async () => {
  const { sessionId } = await c.newSession();
  const before = await d.metric('acpd_updates_refused_total');

  await c.prompt(sessionId, `${repeated(`longline commands ${LIST}; longline plan ${LIST}`, 10)}; longline plan ${2 * MIB - 1024}; echo end`);
  assert.equal(await d.metric('acpd_updates_refused_total') - before, 20);

  const told = notes(c, sessionId, 'update_refused');

  assert.deepEqual(told.map((e) => e.update), Array(10).fill(['available_commands_update', 'plan']).flat());
  assert.ok(told.every((e) => e.bytes > LIST - 256 && e.limitBytes === 2 * MIB));
  assert.equal(c.updatesOf(sessionId, 'available_commands_update').filter((u) => u.turn).length, 0);

  const other = await d.client();

  await other.load(sessionId);
  assert.equal(other.updatesOf(sessionId, 'plan').length, 1);
  assert.equal(notes(other, sessionId, 'update_refused').length, 20);
  await other.close();
  await c.call('session/delete', { sessionId });
});
