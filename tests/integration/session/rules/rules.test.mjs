// SPDX-License-Identifier: Apache-2.0
// The rules of a session answer its harness before anybody is asked: deny before ask before allow, from any source; each answer says
// which rule gave it. "From now on" becomes a rule of the session, which can be listed, forgotten, and outlasts the daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../../lib/daemon.mjs';

let d, c;
let calls = 0, offered; // the options of the last question

before(async () => {
  d = await Daemon.start();
  c = await d.client();
});
after(() => endInOrder(d, c));

const OPTIONS = [['allow', 'allow_once'], ['always', 'allow_always'], ['reject', 'reject_once'], ['never', 'reject_always']]
  .map(([optionId, kind]) => ({ optionId, kind, name: optionId }));
const open = async (policy, { client = c, mcp, ...more } = {}) => client.newSession({ meta: { policy, ...mcp && { mcp } }, ...more });
const eventsOf = async (sessionId, daemon = d) => (await daemon.http(`/v1/sessions/${sessionId}/events`, { token: daemon.token })).body.trim().split('\n')
  .map((l) => JSON.parse(l));

// What the agent asks, and what comes of it: [the option it gets, who answered, by which rule or for which reason]. The driver answers
// with `human`, and must not be asked where that is absent.
async function asks({ sessionId }, toolCall, human, { client = c, daemon = d, options = OPTIONS } = {}) {
  const toolCallId = `call-${++calls}`;
  const seen = [];
  const text = JSON.stringify({ toolCall: { toolCallId, title: 'a title that says rm -rf /', ...toolCall }, options });

  client.onRequest('session/request_permission', (params) => {
    seen.push(params);
    return { outcome: human ? { outcome: 'selected', optionId: human } : { outcome: 'cancelled' } };
  });
  await client.prompt(sessionId, `ask session/request_permission ${text.replaceAll(';', '\\;')}`);
  const said = (await eventsOf(sessionId, daemon)).filter((e) => e.kind === 'ask_approval' && e.answer).at(-1);
  const last = client.updatesOf(sessionId, 'agent_message_chunk').at(-1).update.content.text;
  const got = JSON.parse(last.slice(last.indexOf('{'))).outcome;
  assert.equal(seen.length, human ? 1 : 0, JSON.stringify([toolCall, said]));
  offered = seen[0]?.options.map((o) => o.optionId);
  return [got.optionId ?? got.outcome, said.by, said.rule ?? said.via ?? said.reason];
}

const run = (command) => ({ kind: 'execute', rawInput: { command } });
const edit = (...paths) => ({ kind: 'edit', locations: paths.map((p) => ({ path: p })), content: paths.map((p) => ({ type: 'diff', path: p, oldText: null, newText: 'x' })) });
const at = (name) => path.join(d.workDir, name);

test('every kind of call, by category: deny, ask, allow, and nothing that speaks of it', async () => {
  const kinds = { read: 'read', search: 'read', edit: 'edit', delete: 'edit', move: 'edit', execute: 'execute', fetch: 'other', think: 'other', other: 'other' };

  for (const [kind, category] of Object.entries(kinds)) {
    const call = { kind, ...category === 'execute' ? { rawInput: { command: 'ls' } } : { locations: [{ path: at('a.txt') }] } };
    const rule = `policy.categories.${category}`;
    const by = (policy) => open({ categories: { [category]: policy } });

    assert.deepEqual(await asks(await by('deny'), call), ['reject', 'rule', rule], kind);
    assert.deepEqual(await asks(await by('ask'), call, 'allow'), ['allow', 'client', 'driver'], kind);
    assert.deepEqual(offered, ['allow', 'reject'], `${kind}: what is asked each time is not offered for good`);
    assert.deepEqual(await asks(await by('allow'), call), ['allow', 'rule', rule], kind);
    assert.deepEqual(await asks(await open({ categories: {} }), call, 'reject'), ['reject', 'client', 'driver'], kind);
  }
});

test('commands, as text and as words; what is denied is found in what is allowed', async () => {
  const s = await open({ commands: [{ prefix: ['git', 'status'], policy: 'allow' }, { prefix: ['git', 'push'], policy: 'deny' },
    { prefix: ['npm', 'i'], policy: 'ask' }, { prefix: ['ls'], policy: 'allow' }] });

  assert.deepEqual(await asks(s, run('git status')), ['allow', 'rule', 'policy.commands[0]']);
  assert.deepEqual(await asks(s, run(['bash', '-lc', 'git status && ls'])), ['allow', 'rule', 'policy.commands[0]']);
  assert.deepEqual(await asks(s, run("/bin/bash -lc 'git status; git push origin'")), ['reject', 'rule', 'policy.commands[1]']);
  assert.deepEqual(await asks(s, { kind: 'execute', rawInput: { command: 'git status', commands: ['git status', 'git push'] } }),
    ['reject', 'rule', 'policy.commands[1]']);
  assert.deepEqual(await asks(s, run('npm i left-pad'), 'allow'), ['allow', 'client', 'driver']);
  assert.deepEqual(await asks(s, run('git status > x'), 'reject'), ['reject', 'client', 'driver'], 'no rule allows it');
  assert.deepEqual(await asks(s, { kind: 'read', rawInput: { command: 'git push' }, locations: [{ path: at('a') }] }),
    ['reject', 'rule', 'policy.commands[1]'], 'a command that is said to read is a command');
});

test('paths: denied, left out, outside, by a link, in any of their places', async () => {
  const s = await open({ deny: ['.env', 'secrets/'], write: ['src/**'], categories: { edit: 'allow', read: 'allow' } });

  fs.mkdirSync(at('src'), { recursive: true });
  fs.rmSync(at('src/out'), { force: true });
  fs.symlinkSync('../elsewhere.txt', at('src/out'));
  assert.deepEqual(await asks(s, edit('src/a.c')), ['allow', 'rule', 'policy.categories.edit']);
  assert.deepEqual(await asks(s, edit(at('src/a.c'), at('src/.env'))), ['reject', 'rule', 'policy.deny[0]']);
  assert.deepEqual(await asks(s, edit('a.c')), ['reject', 'rule', 'policy.write']);
  assert.deepEqual(await asks(s, edit('src/../a.c')), ['reject', 'rule', 'policy.write']);
  assert.deepEqual(await asks(s, edit('/etc/passwd')), ['reject', 'rule', 'policy.write']);
  assert.deepEqual(await asks(s, edit('src/out')), ['reject', 'rule', 'policy.write'], 'where it ends');
  assert.deepEqual(await asks(s, { kind: 'edit', rawInput: { file_path: at('a.c') } }), ['reject', 'rule', 'policy.write']);
  assert.deepEqual(await asks(s, { kind: 'edit', locations: [{ path: at('src/a.c') }], rawInput: { changes: [{ path: at('src/a.c'), kind: { type: 'update', move_path: at('b.c') } }] } }),
    ['reject', 'rule', 'policy.write']);
  assert.deepEqual(await asks(s, { kind: 'edit', locations: [{ path: at('src/a.c') }], rawInput: { changes: [{ path: at('src/a.c'), kind: { type: 'add', move_path: null } }] } }),
    ['allow', 'rule', 'policy.categories.edit']);
  assert.deepEqual(await asks(s, { kind: 'read', locations: [{ path: at('secrets/key') }] }), ['reject', 'rule', 'policy.deny[1]']);
  assert.deepEqual(await asks(s, { kind: 'read', locations: [{ path: '/home/x/.env' }] }), ['reject', 'rule', 'policy.deny[0]']);
  assert.deepEqual(await asks(s, { kind: 'read', locations: [{ path: at('README') }] }), ['allow', 'rule', 'policy.categories.read']);
});

test('what cannot be read is asked, also where all is allowed', async () => {
  const s = await open({ approval: 'never', deny: ['.env'], write: ['**'], commands: [{ prefix: ['ls'], policy: 'allow' }], categories: { edit: 'allow', read: 'allow', other: 'allow' } });
  const human = ['allow', 'client', 'driver'];

  fs.mkdirSync(at('dir'), { recursive: true });
  for (const call of [{ kind: 'edit' }, { kind: 'edit', locations: [] }, { kind: 'edit', rawInput: { path: 5 } }, { kind: 'edit', rawInput: { files: [{ name: 'x' }] } },
    { kind: 'edit', locations: [{ path: at('dir') }] }, { kind: 'search', locations: [{ path: d.workDir }] }, { kind: 'read' },
    { kind: 'execute' }, { kind: 'execute', rawInput: { cmd: 'ls' } }, { kind: 'execute', rawInput: { command: 'ls', code: 'x' } },
    { kind: 'execute', rawInput: { command: ['ls', 5] } }, { kind: 'execute', rawInput: 'ls' },
    { kind: 'fancy' }, {}, { kind: 'other', rawInput: { x: 1 } }])
    assert.deepEqual(await asks(s, call, 'allow'), human, JSON.stringify(call));
  assert.deepEqual(await asks(s, run('ls')), ['allow', 'rule', 'policy.commands[0]']);
  assert.deepEqual(await asks(s, edit('a')), ['allow', 'rule', 'policy.categories.edit']);
});

test('never answers only what no rule denies or asks', async () => {
  const s = await open({ approval: 'never', deny: ['.env'], categories: { other: 'ask' } });

  assert.deepEqual(await asks(s, run('rm -rf x')), ['allow', 'default', 'approval']);
  assert.deepEqual(await asks(s, edit('a.c')), ['allow', 'default', 'approval']);
  assert.deepEqual(await asks(s, edit('.env')), ['reject', 'rule', 'policy.deny[0]']);
  assert.deepEqual(await asks(s, { kind: 'fetch', rawInput: { url: 'https://x.example' } }, 'reject'), ['reject', 'client', 'driver']);
  const forGood = OPTIONS.filter((o) => o.optionId !== 'allow');
  assert.deepEqual(await asks(s, edit('b.c'), 'reject', { options: forGood }), ['reject', 'client', 'driver'], 'nobody but a human allows for good');
});

test('accept-edits: an edit in the workspace goes, unless a rule speaks of it', async () => {
  const s = await open({ approval: 'accept-edits', deny: ['.env'] });

  assert.deepEqual(await asks(s, edit(at('a.c'))), ['allow', 'default', 'approval']);
  assert.deepEqual(await asks(s, edit(at('.env'))), ['reject', 'rule', 'policy.deny[0]']);
  assert.deepEqual(await asks(s, edit('/tmp/x'), 'reject'), ['reject', 'client', 'driver']);
});

test('always and never of a human are rules of the session, as narrow as what was asked', async () => {
  const s = await open({ commands: [{ prefix: ['git', 'push'], policy: 'deny' }, { prefix: ['npm'], policy: 'ask' }] });

  assert.deepEqual(await asks(s, run('make all'), 'always'), ['allow', 'client', 'driver'], 'the agent itself is told "once"');
  assert.deepEqual(offered, ['allow', 'always', 'reject', 'never']);
  assert.deepEqual(await asks(s, run('make all')), ['allow', 'rule', 'session.rules[1]']);
  assert.deepEqual(await asks(s, run('make all install'), 'never'), ['reject', 'client', 'driver']);
  assert.deepEqual(await asks(s, run('make all install')), ['reject', 'rule', 'session.rules[2]']);
  assert.deepEqual(await asks(s, edit('a.c'), 'always'), ['allow', 'client', 'driver']);
  assert.deepEqual(await asks(s, edit(at('a.c'))), ['allow', 'rule', 'session.rules[3]'], 'the same file');
  assert.deepEqual(await asks(s, edit('a.c', 'b.c'), 'reject'), ['reject', 'client', 'driver']);
  assert.deepEqual(await asks(s, run('git push')), ['reject', 'rule', 'policy.commands[0]']);
  await asks(s, run('npm i'), 'allow');
  assert.deepEqual(offered, ['allow', 'reject']);
  const added = (await eventsOf(s.sessionId)).filter((e) => e.event === 'rule_added').map((e) => [e.rule, e.policy]);
  assert.deepEqual(added, [['session.rules[1]', 'allow'], ['session.rules[2]', 'deny'], ['session.rules[3]', 'allow']]);
});

test('rules of the session are listed and forgotten, by anybody who may answer', async () => {
  const s = await open({ categories: { other: 'allow' } });
  const other = await d.client();
  const list = async () => (await other.call('_acpd/approvals/rules', { sessionId: s.sessionId })).rules;

  assert.deepEqual(await list(), []);
  await asks(s, run('make all'), 'always');
  await asks(s, edit('a.c'), 'never');
  const rules = await list();
  assert.deepEqual(rules.map(({ made, ...r }) => r), [{ id: 'session.rules[1]', policy: 'allow', kind: 'execute', commands: ['make all'] },
    { id: 'session.rules[2]', policy: 'deny', kind: 'edit', paths: [at('a.c')] }]);
  assert.ok(rules.every(({ made }) => Math.abs(Date.now() - Date.parse(made)) < 60_000));
  for (const id of ['session.rules[0]', 'session.rules[3]', 'session.rules[01]', 'session.rules[1', 'session.rules[1]]', 'policy.deny[0]', ''])
    assert.equal((await other.fails('_acpd/approvals/forget', { sessionId: s.sessionId, id })).data.reason, 'RULE_UNKNOWN', id);
  const left = await other.call('_acpd/approvals/forget', { sessionId: s.sessionId, id: 'session.rules[1]' });
  assert.deepEqual(left.rules, [rules[1]]);
  assert.deepEqual(await asks(s, run('make all'), 'allow'), ['allow', 'client', 'driver'], 'asked again');
  await c.call('session/close', { sessionId: s.sessionId });
  assert.deepEqual((await other.call('_acpd/approvals/forget', { sessionId: s.sessionId, id: 'session.rules[2]' })).rules, []);
  await c.load(s.sessionId);
  assert.deepEqual(await asks(s, edit('a.c'), 'reject'), ['reject', 'client', 'driver']);
  assert.deepEqual((await eventsOf(s.sessionId)).filter((e) => e.event === 'rule_forgotten').map((e) => e.rule), ['session.rules[1]', 'session.rules[2]']);
});

test('without any rule of the session or its policy nothing is decided, and a native "always" stays the agent\'s', async () => {
  const s = await open(undefined);

  assert.deepEqual(await asks(s, { kind: 'edit' }, 'always'), ['always', 'client', 'driver']);
  assert.deepEqual(await asks(s, { kind: 'edit' }, 'never'), ['never', 'client', 'driver']);
});

test('rules of the session outlast the daemon; a fork has them', async (t) => {
  const own = await Daemon.startFor(t, { });
  let client = await own.client();
  const s = await open({ categories: { other: 'allow' } }, { client });
  const same = () => ({ client, daemon: own });

  await asks(s, run('make all'), 'always', same());
  await asks(s, run('make clean'), 'never', same());
  await own.kill9();
  await own.restart();
  client = await own.client();
  await client.load(s.sessionId);
  assert.deepEqual(await asks(s, run('make all'), undefined, same()), ['allow', 'rule', 'session.rules[1]']);
  assert.deepEqual(await asks(s, run('make clean'), undefined, same()), ['reject', 'rule', 'session.rules[2]']);
  const fork = await client.call('session/fork', { sessionId: s.sessionId, cwd: own.workDir, mcpServers: [] });
  assert.deepEqual(await asks(fork, run('make clean'), undefined, same()), ['reject', 'rule', 'session.rules[2]']);
});

test('the answer says of each rule who enforces it', async () => {
  const { _meta } = await open({ deny: ['.env'], commands: [{ prefix: ['ls'], policy: 'allow' }], categories: { mcp: 'ask', edit: 'ask' },
    tools: { openPR: { policy: 'deny' }, grep: { maxCalls: 5 } }, dryRun: true }, { mcp: { policy: { jira: { policy: 'deny', tools: { 'get*': { policy: 'allow' } } } } } });
  const { rules } = _meta.acpd.policy;

  assert.deepEqual(rules.map((r) => [r.rule, r.enforced]), [['policy.deny[0]', 'none'], ['policy.commands[0]', 'none'], ['policy.categories.edit', 'none'],
    ['policy.categories.mcp', 'tool'], ['policy.tools.openPR', 'tool'], ['policy.tools.grep', 'tool'], ['policy.dryRun', 'tool'],
    ['mcp.policy.jira', 'tool'], ['mcp.policy.jira.tools.get*', 'tool']]);
  for (const r of rules.filter((x) => x.enforced === 'none'))
    assert.match(r.why, /not known what this harness asks/);
  assert.match(rules.find((r) => r.rule === 'policy.tools.openPR').why, /own tools .* of that name/);
});
