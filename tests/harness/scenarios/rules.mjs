// SPDX-License-Identifier: Apache-2.0
// The session's policy binds the harness's own tools, through what it asks: a rule answers before anybody is asked.

import assert from 'node:assert/strict';
import fs from 'node:fs';

const edit = (file) => `EDIT:${JSON.stringify({ file, from: 'two', to: 'TWO' })}`;
const write = (file) => `WRITE:${JSON.stringify({ file, text: 'made\n' })}`;

// What answered since: [by, rule or via] of each, in order.
async function answersOf(s, from) {
	const { body } = await s.x.rig.daemon.http(`/v1/sessions/${s.id}/events`, { token: s.x.rig.daemon.token });

	return body.trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.kind === 'ask_approval' && e.answer).slice(from)
		.map((e) => [e.by, e.rule ?? e.via ?? e.reason]);
}

const COMMANDS = [{ prefix: ['touch', 'allowed'], policy: 'allow' }, { prefix: ['touch', 'denied'], policy: 'deny' },
	{ prefix: ['touch', 'asked'], policy: 'ask' }];
const POLICY = { approval: 'never', deny: ['secret.txt'], write: ['src/**'], commands: COMMANDS };

async function binds(x, t, approval) {
	const s = await x.session(t, { acpd: { policy: { ...POLICY, approval } } });
	const rules = Object.fromEntries(s.opened._meta.acpd.policy.rules.map((r) => [r.rule, r.enforced]));

	assert.deepEqual([0, 1, 2].map((i) => rules[`policy.commands[${i}]`]), ['harness', 'harness', 'harness']);
	assert.equal(rules['policy.write'], 'harness');
	fs.mkdirSync(s.file('src'), { recursive: true });
	s.file('src/a.txt', 'one\ntwo\n');
	s.file('b.txt', 'one\ntwo\n');
	s.o.answer = () => 'reject_once';
	const commands = await s.turn('RUN:touch allowed', 'RUN:touch denied', 'RUN:touch asked', 'TEXT:done');
	assert.deepEqual([commands.stop, commands.text], ['end_turn', 'done']);
	assert.deepEqual(['allowed', 'denied', 'asked'].map((name) => s.has(name)), [true, false, false]);
	assert.equal(commands.asked.length, 1, 'only what a rule asks');
	assert.deepEqual(await answersOf(s, 0), [['rule', 'policy.commands[0]'], ['rule', 'policy.commands[1]'], ['human', 'driver']]);

	s.o.answer = () => 'allow_once';
	const edits = await s.turn(edit(s.file('src/a.txt')), edit(s.file('b.txt')), 'TEXT:edited');
	assert.deepEqual([edits.stop, edits.text], ['end_turn', 'edited']);
	assert.equal(s.read('src/a.txt'), 'one\nTWO\n');
	assert.equal(s.read('b.txt'), 'one\ntwo\n', 'outside of the globs');
	assert.equal(edits.asked.length, approval === 'ask' ? 1 : 0);
	const said = await answersOf(s, 3);
	assert.deepEqual(said[0], approval === 'ask' ? ['human', 'driver'] : ['default', 'approval']);
	assert.deepEqual(said.at(-1), ['rule', 'policy.write']);
	await s.goesOn();
}

// A denied file is neither read nor written by the harness's own tools.
async function deniedPath(x, t) {
	const s = await x.session(t, { acpd: { policy: { approval: 'never', deny: ['secret.txt'] } } });
	const [rule] = s.opened._meta.acpd.policy.rules;

	s.file('secret.txt', 'one\ntwo\n');
	const from = s.requests.length;
	const turn = await s.turn(edit(s.file('secret.txt')), write(s.file('open.txt')), `READ:${s.file('secret.txt')}`, 'TEXT:done');
	assert.deepEqual([turn.stop, turn.text, turn.asked.length], ['end_turn', 'done', 0]);
	assert.equal(s.read('secret.txt'), 'one\ntwo\n');
	assert.ok(s.has('open.txt'));
	assert.doesNotMatch(s.requests.slice(from).flatMap((r) => r.results).at(-1), /one[\s\S]*two/, 'it was read');
	// Codex reads by commands, and says of a plain one which file that reads; of others it does not know, so this is promised of none
	assert.deepEqual([rule.rule, rule.enforced], ['policy.deny[0]', x.harness === 'codex' ? 'none' : 'harness']);
	assert.match(rule.why, x.harness === 'codex' ? /by commands/ : /./);
	assert.deepEqual((await answersOf(s, 0))[0], ['rule', 'policy.deny[0]']);
}

// "From now on" is a rule of the session, so it can be taken back, and holds for a harness that starts anew.
async function always(x, t) {
	const s = await x.session(t, { acpd: { policy: { categories: { other: 'allow' } } } });
	const touch = () => s.turn('RUN:touch made', 'TEXT:made');

	s.o.answer = () => 'allow_always';
	const [first, second] = [await touch(), await touch()];
	assert.deepEqual([first.asked.length, second.asked.length], [1, 0]);
	assert.deepEqual(await answersOf(s, 0), [['human', 'driver'], ['rule', 'session.rules[1]']]);
	s.o.answer = () => 'reject_once';
	const other = await s.turn('RUN:touch other', 'TEXT:other');
	assert.equal(other.asked.length, 1, 'that command and no other');
	assert.ok(!s.has('other'));
}

export default [
	['rules bind its own tools: approval never', (x, t) => binds(x, t, 'never')],
	['rules bind its own tools: approval ask', (x, t) => binds(x, t, 'ask')],
	['rules bind its own tools: a denied file', deniedPath],
	['rules of the session: allow always', always],
];
