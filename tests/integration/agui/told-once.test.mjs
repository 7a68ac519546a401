// SPDX-License-Identifier: Apache-2.0
// An agent of the manifest that calls a tool of the front end by MCP and makes a tool call of its own of it, which names no server: the client is
// told one call, whichever of the two comes first. The stub makes the tool call, and a client in its place the call by MCP.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, input, run, said } from '../../lib/agui.mjs';
import { openClient } from '../../lib/mcp-relay.mjs';
import { until } from '../../lib/wait.mjs';

const tools = [{ name: 'confirm', description: 'Asks', parameters: { type: 'object', properties: { what: { type: 'string' }, list: { type: 'array' } } } },
  { name: 'toast', description: 'Shows', parameters: { type: 'object', properties: {} } }];
const ARGS = { what: 'this', list: [1, { b: null, a: 'ä' }] };

let d, n = 0;

before(async () => {
  d = await Daemon.start();
});
after(() => d.stop());

const update = (value) => `update ${JSON.stringify(value)}`;
const open = (toolCallId, more) => update({ sessionUpdate: 'tool_call', toolCallId, title: 'confirm', kind: 'other', status: 'pending', rawInput: ARGS, ...more });
const going = (toolCallId, more) => update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress', ...more });
const done = (toolCallId, status = 'completed') => update({ sessionUpdate: 'tool_call_update', toolCallId, status, content: [{ type: 'content', content: { type: 'text', text: `of ${toolCallId}` } }] });

// A thread in whose turn these steps run, between marks ("notice", which ends nothing), and a client of its front end's server. gate: a step that
// waits for the test, and what opens it.
async function begin(t, steps, { old = false } = {}) {
  const a = agent(d, { old }), all = [], gates = [];
  const gate = (i) => gates[i] ??= path.join(d.dir, `gate-${++n}`);
  const say = (...args) => a.say(...args).finally(() => all.push(...a.seen));

  await a.say('getparams', { tools });
  const [given] = JSON.parse(said(a.seen)).mcpServers;
  let client;
  const running = say(`notice; ${steps((i) => `hold ${gate(i)}`)}; echo over`, { tools });

  return {
    a, all, running, gate: (i) => fs.writeFileSync(gate(i), ''),
    marks: (k) => until(() => a.seen.filter((e) => e.type === 'RAW').length >= k),
    async call(name = 'confirm', args = ARGS) {
      const c = await (client ??= openClient(t, given)); // it needs a run that serves it

      return c.request('tools/call', { name, arguments: args }, { timeout: 60000 }).then(({ msg }) => msg.result);
    },
    // Every call that waits gets its result, in one run; the turn goes on.
    async give(error) {
      for (const toolCallId of pending(a))
        a.addMessage({ id: `result-${++n}`, role: 'tool', toolCallId, content: 'yes', ...(error && { error }) });
      await say(undefined, { tools });
    },
    // The same, until the turn is over.
    async answer(error) {
      while (pending(a).length)
        await this.give(error);
    },
  };
}

// Calls to its tools that the client has no result of.
const pending = (a) => {
  const over = new Set(a.messages.filter((m) => m.role === 'tool').map((m) => m.toolCallId));

  return a.messages.flatMap((m) => m.toolCalls ?? []).filter((c) => tools.some(({ name }) => name === c.function.name) && !over.has(c.id)).map((c) => c.id);
};
const started = (all) => all.filter((e) => e.type === 'TOOL_CALL_START').map((e) => e.toolCallName);
const results = (all) => all.filter((e) => e.type === 'TOOL_CALL_RESULT').map((e) => e.content);
const snapshot = async (a) => (await run(d, input(a.threadId, []))).find((e) => e.type === 'MESSAGES_SNAPSHOT').messages;

// How agents of the manifest say it: [what, members of their call].
const FORMS = [
  ['the tool as its title', {}],
  ['the tool as its name', { title: 'Ask the person', name: 'confirm' }],
  ['a sentence, and the arguments', { title: 'Ask the person: this?' }],
  ['the tool, and no arguments yet', { rawInput: {} }],
  ['no kind, arguments in another order', { kind: undefined, rawInput: { list: [1, { a: 'ä', b: null }], what: 'this' } }],
];

for (const old of [false, true])
  describe(old ? '0.0.59' : '1.0', () => {
    for (const [what, more] of FORMS) {
      test(`${what}: before the call by MCP`, async (t) => {
        const r = await begin(t, (gate) => `${open('o1', more)}; ${going('o1')}; notice; ${gate(0)}; ${done('o1')}`, { old });

        await r.marks(2);
        const answer = r.call();
        await r.running;
        r.gate(0);
        await r.answer();
        assert.equal((await answer).content[0].text, 'yes');
        assert.deepEqual([started(r.all), results(r.all)], [['confirm'], []]);
        assert.match(said(r.all), /over/);
      });

      test(`${what}: after it`, async (t) => {
        const r = await begin(t, (gate) => `${gate(0)}; ${open('o1', more)}; ${gate(1)}; ${done('o1')}`, { old });

        await r.marks(1);
        const answer = r.call();
        await r.running;
        r.gate(0);
        r.gate(1);
        await r.answer();
        assert.equal((await answer).content[0].text, 'yes');
        assert.deepEqual([started(r.all), results(r.all)], [['confirm'], []]);
      });
    }
  });

test('told when it is over: not again', async (t) => {
  const r = await begin(t, (gate) => `${gate(0)}; ${open('o1', { status: 'completed' })}`);

  await r.marks(1);
  const answer = r.call();
  await r.running;
  r.a.addMessage({ id: `result-${++n}`, role: 'tool', toolCallId: pending(r.a)[0], content: 'yes' });
  const rest = r.a.say(undefined, { tools });
  await answer;
  r.gate(0);
  await rest;
  assert.deepEqual([started(r.a.seen), results(r.a.seen), end(r.a.seen).type], [[], [], 'RUN_FINISHED']);
});

test('two equal calls at once are two, and each is told once', async (t) => {
  for (const order of ['both first', 'between', 'both later']) {
    const steps = { 'both first': (gate) => `${open('o1')}; ${open('o2')}; notice; ${gate(0)}`, between: (gate) => `${open('o1')}; notice; ${gate(0)}; ${open('o2')}`,
      'both later': (gate) => `notice; ${gate(0)}; ${open('o1')}; ${open('o2')}` }[order];
    const r = await begin(t, (gate) => `${steps(gate)}; ${gate(1)}; ${done('o2')}; ${done('o1')}`);

    await r.marks(2);
    const answers = [r.call(), r.call()];
    await r.running;
    while (started(r.all).length < 2)
      await r.give(); // the first of them ended the run before the other one came
    r.gate(0);
    r.gate(1);
    await r.answer();
    await Promise.all(answers);
    assert.deepEqual([started(r.all), results(r.all)], [['confirm', 'confirm'], []], order);
    const told = new Set(r.all.filter((e) => e.type === 'TOOL_CALL_START').map((e) => e.toolCallId));
    const calls = (await snapshot(r.a)).flatMap((m) => m.toolCalls ?? []);
    assert.deepEqual(new Set(calls.map((c) => c.id)), told, `${order}: a snapshot has the calls as they were told`);
    assert.deepEqual(calls.map((c) => [c.function.name, JSON.parse(c.function.arguments)]), [['confirm', ARGS], ['confirm', ARGS]]);
  }
});

test('two calls with other arguments are not mistaken for each other', async (t) => {
  const r = await begin(t, (gate) => `${open('o1', { rawInput: { what: 'a' } })}; ${open('o2', { rawInput: { what: 'b' } })}; notice; ${gate(0)}; ${done('o2')}; ${done('o1')}`);

  await r.marks(2);
  const answer = r.call('confirm', { what: 'b' });
  await r.running;
  r.gate(0);
  await r.answer();
  await answer;
  assert.deepEqual([started(r.all), results(r.all)], [['confirm', 'other'], ['of o1']]);
});

// [what, members, whether it is told at once]
const OTHERS = [
  ['another name, equal arguments', { title: 'lookup' }, true],
  ['a name of its own, equal arguments', { title: 'Look up', name: 'lookup' }, true],
  ['another kind', { kind: 'execute' }, true],
  ['a sentence without arguments', { title: 'Think hard', rawInput: undefined }, true],
  ['a sentence with arguments that no tool has', { title: 'Look it up', rawInput: { query: 'x', what: 'this' } }, true],
  ['the same name, other arguments', { rawInput: { what: 'that' } }, false],
  ['a sentence, other arguments', { title: 'Look it up', rawInput: { what: 'that' } }, false],
];

for (const [what, more, atOnce] of OTHERS)
  test(`a call that is none of the front end is told: ${what}`, async (t) => {
    const r = await begin(t, (gate) => `${open('o1', more)}; notice; ${gate(0)}; ${done('o1')}`);

    await r.marks(2);
    assert.equal(started(r.a.seen).length, atOnce ? 1 : 0);
    const answer = r.call();
    await r.running;
    r.gate(0);
    await r.answer();
    await answer;
    const own = more.name ?? more.kind ?? 'other';
    assert.deepEqual([started(r.all).sort(), results(r.all)], [['confirm', own].sort(), ['of o1']]);
    const starts = r.all.filter((e) => e.type === 'TOOL_CALL_START' && e.toolCallName === own);
    assert.equal(starts[0].toolCallId, 'o1');
    assert.deepEqual((await snapshot(r.a)).flatMap((m) => m.toolCalls ?? []).map((c) => c.id).includes('o1'), true);
  });

test('a call that might be one, and is none, is told at the next word of the agent, at its end, with a question, and at the end of the turn', async (t) => {
  for (const [what, rest] of [['the next word', 'echo word'], ['a thought', 'think word'], ['its end', `${done('o1')}; echo x`], ['its failure', `${done('o1', 'failed')}; echo x`], ['the turn', 'notice']]) {
    const r = await begin(t, () => `${open('o1')}; notice; ${rest}`);

    await r.running;
    const at = (type) => r.all.findIndex((e) => e.type === type);
    assert.deepEqual([started(r.all), r.all.filter((e) => e.type === 'TOOL_CALL_ARGS').map((e) => JSON.parse(e.delta))], [['other'], [ARGS]], what);
    assert.ok(at('TOOL_CALL_START') < at('TEXT_MESSAGE_START'), what);
    assert.equal(end(r.all).type, 'RUN_FINISHED');
  }
  const r = await begin(t, () => `${open('o1')}; perm p1`);
  await r.running;
  assert.equal(end(r.all).outcome.type, 'interrupt');
  assert.ok(started(r.all).includes('other'));
});

test('more calls than are held back are told, and one of more than 64 KiB', async (t) => {
  const ids = Array.from({ length: 100 }, (_, i) => `o${i}`);
  const r = await begin(t, () => `${ids.map((id) => open(id)).join('; ')}; ${open('large', { rawInput: { what: 'x'.repeat(70000) } })}; notice; ${going('o0', { rawInput: { what: 'y'.repeat(70000) } })}; notice; echo x`);

  await r.running;
  const at = (i) => r.all.flatMap((e, k) => (e.type === 'RAW' ? [k] : []))[i];
  const before = (k) => r.all.slice(0, k).filter((e) => e.type === 'TOOL_CALL_START').map((e) => e.toolCallId);
  assert.deepEqual(before(at(1)), [...ids.slice(64), 'large']);
  assert.deepEqual(before(at(2)), [...ids.slice(64), 'large', 'o0']);
  assert.deepEqual(before(Infinity).sort(), [...ids, 'large'].sort());
});

test('a call that the front end fails, and one that fails before it comes there', async (t) => {
  const r = await begin(t, (gate) => `${open('o1')}; notice; ${gate(0)}; ${done('o1', 'failed')}; ${open('o2')}; ${done('o2', 'failed')}`);

  await r.marks(2);
  const answer = r.call();
  await r.running;
  r.gate(0);
  await r.answer('no screen');
  assert.equal((await answer).isError, true);
  assert.deepEqual([started(r.all), results(r.all)], [['confirm', 'other'], ['of o2']]);
});

test('what a call of an earlier turn was is forgotten with the turn', async (t) => {
  const r = await begin(t, (gate) => gate(0));

  await r.marks(1);
  const answer = r.call();
  await r.running;
  r.gate(0);
  await r.answer();
  await answer;
  await r.a.say(`${open('o1')}; ${done('o1')}; echo over`, { tools });
  assert.deepEqual([started(r.a.seen), results(r.a.seen)], [['other'], ['of o1']]);
});

test('a call of the agent that a call of the front end comes in between has its result in the later run', async (t) => {
  const r = await begin(t, (gate) => `${open('o1', { kind: 'execute', title: 'ls' })}; notice; ${gate(0)}; ${going('o1', { title: 'ls -l' })}; ${done('o1')}`);

  await r.marks(2);
  const answer = r.call('toast', {});
  await r.running;
  r.gate(0);
  await r.answer();
  await answer;
  assert.deepEqual([started(r.all), results(r.all)], [['execute', 'toast'], ['of o1']]);
});

test('a snapshot after a restart of the daemon has the call as it was told', async (t) => {
  const r = await begin(t, (gate) => `${open('o1', { title: 'Ask the person: this?' })}; notice; ${gate(0)}; ${done('o1')}`);

  await r.marks(2);
  const answer = r.call();
  await r.running;
  const [id] = pending(r.a);
  r.gate(0);
  await r.answer();
  await answer;
  await d.restart();
  const all = await snapshot(r.a);
  assert.deepEqual(all.flatMap((m) => m.toolCalls ?? []).map((c) => [c.id, c.function.name]), [[id, 'confirm']]);
  assert.deepEqual(all.filter((m) => m.role === 'tool').map((m) => [m.toolCallId, m.content]), [[id, 'of o1']]);
});
