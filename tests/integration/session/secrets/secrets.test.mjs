// SPDX-License-Identifier: Apache-2.0
// Secrets of a session: the same value in every place where text goes out, in every form; the protocol beside it untouched; what a
// restarted daemon asks for again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';
import { Stream } from '../../../lib/events.mjs';
import { newCwd } from '../../../lib/workspace.mjs';
import { failing, fileOf, homely, journalOf, turnsOf, verify } from '../../ledger.mjs';

const SECRET = 'sk/Qx-7"v+9=Zk3wYp';
const MASK = '***';
const hex = (c) => `\\u00${c.charCodeAt(0).toString(16).padStart(2, '0')}`;
const base64 = (before) => Buffer.from(`${'abc'.slice(0, before)}${SECRET}.`).toString('base64');

// How a value may stand in a text.
const FORMS = {
  clear: SECRET,
  escaped: SECRET.replace('/', '\\/').replace('"', '\\"'),
  'escaped twice': SECRET.replace('/', '\\\\/').replace('"', '\\\\\\"'),
  '\\uXXXX': [...SECRET].map((c, i) => (i % 3 ? c : hex(c))).join(''),
  'percent-encoded': encodeURIComponent(SECRET),
  'base64, first': base64(0), 'base64, second': base64(1), 'base64, third': base64(2),
  base64url: base64(0).replaceAll('+', '-').replaceAll('/', '_'),
};

// Steps of the stub that put a text there.
const update = (u) => `update ${JSON.stringify(u)}`;
const call = (more) => update({ sessionUpdate: 'tool_call', toolCallId: 't', title: 'x', ...more });
const PLACES = {
  message: (t) => `echo ${t}`,
  thought: (t) => `think ${t}`,
  'title of a call': (t) => call({ title: t }),
  'input of a call': (t) => call({ rawInput: { a: [{ b: t }] } }),
  'output of a call': (t) => call({ rawOutput: t, content: [{ type: 'content', content: { type: 'text', text: t } }] }),
  'place of a call': (t) => call({ locations: [{ path: `/x/${t}` }] }),
  'diff of a call': (t) => call({ content: [{ type: 'diff', path: `/${t}`, oldText: t, newText: t }] }),
  plan: (t) => update({ sessionUpdate: 'plan', entries: [{ content: t, priority: 'low', status: 'pending' }] }),
  'title of the session': (t) => update({ sessionUpdate: 'session_info_update', title: t }),
  commands: (t) => update({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'c', description: t }] }),
  'metadata of an update': (t) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'm', _meta: { x: t } } }),
  'a link': (t) => update({ sessionUpdate: 'agent_message_chunk', content: { type: 'resource_link', name: t, uri: `x:${t}` } }),
};

let d, c;

before(async () => {
  d = await Daemon.start({ harnesses: [homely()], flags: { log: 'debug' } });
  c = await d.client();
  c.onRequest('session/request_permission', ({ options }) => ({ outcome: { outcome: 'selected', optionId: options[0].optionId } }));
});

after(() => endInOrder(d, c, () => verify(d)));

const http = async (where) => {
  const r = await fetch(`http://127.0.0.1:${d.port}${where}`, { headers: { Authorization: `Bearer ${d.token}` } });

  return r.text();
};

// All that went out or was written down since `from`, each under its name.
async function everything(sessionId, from) {
  const sse = await Stream.open(d, `/v1/sessions/${sessionId}/events?format=sse&follow=false`);

  await sse.until((x) => x.ended);
  return {
    'what the client was sent': JSON.stringify(c.messages.slice(from)),
    'events over HTTP': sse.text,
    'events as NDJSON': await http(`/v1/sessions/${sessionId}/events?format=ndjson&follow=false`),
    'the list': JSON.stringify(await c.call('session/list', {})),
    status: JSON.stringify(await c.call('_acpd/status', { sessionId })),
    'status over HTTP': await http(`/v1/sessions/${sessionId}`),
    'usage over HTTP': await http(`/v1/usage?session=${sessionId}`),
    ledger: fs.readFileSync(fileOf(d), 'utf8'),
    journal: fs.readFileSync(journalOf(d, sessionId), 'utf8'),
    log: d.stderr,
  };
}

// Of base64 what depends on nothing else.
const core = (form, text) => (form.startsWith('base64') ? text.slice(3, -5) : text);

function assertGone(all, what) {
  for (const [where, text] of Object.entries(all))
    for (const [form, secret] of Object.entries(FORMS))
      for (const spelt of [core(form, secret), JSON.stringify(core(form, secret)).slice(1, -1)])
        assert.ok(!text.includes(spelt), `${what}: ${form} in ${where}`);
}

const withSecret = (meta) => c.newSession({ meta: { env: { STUB_API_KEY: SECRET }, ...meta } });

describe('a secret in every form', () => {
  for (const [place, step] of Object.entries(PLACES))
    test(`${place}: it is in nothing that goes out`, async () => {
      const { sessionId } = await withSecret();
      const from = c.messages.length;

      for (const secret of Object.values(FORMS))
        await c.prompt(sessionId, `echo before; ${step(secret)}; echo after`);
      const all = await everything(sessionId, from);
      assertGone(all, place);
      assert.ok(all['what the client was sent'].includes(MASK) && all.journal.includes(MASK));
      await c.call('session/delete', { sessionId });
    });

  test('errors of a prompt, in the answer, the log, the ledger and the turn\'s end', async () => {
    const { sessionId } = await withSecret();
    const from = c.messages.length;

    for (const secret of Object.values(FORMS)) {
      const e = await failing(c, sessionId, `echo x; error -32603 the key ${secret} is wrong`);
      assert.equal(e.data.turn.message.includes(MASK), true, e.data.turn.message);
    }
    // one that the message's length cuts in two
    const { data: { turn } } = await failing(c, sessionId, `echo x; error -32603 ${'y'.repeat(246)} ${SECRET}`);
    assert.ok(!turn.message.includes(SECRET.slice(0, 4)), turn.message);
    assertGone(await everything(sessionId, from), 'errors');
  });

  test('what a harness says of a question, and writes to its log before it dies', async () => {
    const { sessionId } = await withSecret();
    const from = c.messages.length;

    const question = (t) => ({ toolCall: { toolCallId: 't', title: t, rawInput: [t] }, options: [{ optionId: 'o-4711', name: t, kind: 'allow_once' }] });

    for (const secret of Object.values(FORMS))
      await c.prompt(sessionId, `ask session/request_permission ${JSON.stringify(question(secret))}; stderr it is ${secret}`);
    const asked = c.requests.filter((r) => r.params.sessionId === sessionId).map((r) => r.params);
    assert.equal(asked.length, Object.keys(FORMS).length);
    assert.ok(asked.every((q) => q.toolCall.title.includes(MASK) && q.options[0].optionId === 'o-4711'));
    await failing(c, sessionId, `stderr again ${SECRET}; sleep 50; crash exit 3`);
    assertGone(await everything(sessionId, from), 'questions');
  });

  test('what the client answers to a form, in the event of its answer', async () => {
    const own = await d.client({ init: { clientCapabilities: { elicitation: { form: {} }, _meta: { acpd: {} } } } });

    own.onRequest('elicitation/create', () => ({ action: 'accept', content: { branch: SECRET } }));
    const { sessionId } = await own.newSession({ meta: { env: { STUB_API_KEY: SECRET } } });
    const from = c.messages.length;

    await own.prompt(sessionId, 'elicit');
    const all = await everything(sessionId, from);
    const [answer] = all['events as NDJSON'].trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.kind === 'ask_approval' && e.answer);

    assert.deepEqual(answer.answer, { action: 'accept', content: { branch: MASK } });
    await own.close();
  });

  test('what the user said is in nobody\'s history, and the harness heard it', async () => {
    const { sessionId } = await withSecret();
    const from = c.messages.length;

    await c.prompt(sessionId, `env STUB_API_KEY; echo ${SECRET}`);
    await c.prompt(sessionId, 'RECALL');
    await c.call('session/load', { sessionId, cwd: d.workDir, mcpServers: [] });
    assertGone(await everything(sessionId, from), 'prompts');
  });
});

describe('a secret as a harness writes it', () => {
  // Escapes that no encoder of ours would choose: the harness's own line is passed on.
  for (const [name, spelt] of [['\\/', JSON.stringify(SECRET).slice(1, -1).replace('/', '\\/')], ['\\uXXXX', [...SECRET].map((x) => hex(x)).join('')]])
    test(`${name} of JSON itself: it is in nothing that goes out`, async () => {
      const { sessionId } = await withSecret();
      const native = JSON.parse(fs.readFileSync(journalOf(d, sessionId), 'utf8').split('\n').find((l) => l.includes('"native"'))).m.nativeId;
      const from = c.messages.length;

      await c.prompt(sessionId, `raw {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${native}","update":` +
        `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"is ${spelt}!"}}}}`);
      assert.ok(c.updates.some((u) => u.sessionId === sessionId && u.update.content?.text === `is ${MASK}!`));
      const all = await everything(sessionId, from);
      assertGone(all, name);
      for (const [where, text] of Object.entries(all))
        assert.ok(!text.includes(spelt), where);
    });
});

describe('a secret in pieces', () => {
  const chunk = (text, kind = 'agent_message_chunk') => update({ sessionUpdate: kind, messageId: 'm1', content: { type: 'text', text } });
  const textOf = (sessionId, from, kind = 'agent_message_chunk') => c.updates.filter((u) => u.sessionId === sessionId && u.seq > from &&
    u.update.sessionUpdate === kind).map((u) => u.update.content.text).join('');
  const cuts = [1, 5, SECRET.length - 1];

  for (const kind of ['agent_message_chunk', 'agent_thought_chunk'])
    test(`of two and three ${kind}s none is seen, the rest in order and whole`, async () => {
      const { sessionId } = await withSecret();
      let last = 0;

      for (const a of cuts)
        for (const b of [a, a + 1]) {
          const from = c.messages.length;
          await c.prompt(sessionId, [`see ${SECRET.slice(0, a)}`, SECRET.slice(a, b), `${SECRET.slice(b)} there, s`, 'k end sk']
            .filter(Boolean).map((t) => chunk(t, kind)).join(';'));
          assert.equal(textOf(sessionId, last, kind), `see ${MASK} there, sk end sk`);
          last = c.updates.at(-1).seq;
          assertGone(await everything(sessionId, from), `cut at ${a} and ${b}`);
        }
      const seqs = (await Stream.open(d, `/v1/sessions/${sessionId}/events?follow=false`));
      await seqs.until((x) => x.ended);
      assert.deepEqual(seqs.seqs, seqs.seqs.map((_, i) => i + 1), 'no number is left out');
    });

  test('another event between the pieces: what was held goes out before it, the rest is hidden', async () => {
    const { sessionId } = await withSecret();

    await c.prompt(sessionId, [chunk(`see ${SECRET.slice(0, 6)}`), 'plan', chunk(`${SECRET.slice(6)} there`)].join(';'));
    const mine = c.updates.filter((u) => u.sessionId === sessionId && /chunk|plan/.test(u.update.sessionUpdate) && !/user/.test(u.update.sessionUpdate));
    assert.deepEqual(mine.map((u) => u.update.content?.text ?? 'plan'), ['see ', SECRET.slice(0, 6), 'plan', `${MASK} there`]);
  });
});

describe('the protocol beside it', () => {
  // Each of them stood in every frame, or in every record of the ledger.
  const WORDS = { A_KEY: 'sessionId', B_KEY: 'completed', C_KEY: 'in_progress', D_KEY: 'session/update', E_KEY: 'stub-small', F_KEY: 'end_turn',
    G_KEY: 'agent_message_chunk', H_KEY: 'tenant-4711', I_KEY: 'inputTokens', J_KEY: 'call-4711' };

  test('names, ids, states, models and references stay what they are, in frames, ledger and answers', async () => {
    const { sessionId } = await c.newSession({ meta: { env: WORDS, billingRef: 'tenant-4711' } });

    await c.prompt(sessionId, `tool call-4711 read about call-4711; tokens ${JSON.stringify({ inputTokens: 1, outputTokens: 2, totalTokens: 3 })}`);
    const calls = c.updates.filter((u) => u.sessionId === sessionId && u.update.toolCallId);
    assert.deepEqual(calls.map((u) => u.update.toolCallId), calls.map(() => 'call-4711'));
    assert.equal(calls.at(-1).update.status, 'completed');
    const [r] = turnsOf(d, sessionId);
    assert.deepEqual([r.billingRef, r.model, r.stopReason, r.usage.inputTokens], ['tenant-4711', 'stub-small', 'end_turn', 1]);
    verify(d);
  });

  test('what is no secret after all is named in the answer, with the reason', async () => {
    const answer = await c.newSession({ meta: { secrets: { SHORT: '1234567', WORD: 'completed', RUN: '----------', GOOD: 'a-good-value' } } });

    assert.deepEqual(answer._meta.acpd.unmasked, [{ name: 'secrets.SHORT', reason: 'short' }, { name: 'secrets.WORD', reason: 'word' },
      { name: 'secrets.RUN', reason: 'repetitive' }]);
    assert.ok(!('unmasked' in (await c.newSession())._meta.acpd));
  });

  test('a value that a file holds: not in the turn\'s diff, nor in the one that is asked for', async () => {
    const made = await c.newSession({ cwd: newCwd(d), meta: { env: { STUB_API_KEY: SECRET }, workspace: { baseline: true } } });

    await c.prompt(made.sessionId, `write made.txt key ${SECRET} and more`);
    const { artifacts } = await c.call('_acpd/artifact/list', { sessionId: made.sessionId });
    const text = await http(`/v1/sessions/${made.sessionId}/artifacts/${artifacts.at(-1).id}`);
    const { patch } = await c.call('_acpd/workspace/diff', { sessionId: made.sessionId });

    for (const t of [text, patch])
      assert.match(t, /^\+key \*\*\* and more/m);
    assert.ok(fs.readFileSync(path.join(d.stateDir, 'artifacts', made.sessionId, artifacts.at(-1).id), 'utf8') === text);
  });

  // Pieces of 64 KiB: the file is nothing but secrets, so an end of a piece is in one.
  test('a value that two pieces of a patch share', async () => {
    const cwd = newCwd(d);
    const made = await c.newSession({ cwd, meta: { env: { STUB_API_KEY: SECRET }, workspace: { baseline: true } } });
    const line = `${SECRET.repeat(30)}\n`;

    fs.writeFileSync(path.join(cwd, 'large.txt'), line.repeat(400));
    await c.prompt(made.sessionId, 'echo x');
    const { artifacts } = await c.call('_acpd/artifact/list', { sessionId: made.sessionId });
    const text = await http(`/v1/sessions/${made.sessionId}/artifacts/${artifacts.at(-1).id}`);

    const lines = text.split('\n').filter((l) => l.startsWith('+') && !l.startsWith('+++'));

    assert.equal(lines.length, 400);
    assert.deepEqual([...new Set(lines)], [`+${MASK.repeat(30)}`]);
  });
});

describe('secrets, env and envKeep', () => {
  test('secrets are variables that are hidden whatever their name, and never written down', async () => {
    const { sessionId } = await c.newSession({ meta: { secrets: { DATABASE: SECRET } } });
    const from = c.messages.length;

    await c.prompt(sessionId, 'env DATABASE');
    assert.ok(c.updates.some((u) => u.sessionId === sessionId && u.update.content?.text === `env:DATABASE=${MASK}`));
    assertGone(await everything(sessionId, from), 'secrets');
  });

  test('a value that was replaced stays hidden, also in a fork', async () => {
    const { sessionId } = await withSecret({ harness: 'homely' });
    const from = c.messages.length;

    await c.call('session/load', { sessionId, cwd: d.workDir, mcpServers: [], _meta: { acpd: { env: { STUB_API_KEY: 'the-second-value' } } } });
    await c.prompt(sessionId, `echo ${SECRET} the-second-value`);
    const { sessionId: fork } = await c.call('session/fork', { sessionId, cwd: d.workDir, mcpServers: [] });
    await c.prompt(fork, `echo ${SECRET} the-second-value`);
    for (const id of [sessionId, fork]) {
      const all = await everything(id, from);
      assertGone(all, 'replaced');
      assert.ok(!JSON.stringify(all).includes('the-second-value'));
    }
  });

  test('what is wrong is refused and named', async () => {
    for (const [meta, field, reason] of [
      [{ secrets: { 'A-B': 'x' } }, '_meta.acpd.secrets.A-B', 'ENV_NAME_INVALID'],
      [{ secrets: { ACPD_X: 'x' } }, '_meta.acpd.secrets.ACPD_X', 'ENV_NAME_INVALID'],
      [{ secrets: { A: 7 } }, '_meta.acpd.secrets.A', 'FIELD_INVALID'],
      [{ secrets: [] }, '_meta.acpd.secrets', 'FIELD_INVALID'],
      [{ secrets: { A: 'x' }, env: { A: 'y' } }, '_meta.acpd.secrets.A', 'FIELD_INVALID'],
      [{ envKeep: 'A' }, '_meta.acpd.envKeep', 'FIELD_INVALID'],
      [{ envKeep: [7] }, '_meta.acpd.envKeep[0]', 'FIELD_INVALID'],
      [{ envKeep: ['a b'] }, '_meta.acpd.envKeep[0]', 'ENV_NAME_INVALID'],
      [{ env: { A: 'x' }, envKeep: ['A', 'B'] }, '_meta.acpd.envKeep', 'FIELD_INVALID'],
    ])
      await assert.rejects(c.newSession({ meta }), (e) => {
        assert.deepEqual([e.code, e.data.field, e.data.reason], [-32602, field, reason], JSON.stringify(meta));
        return true;
      });
  });

  test('after a restart what was not kept is asked for by name; what was kept is there', async () => {
    const own = await Daemon.start({ harnesses: [homely()] });

    try {
      let k = await own.client();
      const { sessionId } = await k.newSession({ meta: { harness: 'homely', env: { KEPT: 'one', LOST: 'value-two' }, envKeep: ['KEPT'], secrets: { S: 'value-three' } } });
      await k.prompt(sessionId, 'echo x');
      await k.close();
      await own.restart();
      assert.doesNotMatch(fs.readFileSync(journalOf(own, sessionId), 'utf8'), /value-two|value-three/);
      k = await own.client();
      const load = (acpd, method = 'session/load') => k.call(method, { sessionId, cwd: own.workDir, mcpServers: [], _meta: { acpd } });
      const refused = (names) => (e) => {
        assert.deepEqual([e.code, e.data.reason, e.data.field, e.data.names], [-32602, 'ENV_REQUIRED', '_meta.acpd.env', names]);
        return true;
      };

      for (const method of ['session/load', 'session/resume', 'session/fork'])
        await assert.rejects(load({}, method), refused(['LOST', 'S']));
      await assert.rejects(load({ env: { LOST: '2' } }), refused(['S']));
      await own.restart(); // it is still missing
      k = await own.client();
      await assert.rejects(load({}), refused(['LOST', 'S']));
      await load({ env: { LOST: '2' }, secrets: { S: 'value-four' } });
      await k.prompt(sessionId, 'env KEPT; env LOST; env S');
      const said = k.updates.filter((u) => u.update.sessionUpdate === 'agent_message_chunk').map((u) => u.update.content.text);
      assert.match(said.join(''), /env:KEPT=oneenv:LOST=2env:S=\*\*\*$/);
      await load({}); // nothing is missing while the daemon lives
      await load({ env: { LOST: '2' }, envKeep: [] });
      await k.prompt(sessionId, 'env KEPT');
      assert.equal(k.updates.at(-1).update.content.text, 'env:KEPT (unset)');
      k.assertClean();
      await k.close();
    } finally {
      await own.stop();
      await own.discard();
    }
  });
});
