// SPDX-License-Identifier: Apache-2.0
// AG-UI: runs of the stub agent by the official clients, the current one and the one that CopilotKit's runtime has, and by a reader of
// the bare events. Every event is held against the schemas of @ag-ui/core.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { agent, end, events, input, post, run, said, user } from '../../lib/agui.mjs';
import { digestOf, put, tarOf } from '../../lib/archives.mjs';
import { mint } from '../../lib/tokens.mjs';
import { until } from '../../lib/wait.mjs';

const SAYS = 'think hm; echo Hello; tool c1 read a.txt; plan; plan; usage; mode code; image; echo bye';
const wait = (file) => `run until [ -e ${file} ]\\; do sleep 0.05\\; done`;
const refused = async (d, body, options) => {
  const res = await post(d, body, options);

  return [res.status, (await res.json()).error];
};

const sessionOf = (all) => all.find((e) => e.type === 'STATE_SNAPSHOT').snapshot.acpd;

let d, n = 0;
const thread = () => `thread-${++n}`;
const gate = () => path.join(d.dir, `gate-${++n}`);
const open = (file) => fs.writeFileSync(file, '');
const code = async (body, options) => end(await run(d, body, options)).code;

before(async () => {
  d = await Daemon.start({ harnesses: [{ id: 'other' },
    { id: 'full', args: ['--image', '--audio'], capabilities: { promptCapabilities: { image: true, audio: true } } }] });
});
after(() => d.stop());

for (const old of [false, true])
  describe(old ? 'HttpAgent 0.0.59' : 'HttpAgent 1.0', () => {
    test('thoughts, text, tool calls, plan, state and results come in order and end in a state that the next run has', async () => {
      const a = agent(d, { old });

      await a.say(SAYS);
      assert.deepEqual(a.messages.filter((m) => m.role !== 'activity').map((m) => [m.role, m.content ?? m.toolCalls?.[0].function]), [
        ['user', SAYS], ['reasoning', 'hm'], ['assistant', 'Hello'], ['assistant', { name: 'read', arguments: '{"command":"a.txt"}' }],
        ['tool', 'tool output'], ['assistant', 'bye'],
      ]);
      assert.equal(a.messages.find((m) => m.activityType === 'PLAN').content.entries.length, 3);
      assert.equal(a.messages.find((m) => m.activityType === 'CONTENT').content.type, 'image');
      assert.equal(a.messages.find((m) => m.activityType === 'TOOL_CALL').content.toolCallId, 'c1');
      assert.deepEqual([a.state.acpd.harness, a.state.acpd.mode, a.state.acpd.usage.used], ['stub', 'code', 120]);

      const before = a.messages.filter((m) => m.role !== 'activity');

      await a.say('echo again');
      assert.deepEqual(a.messages.filter((m) => m.role !== 'activity').slice(0, before.length), before, 'the snapshot changes nothing that the client has');
      assert.equal(a.messages.at(-1).content, 'again');
    });

    test('a refused prompt is an error that says why', async () => {
      const a = agent(d, { old });

      await a.say('error -32000 broken').catch(() => {});
      assert.equal(end(a.seen).type, 'RUN_ERROR');
      await a.say('stop refusal');
      assert.equal(end(a.seen).result.stopReason, 'refusal');
    });

    test('a question is an interrupt, and its answer lets the turn go on', async () => {
      const a = agent(d, { old });

      await a.say('perm c1; echo after');
      const [{ id, reason, toolCallId, responseSchema }] = end(a.seen).outcome.interrupts;

      assert.deepEqual([reason, toolCallId, responseSchema.properties.optionId.enum], ['tool_call', 'c1', ['allow', 'always', 'reject']]);
      await a.say(undefined, { resume: [{ interruptId: id, status: 'resolved', payload: { optionId: 'allow' } }] });
      assert.match(said(a.seen), /permission:allowafter/);
      assert.equal(end(a.seen).type, 'RUN_FINISHED');
    });
  });

describe('interrupts', () => {
  test('all of them are answered together, or none is', async () => {
    const id = thread(), first = user('perms 2');
    const { outcome: { interrupts } } = end(await run(d, input(id, [first])));
    const answer = (list, status = 'resolved') => list.map((i) => ({ interruptId: i.id, status, ...(status === 'resolved' && { payload: 'reject' }) }));

    assert.equal(interrupts.length, 2);
    assert.equal(await code(input(id, [first], { resume: answer(interrupts.slice(1)) })), 'INTERRUPT_UNANSWERED');
    assert.equal(await code(input(id, [first, user('echo x')])), 'INTERRUPT_UNANSWERED');
    assert.equal(await code(input(id, [first], { resume: [...answer(interrupts), { interruptId: 'none', status: 'cancelled' }] })), 'INTERRUPT_UNKNOWN');
    assert.equal(end(await run(d, input(id, [first]))).outcome.interrupts.length, 2, 'a run that answers nothing is told of them again');
    assert.match(said(await run(d, input(id, [first], { resume: answer(interrupts) }))), /perms:reject,reject/);
    assert.equal(await code(input(id, [first], { resume: answer(interrupts) })), 'INTERRUPT_UNKNOWN');
  });

  test('a cancelled one is cancelled; a form is answered by its content', async () => {
    const id = thread(), first = user('perm c1');
    const { outcome: { interrupts: [one] } } = end(await run(d, input(id, [first])));

    assert.match(said(await run(d, input(id, [first], { resume: [{ interruptId: one.id, status: 'cancelled' }] }))), /permission:cancelled/);

    const second = user('elicit');
    const { outcome: { interrupts: [form] } } = end(await run(d, input(id, [first, second])));

    assert.equal(form.reason, 'input_required');
    assert.equal(form.responseSchema.type, 'object');
    const name = Object.keys(form.responseSchema.properties)[0];
    assert.match(said(await run(d, input(id, [first, second], { resume: [{ interruptId: form.id, status: 'resolved', payload: { [name]: 'blue' } }] }))), /elicit:.*accept/);

    const third = user('elicit');
    const { outcome: { interrupts: [last] } } = end(await run(d, input(id, [first, second, third])));
    assert.match(said(await run(d, input(id, [first, second, third], { resume: [{ interruptId: last.id, status: 'cancelled' }] }))), /elicit:.*cancel/);
  });
});

describe('history', () => {
  test('messages are told once; what people said may not change, be left out or reordered', async () => {
    const id = thread(), one = user('echo one'), two = user('RECALL');

    await run(d, input(id, [one]));
    assert.equal(said(await run(d, input(id, [one, two]))), '["echo one"]');
    for (const messages of [[two], [one, { ...two, content: 'other' }], [two, one], [one, user('x'), two], [one], [one, user('y')]])
      assert.equal(await code(input(id, messages)), 'HISTORY_CHANGED', JSON.stringify(messages));
    assert.equal(await code(input(id, [one, { id: 'foreign', role: 'assistant', content: 'never said' }, two])), 'HISTORY_CHANGED');
    assert.equal(end(await run(d, input(id, [one, two]))).type, 'RUN_FINISHED');
  });

  test('a client that has nothing gets all of it; what it said keeps its ids', async () => {
    const id = thread(), one = user([{ type: 'text', text: 'echo one' }, { type: 'text', text: 'more' }]), two = user('echo two');

    await run(d, input(id, [one]));
    await run(d, input(id, [one, two]));
    const { messages } = (await run(d, input(id, []))).find((e) => e.type === 'MESSAGES_SNAPSHOT');

    assert.deepEqual([messages[0], messages.at(-2)], [one, two]);
    assert.equal(end(await run(d, input(id, [...messages, user('echo three')]))).type, 'RUN_FINISHED');
  });

  test('a greeting, instructions and context: the first stays, the others are told once', async () => {
    const id = thread(), hello = { id: 'hello', role: 'assistant', content: 'Hi!' }, system = { id: 's', role: 'system', content: 'echo system' };
    const context = [{ description: 'colour', value: 'red' }], first = user('RECALL'), second = user('blocks'), third = user('blocks');

    assert.match(said(await run(d, input(id, [system, hello, first], { context }))), /system/);
    const all = await run(d, input(id, [system, hello, first, second], { context }));
    assert.equal(said(all), 'blocks:text', 'neither the instructions nor the context again');
    assert.ok(all.find((e) => e.type === 'MESSAGES_SNAPSHOT').messages.some((m) => m.id === 'hello'));
    assert.equal(said(await run(d, input(id, [system, hello, first, second, third], { context: [{ description: 'colour', value: 'blue' }] }))), 'blocks:text,text');
  });
});

describe('one run at a time', () => {
  test('a busy thread is SESSION_BUSY, a run without news joins it, and a reader that went missed nothing', async () => {
    const id = thread(), file = gate(), first = user(`echo before; ${wait(file)}; echo behind`), forwardedProps = { acpd: { whenDetached: 'continue' } };
    const gone = new AbortController(), seen = [];
    const going = (async () => {
      for await (const e of events(await post(d, input(id, [first], { forwardedProps }), { signal: gone.signal })))
        seen.push(e);
    })().catch(() => {});

    await until(() => said(seen) === 'before');
    assert.equal(await code(input(id, [first, user('echo x')])), 'SESSION_BUSY');
    gone.abort();
    await going;
    await until(async () => !(await code(input(id, [first, user('echo x')])))?.length === false);
    const all = [];
    for await (const e of events(await post(d, input(id, [first])))) {
      all.push(e);
      if (e.type === 'MESSAGES_SNAPSHOT') // it has joined
        open(file);
    }

    assert.equal(all.find((e) => e.type === 'MESSAGES_SNAPSHOT').messages[1].content, 'before');
    assert.match(said(all), /behind$/);
    assert.equal(end(all).result.stopReason, 'end_turn');
  });

  test('another client that takes the session ends the run', async () => {
    const id = thread(), seen = [];
    const going = (async () => {
      for await (const e of events(await post(d, input(id, [user('echo begun; sleep 600000')]))))
        seen.push(e);
    })();

    await until(() => said(seen) === 'begun');
    const c = await d.client(), { sessionId, cwd } = sessionOf(seen);

    await c.request('session/load', { sessionId, cwd, mcpServers: [] });
    await going;
    assert.equal(end(seen).code, 'DETACHED');
    c.notify('session/cancel', { sessionId });
    await c.close();
  });

  test('a cancelled turn has an outcome of its own where the client knows it', async () => {
    for (const [protocolVersion, outcome] of [['1.0', { type: 'cancelled' }], [undefined, undefined]]) {
      const last = end(await run(d, input(thread(), [user('stop cancelled')], { protocolVersion })));

      assert.deepEqual([last.result.stopReason, last.outcome], ['cancelled', outcome]);
    }
  });

  test('a budget that ends a turn is named in the result', async () => {
    const acpd = { cwd: d.dir, budgets: { turn: { toolCalls: 1 } } };
    const { result, outcome } = end(await run(d, input(thread(), [user('tool a x; tool b x; tool c x; sleep 30000')], { forwardedProps: { acpd } })));

    assert.deepEqual([result.stopReason, outcome.type], ['max_turn_requests', 'success']);
    assert.deepEqual([result.stopDetail?.budget, result.stopDetail?.scope, result.stopDetail?.limit], ['toolCalls', 'turn', 1]);
  });
});

describe('settings', () => {
  test('they are the thread\'s: given once, repeated, and never others', async () => {
    const id = thread(), one = user('env COLOUR'), acpd = { env: { COLOUR: 'red' }, cwd: d.dir };
    const two = user('env COLOUR');

    assert.match(said(await run(d, input(id, [one], { forwardedProps: { acpd } }))), /COLOUR=red/);
    assert.match(said(await run(d, input(id, [one, two], { forwardedProps: { acpd } }))), /COLOUR=red/);
    assert.equal(await code(input(id, [one, two, user('echo x')], { forwardedProps: { acpd: { env: {} } } })), 'SETTINGS_FIXED');
    assert.equal(await code(input(id, [one, two, user('echo x')]), { harness: 'other' }), 'SETTINGS_FIXED');
  });

  test('without cwd the workspace is ephemeral, with an archive too', async () => {
    const tar = tarOf(2000), digest = digestOf(tar);

    await put(d, tar);
    for (const acpd of [{}, { workspace: {} }, { workspace: { archive: digest } }, { workspace: { archive: digest, ephemeral: true } }]) {
      const all = await run(d, input(thread(), [user('cwd')], { forwardedProps: { acpd } })), { cwd } = sessionOf(all);

      assert.equal(said(all), `cwd:${cwd}`, JSON.stringify(end(all)));
      assert.equal(path.dirname(cwd), d.wsDir);
      assert.equal(fs.existsSync(path.join(cwd, 'file-1')), Boolean(acpd.workspace?.archive));
    }
  });

  test('what cannot be is an error with its reason', async () => {
    const of = (acpd) => code(input(thread(), [user('echo x')], { forwardedProps: { acpd } }));

    assert.equal(await of({ cwd: d.dir, nothing: 1 }), 'PARAM_UNSUPPORTED');
    assert.equal(await of({ harness: 'stub' }), 'PARAM_UNSUPPORTED');
    assert.equal(await of({ cwd: 7 }), 'FIELD_INVALID');
    assert.equal(await of({ workspace: { ephemeral: false } }), 'FIELD_MISSING');
    assert.equal(await of({ workspace: 'ephemeral' }), 'FIELD_INVALID');
    assert.equal(await of({ model: 'none' }), 'MODEL_UNKNOWN');
  });
});

describe('what is no run', () => {
  test('a body that is none is refused, and the member named', async () => {
    const good = input('t', [user('echo x')]);
    const rows = [
      ['[]', ''], [{ ...good, threadId: undefined }, 'threadId'], [{ ...good, runId: 7 }, 'runId'], [{ ...good, messages: {} }, 'messages'],
      [{ ...good, messages: [{ id: 'a', role: 'king' }] }, 'messages[0].role'], [{ ...good, messages: [{ id: 'a', role: 'user', content: 1 }] }, 'messages[0].content'],
      [{ ...good, messages: [{ role: 'user' }] }, 'messages[0].id'], [{ ...good, messages: [{ id: 'a', role: 'tool', content: '' }] }, 'messages[0].toolCallId'],
      [{ ...good, tools: [{}] }, 'tools[0].name'], [{ ...good, tools: Array.from({ length: 129 }, (_, i) => ({ name: `t${i}` })) }, 'tools'],
      [{ ...good, messages: Array.from({ length: 4097 }, (_, i) => ({ id: `i${i}`, role: 'user', content: '' })) }, 'messages'],
      [{ ...good, forwardedProps: { acpd: [] } }, 'forwardedProps.acpd'],
    ];

    for (const [body, field] of rows) {
      const [status, error] = await refused(d, body);

      assert.deepEqual([status, error.field ?? ''], [400, field]);
    }
    assert.equal((await refused(d, ' '.repeat(9 << 20)))[1].reason, 'BODY_TOO_LARGE');
    assert.equal((await refused(d, good, { harness: 'none' }))[1].reason, 'HARNESS_UNKNOWN');
    assert.equal((await refused(d, good, { query: '?profile=none' }))[1].reason, 'PROFILE_UNKNOWN');
    assert.equal((await refused(d, good, { query: '?x=1' }))[1].reason, 'QUERY_UNKNOWN');
  });

  test('an attachment is told, or refused by its place', async () => {
    const data = (type, mimeType) => ({ type, source: { type: 'data', value: 'AA==', mimeType } });
    const text = { type: 'text', text: 'content' };
    const blocks = (events) => JSON.parse(said(events)).map(({ _meta, ...block }) => block);
    const rows = [
      [data('image', 'image/png'), { type: 'image', data: 'AA==', mimeType: 'image/png' }],
      [data('audio', 'audio/wav'), { type: 'audio', data: 'AA==', mimeType: 'audio/wav' }],
      [{ type: 'image', source: { type: 'url', value: 'https://example.com/a.png' } }, { type: 'resource_link', uri: 'https://example.com/a.png', name: 'https://example.com/a.png' }],
      [{ type: 'document', source: { type: 'url', value: 'https://example.com/a.pdf' } }, { type: 'resource_link', uri: 'https://example.com/a.pdf', name: 'https://example.com/a.pdf' }],
      ...[data('video', 'video/mp4'), data('document', 'application/pdf'), data('image', undefined), { type: 'image' }, { type: 'other' },
        { type: 'binary', mimeType: 'image/png', data: 'AA==' }, { type: 'binary', mimeType: 'application/pdf', url: 'https://example.com/a.pdf' }].map((part) => [part]),
    ];

    for (const [part, block] of rows) {
      const events = await run(d, input(thread(), [user([text, part])]), { harness: 'full' });

      if (block)
        assert.deepEqual(blocks(events), [text, block]);
      else
        assert.deepEqual([end(events).code, /messages\[0\]\.content\[1\]/.test(end(events).message)], ['CONTENT_UNSUPPORTED', true], JSON.stringify([part, end(events)]));
    }
    assert.equal(await code(input(thread(), [user([text, data('audio', 'audio/wav')])])), 'CAPABILITY_MISSING');
  });

  test('a token that may only look may not run; one that is limited sees its own sessions', async () => {
    const id = thread(), first = user('echo x'), all = await run(d, input(id, [first]));
    const { sessionId } = sessionOf(all), foreign = sessionOf(await run(d, input(thread(), [first])));
    const observer = await mint(d, 'observe'), own = await mint(d, 'drive', { sessions: [sessionId] }), other = await mint(d, 'drive', { sessions: [foreign.sessionId] });

    assert.equal((await refused(d, input(id, [first]), { token: observer.token }))[1].reason, 'SCOPE_REQUIRED');
    assert.equal(await code(input(id, [first]), { token: other.token }), 'SESSION_NOT_FOUND');
    assert.equal(end(await run(d, input(id, [first]), { token: own.token })).type, 'RUN_FINISHED');
    assert.equal(await code(input(thread(), [first]), { token: own.token }), 'SCOPE_REQUIRED');
  });
});

test('a thread outlives the daemon, and goes with its session', async (t) => {
  const profile = path.join(d.dir, 'red.json');

  fs.writeFileSync(profile, JSON.stringify({ env: { COLOUR: 'red' }, cwd: d.dir }));
  const own = await Daemon.startFor(t, { flags: { profile: `red=${profile}` } });
  const one = user('env COLOUR'), two = user('env COLOUR'), three = user('env COLOUR'), acpd = { env: { COLOUR: 'blue' } };

  assert.match(said(await run(own, input('a', [one], { forwardedProps: { acpd } }))), /blue/);
  assert.match(said(await run(own, input('b', [one]), { query: '?profile=red' })), /red/);
  assert.equal(end(await run(own, input('a', [one]), { query: '?profile=red' })).code, 'SETTINGS_FIXED');
  await own.restart();
  assert.equal(end(await run(own, input('a', [one, two]))).code, 'SETTINGS_REQUIRED');
  assert.match(said(await run(own, input('a', [one, two], { forwardedProps: { acpd } }))), /blue/);
  assert.match(said(await run(own, input('b', [one, two]))), /red/);
  const all = await run(own, input('b', [one, two]));
  const { sessionId } = sessionOf(all), file = path.join(own.stateDir, 'agui', `${sessionId}.json`);
  const c = await own.client();

  assert.ok(fs.existsSync(file));
  await c.request('session/delete', { sessionId });
  await until(() => !fs.existsSync(file));
  assert.match(said(await run(own, input('b', [three]), { query: '?profile=red' })), /red/, 'it is a new thread');
});
