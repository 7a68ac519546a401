// SPDX-License-Identifier: Apache-2.0
// AG-UI: what becomes of each update that a harness may send. A row is a step of the stub and the events that a client gets, of 1.0 and of
// 0.0.59; every event is held against @ag-ui/core, and the official clients read the same runs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, input, run, said, types, user } from '../../lib/agui.mjs';

let d, n = 0;
const thread = () => `thread-${++n}`;

before(async () => {
  d = await Daemon.start();
});
after(() => d.stop());

const update = (sessionUpdate, more) => `update ${JSON.stringify({ sessionUpdate, ...more })}`;
const raw = (e) => ['RAW', e.event.sessionUpdate];
const subagent = (more) => update('subagent_update', { sessionId: 'child', ...more });
const FRAME = ['RUN_STARTED', 'STATE_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED', 'STATE_DELTA'];
const body = (all) => all.filter((e) => !FRAME.includes(e.type) && !e.type.startsWith('TEXT_MESSAGE') && !(e.type === 'CUSTOM' && e.value.kind !== 'lifecycle'));

// [what, steps, what a client of 1.0 gets, what one of 0.0.x gets if that is something else]
const ROWS = [
  ['a notice', 'notice', [['RAW', 'notice']]],
  ['a compaction', 'compaction', [['STEP_STARTED', 'compaction'], ['RAW', 'compaction_summary_chunk'], ['STEP_FINISHED', 'compaction']]],
  ['a compaction that does not end in the turn', update('compaction_update', { compactionId: 'c', status: 'in_progress' }),
    [['STEP_STARTED', 'compaction'], ['STEP_FINISHED', 'compaction']]],
  ['the end of a compaction that has no begin', update('compaction_update', { compactionId: 'c', status: 'completed' }), [['RAW', 'compaction_update']]],
  ['a plan with an id', 'planupdate', [['ACTIVITY_SNAPSHOT', 'PLAN', 'acpd-plan-p1', undefined], ['ACTIVITY_SNAPSHOT', 'PLAN', 'acpd-plan-p1', true]]],
  ['a subagent that does not end in the turn', subagent({ title: 'Reader', description: 'Reads' }),
    [['SUBAGENT_STARTED', 'Reader'], ['SUBAGENT_FINISHED', 'suspended']], [['RAW', 'subagent_update']]],
  ['a subagent that ends', `${subagent({ state: { state: 'running' } })}; ${subagent({ title: 'T' })}; ${subagent({ state: { state: 'idle', stopReason: 'end_turn' } })}`,
    [['SUBAGENT_STARTED', 'subagent'], ['RAW', 'subagent_update'], ['SUBAGENT_FINISHED', undefined]], Array(3).fill(['RAW', 'subagent_update'])],
  ['a subagent that fails', `${subagent()}; ${subagent({ state: { state: 'idle', error: { code: -32000, message: 'no' } } })}; ${subagent()}`,
    [['SUBAGENT_STARTED', 'subagent'], ['SUBAGENT_ERROR', 'no', '-32000'], ['SUBAGENT_STARTED', 'subagent'], ['SUBAGENT_FINISHED', 'suspended']],
    Array(3).fill(['RAW', 'subagent_update'])],
  ['the end of a subagent that has no begin', subagent({ state: { state: 'idle' } }), [['RAW', 'subagent_update']]],
  ['an update of a kind that is in no ACP known here', 'unknownupdate', [['RAW', 'stub_future_update']]],
  ['an update without a kind', 'update {"data":1}', [['RAW', undefined]]],
  ['an update whose kind is no string', 'update {"sessionUpdate":{"a":[1]}}', [['RAW', { a: [1] }]]],
  ['an update that is no object', 'update ["sessionUpdate"]', []],
  ['a message between sessions', update('session_message', { messageId: 'm' }), [['RAW', 'session_message']]],
];

const brief = (e) => ({
  RAW: () => raw(e), STEP_STARTED: () => [e.type, e.stepName], STEP_FINISHED: () => [e.type, e.stepName],
  ACTIVITY_SNAPSHOT: () => [e.type, e.activityType, e.messageId, e.content.removed],
  SUBAGENT_STARTED: () => [e.type, e.name], SUBAGENT_FINISHED: () => [e.type, e.outcome?.type], SUBAGENT_ERROR: () => [e.type, e.message, e.code],
}[e.type]?.() ?? [e.type]);

for (const old of [false, true])
  describe(old ? '0.0.59' : '1.0', () => {
    for (const [what, steps, want, wantOld] of ROWS)
      test(what, async () => {
        const a = agent(d, { old });

        await a.say(`${steps}; echo over`); // a turn without output is an error
        assert.deepEqual(body(a.seen).map(brief), old && wantOld ? wantOld : want, JSON.stringify(a.seen));
        assert.equal(end(a.seen).result?.stopReason, 'end_turn', JSON.stringify(end(a.seen)));
      });
  });

test('what an event was made of is in it', async () => {
  const all = await run(d, input(thread(), [user(`notice; ${subagent({ title: 'Reader' })}; echo over`)]));

  assert.deepEqual(all.filter((e) => e.type === 'RAW').map((e) => [e.source, e.event.title]), [['acp', 'A stub notice']]);
  assert.equal(all.find((e) => e.type === 'SUBAGENT_STARTED').rawEvent.sessionId, 'child');
});

test('an unknown update arrives as the harness wrote it, the largest one too; of a larger one kind and size', async () => {
  const whole = { sessionUpdate: 'agent_state_update', n: 1, data: [{ deep: null }, 'x"y\\u00e4'] };
  const all = await run(d, input(thread(), [user(`update ${JSON.stringify(whole)}; unknownupdates 1 65000; unknownupdates 1 1000000; echo over`)]));
  const [small, large] = all.filter((e) => e.type === 'RAW').map((e) => [e.source, e.event]);

  assert.deepEqual(small, ['acp', whole]);
  assert.equal(large[1].data.length, 65000);
  const [told] = all.filter((e) => e.type === 'CUSTOM' && e.value.event === 'update_unknown').map((e) => e.value);
  assert.deepEqual({ ...told, bytes: told.bytes > 1e6 }, { kind: 'lifecycle', event: 'update_unknown', sessionUpdate: 'stub_future_update', bytes: true });
  assert.equal(end(all).type, 'RUN_FINISHED');
});

test('of 10 000 unknown updates in a turn the first 64 arrive, and the number of the others; the next turn begins from 0', async () => {
  const id = thread(), first = user('unknownupdates 10000 100; echo over'), second = user('unknownupdates 2 100; echo again');
  const raws = (all) => all.filter((e) => e.type === 'RAW').map((e) => e.event.n);
  const more = (all) => all.filter((e) => e.type === 'CUSTOM' && e.value.event === 'update_unknown').map((e) => e.value.more);
  const all = await run(d, input(id, [first])), next = await run(d, input(id, [first, second]));

  assert.deepEqual([raws(all), more(all)], [Array.from({ length: 64 }, (_, i) => i + 1), [9936]]);
  assert.deepEqual([raws(next), more(next)], [[1, 2], []]);
  assert.match(said(next), /again/);
});

test('a snapshot has the newest of each plan that is left, with the id that it had live', async () => {
  const plan = (planId, content) => update('plan_update', { plan: { type: 'markdown', planId, content } });
  const id = thread(), first = user(`${plan('a', '1')}; ${plan('b', '1')}; ${plan('a', '2')}; ${update('plan_removed', { planId: 'b' })}; echo over`);

  await run(d, input(id, [first]));
  const { messages } = (await run(d, input(id, [first, user('echo x')]))).find((e) => e.type === 'MESSAGES_SNAPSHOT');

  assert.deepEqual(messages.filter((m) => m.role === 'activity').map((m) => [m.id, m.content.planId, m.content.content]), [['acpd-plan-a', 'a', '2']]);
});

test('a run that ends by a question ends steps and subagents, and the next begins the subagent again', async () => {
  const id = thread(), first = user(`${subagent({ title: 'Reader' })}; ${update('compaction_update', { compactionId: 'c', status: 'in_progress' })}; perm c1; `
    + `${subagent({ title: 'Reader' })}; ${update('compaction_update', { compactionId: 'c', status: 'completed' })}; echo over`);
  const asked = await run(d, input(id, [first]));
  const [interrupt] = end(asked).outcome.interrupts;

  assert.deepEqual(types(asked).filter((t) => /STEP|SUBAGENT/.test(t)).sort(), ['STEP_FINISHED', 'STEP_STARTED', 'SUBAGENT_FINISHED', 'SUBAGENT_STARTED']);
  const all = await run(d, input(id, [first], { resume: [{ interruptId: interrupt.id, status: 'resolved', payload: 'allow' }] }));
  const runs = [asked, all].map((events) => events.find((e) => e.type === 'SUBAGENT_STARTED').subagentRunId);

  assert.match(said(all), /over/);
  assert.equal(runs[0], runs[1]);
});
