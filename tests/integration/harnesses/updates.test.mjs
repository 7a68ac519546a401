// SPDX-License-Identifier: Apache-2.0
// What a harness sends that ACP's schema does not allow: mended or left out, so that no client loses more than that one value; and ids that a provider
// uses again: unique in the session. Every message is held against the closed schema by the client (lib/schema.mjs).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { connectSdk } from '../../lib/sdk.mjs';

let d, c;
before(async () => {
  d = await Daemon.start({ stub: { args: ['--resume'], capabilities: { loadSession: true, sessionCapabilities: { resume: {} } } } });
  c = await d.client();
});
after(() => endInOrder(d));

const step = (update) => `update ${JSON.stringify(update).replaceAll(';', '\\;')}`;
const text = (more) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'x' }, ...more });
const call = (more) => ({ sessionUpdate: 'tool_call', toolCallId: 't1', title: 'T', ...more });
const late = (more) => ({ sessionUpdate: 'tool_call_update', toolCallId: 't1', ...more });

// [what, sent, what clients get; undefined: nothing]
const ROWS = [
  ['a status that there is not', call({ status: 'running' }), call()],
  ['a kind that there is not', call({ kind: 'bash', status: 'pending' }), call({ status: 'pending' })],
  ['line 0', call({ locations: [{ path: '/a', line: 0 }] }), call({ locations: [{ path: '/a' }] })],
  ['a line that is no number', late({ locations: [{ path: '/a', line: '3' }, { path: 7 }, 'x'] }), late({ locations: [{ path: '/a' }] })],
  ['members beside the schema', text({ extra: 1, messageId: 'mm' }), text({ messageId: 'mm' })],
  ['members beside the schema, deep', { ...text(), content: { type: 'text', text: 'x', cache: {} } }, text()],
  ['a message id of another type', text({ messageId: 7 }), text()],
  ['content of an unknown type', { ...text(), content: { type: 'video', data: '' } }, undefined],
  ['content without its text', { ...text(), content: { type: 'text' } }, undefined],
  ['content with a size that is none', { ...text(), content: { type: 'resource_link', name: 'n', uri: 'u:', size: 'big' } },
    { ...text(), content: { type: 'resource_link', name: 'n', uri: 'u:' } }],
  ['no title', { sessionUpdate: 'tool_call', toolCallId: 't1', title: 7 }, call({ title: '' })],
  ['an empty id', call({ toolCallId: '' }), undefined],
  ['null where there is no null', call({ kind: null, content: null }), call()],
  ['content that is no array', late({ content: {} , status: 'in_progress' }), late({ status: 'in_progress' })],
  ['one bad part among good ones', late({ content: [{ type: 'content', content: { type: 'text', text: 'x' } }, { type: 'smoke' }, { type: 'diff', path: '/a' }] }),
    late({ content: [{ type: 'content', content: { type: 'text', text: 'x' } }] })],
  ['a plan with a status of its own', { sessionUpdate: 'plan', entries: [{ content: 'a', priority: 'urgent', status: 'cancelled' }, { content: 7 }] },
    { sessionUpdate: 'plan', entries: [{ content: 'a', priority: 'medium', status: 'pending' }] }],
  ['numbers that are none', { sessionUpdate: 'usage_update', used: 10.0, size: '1' }, undefined],
  ['a cost that is none', { sessionUpdate: 'usage_update', used: 10, size: 20, cost: { amount: '1' } }, { sessionUpdate: 'usage_update', used: 10, size: 20 }],
  ['commands without a word on them', { sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'a', input: { hint: 1 } }, {}] },
    { sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'a', description: '' }] }],
  ['a time that is none', { sessionUpdate: 'session_info_update', title: 'T', updatedAt: 'yesterday' }, { sessionUpdate: 'session_info_update', title: 'T' }],
  ['an option that is none', { sessionUpdate: 'config_option_update', configOptions: [{ id: 'a', name: 'A', type: 'slider', currentValue: 1 }] },
    { sessionUpdate: 'config_option_update', configOptions: [] }],
  ['a mode of another type', { sessionUpdate: 'current_mode_update', currentModeId: 7 }, undefined],
];

describe('updates that ACP does not have', () => {
  for (const [what, sent, want] of ROWS)
    test(what, async () => {
      const { sessionId } = await c.newSession();
      const [mended, refused, from] = [await d.metric('acpd_updates_mended_total'), await d.metric('acpd_updates_refused_total'), c.updates.length];
      await c.prompt(sessionId, `${step(sent)}; echo end`);
      const got = c.updates.slice(from).filter((u) => u.sessionId === sessionId && u.turn).map((u) => u.update);
      const end = got.findIndex((u) => u.content?.text === 'end');

      // an update of a call that was not announced is preceded by our announcement
      assert.deepEqual(got.slice(want && sent.sessionUpdate === 'tool_call_update' ? 1 : 0, end), want ? [want] : []);
      assert.deepEqual([await d.metric('acpd_updates_mended_total') - mended, await d.metric('acpd_updates_refused_total') - refused], want ? [1, 0] : [0, 1]);
      await c.call('session/delete', { sessionId });
    });

  test('a member twice: the first holds, for all alike', async () => {
    const { sessionId } = await c.newSession();
    await c.prompt(sessionId, 'update {"sessionUpdate":"tool_call","toolCallId":"t1","title":"one","title":"two"}');
    assert.equal(c.updatesOf(sessionId, 'tool_call')[0].update.title, 'one');
    await c.call('session/delete', { sessionId });
  });

  test('a permission request with parts that do not fit is asked without them; without any answer left it is cancelled', async () => {
    const { sessionId } = await c.newSession();
    const asked = [];
    c.onPermission((params) => { asked.push(params); return 'yes'; });
    const ask = (params) => `ask session/request_permission ${JSON.stringify(params)}`;
    const option = (kind, optionId = 'yes') => ({ optionId, name: 'Yes', kind });
    const from = c.updates.length;
    await c.prompt(sessionId, `${ask({ toolCall: { toolCallId: 'p1', status: 'weird', locations: [{ path: '/a', line: 0 }] }, options: [option('allow_once'), option('maybe', 'no')], more: 1 })}\n${
      ask({ toolCall: { toolCallId: 'p2' }, options: [option('maybe')] })}`);

    assert.deepEqual(asked.map((p) => [p.toolCall, p.options]), [[{ toolCallId: 'p1', locations: [{ path: '/a' }] }, [option('allow_once')]]]);
    assert.deepEqual(c.chunks(sessionId, from).map((t) => /"outcome":"(\w+)"\}?/.exec(t)[1]), ['selected', 'cancelled']);
    await c.call('session/delete', { sessionId });
  });

  test('the official SDK is told all of them', async () => {
    const updates = [];
    const sdk = await connectSdk(d, { onUpdate: ({ update, turn }) => turn && updates.push(update) });
    await sdk.initialize();
    const { sessionId } = await sdk.newSession();
    await sdk.agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: [...ROWS.map(([, sent]) => step(sent)), 'echo end'].join('; ') }] });

    const kinds = (list) => list.map((u) => u.sessionUpdate).filter((k) => !['tool_call', 'tool_call_update'].includes(k));
    assert.deepEqual(kinds(updates).filter((k) => k !== 'current_mode_update'),
      kinds([...ROWS.map(([, , want]) => want).filter(Boolean), text()]));
    await sdk.close();
  });
});

describe('ids that are used again', () => {
  const callIds = (sessionId, from = 0) => c.updates.slice(from).filter((u) => u.sessionId === sessionId && u.update.toolCallId).map((u) => u.update.toolCallId);
  const messageIds = (sessionId, from = 0) => c.updates.slice(from).filter((u) => u.sessionId === sessionId && u.update.messageId).map((u) => u.update.messageId);
  const use = [step(call({ status: 'pending' })), step(late({ status: 'completed' })), step(text({ messageId: 'm1' })), step(text({ messageId: 'm1' }))].join('; ');

  test('in a later turn: another call, another message', async () => {
    const { sessionId } = await c.newSession();
    const turns = [];
    for (let i = 0; i < 3; i++) {
      const from = c.updates.length;
      await c.prompt(sessionId, use);
      turns.push([...callIds(sessionId, from), ...messageIds(sessionId, from)]);
    }

    assert.deepEqual(turns, [['t1', 't1', 'm1', 'm1'], ['t1~2', 't1~2', 'm1~2', 'm1~2'], ['t1~3', 't1~3', 'm1~3', 'm1~3']]);
    await c.call('session/delete', { sessionId });
  });

  test('in one turn, after the call was over: another call; the order of a call told twice does not matter', async () => {
    const { sessionId } = await c.newSession();
    await c.prompt(sessionId, [call({ status: 'pending' }), call({ status: 'in_progress' }), late({ status: 'completed' }), call({ status: 'completed' }),
      call({ status: 'pending' }), late({ status: 'failed' }), call({ status: 'pending' })].map(step).join('; '));

    assert.deepEqual(callIds(sessionId), ['t1', 't1', 't1', 't1', 't1~1', 't1~1', 't1~1.2', 't1~1.2']);
    assert.equal(c.updates.at(-1).update.status, 'failed', 'what was open is closed under its own name');
    await c.call('session/delete', { sessionId });
  });

  test('what looks like a name of ours is not taken for one', async () => {
    const { sessionId } = await c.newSession();
    for (const id of ['t1', 't1~2', 't1', 't1~3'])
      await c.prompt(sessionId, step(call({ toolCallId: id, status: 'completed' })));

    const ids = callIds(sessionId);
    assert.equal(new Set(ids).size, 4, ids.join(' '));
    await c.call('session/delete', { sessionId });
  });

  test('a permission request names the call as clients know it, and the harness as it does', async () => {
    const { sessionId } = await c.newSession();
    const asked = [];
    c.onPermission((params) => { asked.push(params.toolCall.toolCallId); return 'allow'; });
    await c.prompt(sessionId, 'perm p');
    const from = c.updates.length;
    await c.prompt(sessionId, 'perm p');

    assert.deepEqual(asked, ['p', 'p~2']);
    assert.deepEqual(c.chunks(sessionId, from), ['permission:allow']);
    assert.deepEqual([...new Set(callIds(sessionId, from))], ['p~2']);
    const notes = c.notifications.filter((m) => m.params.event?.kind === 'ask_approval' && m.params.sessionId === sessionId && m.params.event.toolCallId);
    assert.deepEqual(notes.map((m) => m.params.event.toolCallId), ['p', 'p~2']);
    await c.call('session/delete', { sessionId });
  });

  test('replays, restarts of the daemon and forks go on from there', async () => {
    const { sessionId } = await c.newSession();
    await c.prompt(sessionId, use);
    await c.prompt(sessionId, use);
    const seen = c.updates.filter((u) => u.sessionId === sessionId).map((u) => u.update);
    const other = await d.client();
    await other.load(sessionId);
    assert.deepEqual(other.updates.map((u) => u.update).filter((u) => u.sessionUpdate !== 'user_message_chunk'), seen.filter((u) => u.sessionUpdate !== 'user_message_chunk'));
    await other.close();
    await d.kill9();
    await d.restart();
    c = await d.client();
    await c.load(sessionId);
    const fork = await c.call('session/fork', { sessionId, cwd: d.workDir, mcpServers: [] });
    for (const id of [sessionId, fork.sessionId]) {
      const from = c.updates.length;
      await c.prompt(id, use);

      assert.deepEqual([...callIds(id, from), ...messageIds(id, from)], ['t1~3', 't1~3', 'm1~3', 'm1~3']);
    }
  });
});
