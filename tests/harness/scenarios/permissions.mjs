// SPDX-License-Identifier: Apache-2.0
// Questions and answers, the approval policy, and every moment at which a turn can be cancelled.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from '../until.mjs';
import { assertCall, builtinTools, editing, fresh, gone, nap, runs, shown, unasked } from '../play.mjs';
import { commands, sleep } from '../rig.mjs';
import { relayed } from './relay.mjs';

const edit = (file) => `EDIT:${JSON.stringify({ file, from: 'two', to: 'TWO' })}`;

async function allowOnce(x, t) {
	const s = await x.session(t);
	const name = fresh('made');
	const turns = [await s.turn(`RUN:touch ${name}`, 'TEXT:one'), await s.turn(`RUN:touch ${name}`, 'TEXT:two')];

	for (const turn of turns) {
		assert.equal(turn.asked.length, 1);
		const kinds = turn.asked[0].options.map((option) => option.kind);
		for (const kind of ['allow_once', 'allow_always', 'reject_once'])
			assert.ok(kinds.includes(kind), `kinds ${kinds}`);
		assert.ok(turn.asked[0].toolCall.title);
		assert.equal(turn.calls[0].toolCallId, turn.asked[0].toolCall.toolCallId);
		assertCall(turn.calls[0], {});
	}
	assert.ok(s.has(name));
}

async function reject(x, t) {
	const s = await x.session(t);
	const name = fresh('made');

	s.o.answer = () => 'reject_once';
	const turn = await s.turn(`RUN:touch ${name}`, 'TEXT:after the reject');
	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.asked.length, 1);
	assertCall(turn.calls[0], { status: 'failed' });
	assert.ok(!s.has(name));
	assert.equal(turn.text, 'after the reject');
	s.o.answer = () => 'allow_once';
	await s.goesOn();
}

async function never(x, t) {
	const s = await unasked(x, t);
	const name = `${fresh('a')}.txt`;
	s.file(name, 'one\ntwo\n');
	const turn = await s.turn('RUN:touch made', edit(name), 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text, turn.asked.length], ['end_turn', 'done', 0]);
	assert.ok(s.has('made'));
	assert.equal(s.read(name), 'one\nTWO\n');
}

async function mcpUnasked(x, t) {
	const s = await unasked(x, t);
	const turn = await s.turn('MCP:tools add {"a": 40, "b": 2}', 'TEXT:done');

	assert.equal(turn.asked.length, 0);
	assertCall(turn.calls[0], {});
	assert.match(shown(turn.calls[0]), /42/);
}

async function acceptEdits(x, t) {
	const { s } = await editing(x, t);
	const name = `${fresh('a')}.txt`;
	s.file(name, 'one\ntwo\n');
	const turn = await s.turn(edit(name), 'RUN:touch made', 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.equal(s.read(name), 'one\nTWO\n');
	assert.equal(turn.asked.length, 1, 'the command is asked, the edit is not');
	assert.notEqual(turn.asked[0].toolCall.kind, 'edit');
}

const write = (file) => `WRITE:${JSON.stringify({ file, text: 'made\n' })}`;

// Where a symbolic link leads is where the file lies, also one whose end is not there yet, or that lies in an additional directory.
async function acceptEditsThroughLinks(x, t) {
	const outside = fs.mkdtempSync(path.join(x.rig.daemon.workDir, 'outside-'));
	const { s, more: [more] } = await editing(x, t);

	fs.mkdirSync(s.file('sub'));
	fs.symlinkSync('sub', s.file('in'));
	fs.symlinkSync(more, s.file('more'));
	fs.symlinkSync(outside, s.file('out'));
	fs.symlinkSync(path.join(outside, 'dangling.txt'), s.file('dangling.txt'));
	fs.writeFileSync(path.join(outside, 'old.txt'), 'one\ntwo\n');
	fs.symlinkSync(path.join(outside, 'old.txt'), s.file('old.txt'));
	const inside = await s.turn(...['in/a.txt', 'more/b.txt', 'sub/c.txt'].map((name) => write(s.file(name))), 'TEXT:done');
	assert.deepEqual([inside.stop, inside.text, inside.asked.map((q) => q.toolCall.title)], ['end_turn', 'done', []]);
	assert.deepEqual(['sub/a.txt', 'sub/c.txt'].map((name) => s.has(name)), [true, true]);
	assert.deepEqual(fs.readdirSync(more), ['b.txt']);

	s.o.answer = () => 'reject_once';
	for (const wish of [write(s.file('out/a.txt')), write(s.file('dangling.txt')), edit(s.file('old.txt')), write(path.join(outside, 'b.txt'))]) {
		const turn = await s.turn(wish, 'TEXT:after');
		// at level strict the harness does not see the file, and may find no text to edit before it asks
		const asked = x.level === 'strict' && wish.startsWith('EDIT:') ? [0, 1] : [1];
		assert.equal(turn.stop, 'end_turn', wish);
		assert.ok(asked.includes(turn.asked.length), `${wish}: ${turn.asked.length} questions`);
	}
	assert.deepEqual(fs.readdirSync(outside), ['old.txt']);
	assert.equal(fs.readFileSync(path.join(outside, 'old.txt'), 'utf8'), 'one\ntwo\n');
}

async function additionalDirectories(x, t) {
	const { s, more: [, dir] } = await editing(x, t);
	s.spent = true;
	fs.writeFileSync(path.join(dir, 'a.txt'), 'one\n');
	const turn = await s.turn(`EDIT:${JSON.stringify({ file: path.join(dir, 'a.txt'), from: 'one', to: 'two' })}`, 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.equal(fs.readFileSync(path.join(dir, 'a.txt'), 'utf8'), 'two\n');
	assert.equal(turn.asked.length, 0, 'an edit there is asked');
}

// A question of the model that wants words goes to a client that takes forms. OpenCode has no way to ask one over ACP: its
// model must not be offered a tool for it, the turn would hang.
async function asksInWords(x, t) {
	const forms = [];
	const form = (params) => {
		forms.push(params);
		return { action: 'accept', content: Object.fromEntries(
			Object.keys(params.requestedSchema.properties).map((name) => [name, 'blue'])) };
	};
	const { mode, tool, args } = x.h.question ?? {};

	if (!tool) {
		const { s } = await relayed(x, t); // its client takes forms
		await s.turn('TEXT:no question');
		const { tools } = s.requests.at(-1);
		assert.ok(tools.includes('bash') && !tools.some((name) => /question|^ask/.test(name)), `${tools}`);
		return;
	}
	const s = await x.session(t, { on: await x.connect({ form }), acpd: { mode } });
	const turn = await s.turn(`TOOL:${tool} ${JSON.stringify(args)}`, 'TEXT:done');
	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.equal(forms.length, 1);
	assert.equal(forms[0].mode, 'form');
	assert.equal(forms[0].sessionId, s.id);
	assert.match(JSON.stringify(forms[0]), /Which color\?.*red|red.*Which color\?/);
	assert.match(s.results.at(-1), /blue/);
}

// --- cancel ----------------------------------------------------------------------------------

async function cancelText(x, t) {
	const s = await x.session(t);
	const running = s.begin('SLOW:60', `TEXT:${Array.from({ length: 200 }, (_, i) => `w${i}`).join(' ')}`);
	await until(() => running.now().text.includes('w3'), 'the turn streams');
	const turn = await s.cancel(running);

	assert.ok(!turn.text.includes('w199'));
	await until(() => s.requests.at(-1).aborted, 'the request to the provider is given up');
	await s.goesOn();
}

async function cancelCommand(x, t) {
	const s = await x.session(t);
	const command = nap();
	const running = s.begin(`RUN:${command}`, 'TEXT:not reached');
	await runs(command);
	const turn = await s.cancel(running);

	await gone(command);
	assertCall(turn.calls[0], { status: 'failed' });
	const at = s.o.messages.length;
	await sleep(300);
	assert.deepEqual(s.o.messages.slice(at).filter((m) => m.params?.update), [], 'updates after the end of the turn');
	await s.goesOn();
}

// Not the harness, but all that the command began, wherever it went. What the built-in tool was told to keep in the background is the
// session's and not the turn's.
async function cancelFamily(x, t) {
	const s = await builtinTools(x, t);
	s.spent = true;
	const [asked, kept, ...family] = Array.from({ length: 5 }, nap);
	const background = (command) => `MCP:acpd runCommand ${JSON.stringify({ command: `exec ${command}`, background: true })}`;
	await s.turn(background(asked), 'TEXT:it runs');
	const harness = x.rig.harnessOf(s.id);
	const running = s.begin(background(kept), `RUN:setsid ${family[0]} & setsid sh -c '${family[1]} & exec ${family[2]}' & wait`, 'TEXT:not reached');

	for (const command of [asked, kept, ...family])
		await runs(command);
	await s.o.cancel(s.id);
	assert.equal((await running.done).stop, 'cancelled');
	for (const command of family)
		await gone(command, 15_000);
	await s.goesOn();
	if (!JSON.stringify(s.o.messages).includes('"harness_exited"')) // it was too slow for the daemon on a busy machine
		assert.equal(x.rig.harnessOf(s.id)?.pid, harness.pid, 'the harness is another one');
	for (const command of [asked, kept])
		assert.equal(commands(command).length, 1, command);
}

async function cancelQuestion(x, t) {
	const s = await x.session(t);
	const name = fresh('made');

	s.o.answer = () => undefined;
	const running = s.begin(`RUN:touch ${name}`, 'TEXT:not reached');
	await until(() => running.now().asked.length === 1, 'the question');
	await s.cancel(running);
	assert.ok(!s.has(name));
	s.o.answer = () => 'allow_once';
	await s.goesOn();
}

async function cancelRetry(x, t) {
	const s = await x.session(t);
	const at = s.requests.length;
	const from = s.o.messages.length;
	const answer = s.o.prompt(s.id, 'ERR:503 retry-after=60').then((a) => a.stopReason, (e) => e.data?.turn?.class ?? e.message);
	await until(() => s.requests.length > at, 'the failed request');
	await sleep(300);
	const asked = s.requests.length;
	await s.o.cancel(s.id);

	assert.equal(await answer, 'cancelled');
	assert.equal(s.requests.length, asked, 'it waited for the next try');
	assert.ok(s.o.messages.length > from);
	await s.goesOn();
}

async function cancelQueue(x, t) {
	const s = await x.session(t);
	const command = nap();
	const first = s.begin(`RUN:${command}`, 'TEXT:not reached');
	await runs(command);
	const second = s.begin('TEXT:never said');
	const asked = s.requests.length;
	await s.cancel(first);

	assert.equal((await second.done).stop, 'cancelled');
	assert.equal(s.requests.length, asked, 'the waiting prompt went to the model');
	assert.equal(commands(command).length, 0);
	await s.goesOn();
}

// --- budgets ---------------------------------------------------------------------------------

const lines = (s, name) => s.has(name) ? s.read(name).split('\n').length - 1 : 0;

function assertSpent(turn, scope, limit) {
	const detail = turn.answer._meta.acpd.stopDetail;

	assert.deepEqual([turn.stop, turn.ends.length, turn.ends[0].stopReason], ['max_turn_requests', 1, 'max_turn_requests']);
	assert.deepEqual([detail.budget, detail.scope, detail.limit], ['toolCalls', scope, limit]);
	assert.deepEqual(turn.ends[0]._meta.acpd.stopDetail, detail);
}

// Nothing is asked, so nothing but the budget can keep a call from being made; whatever kind it is, and several at once.
async function callBudget(x, t) {
	const s = await x.session(t, { acpd: { policy: { approval: 'never' }, mcp: { builtin: true }, budgets: { turn: { toolCalls: 2 } } } });
	const isMetered = x.route !== 'environment'; // else the harness goes on with its provider until the daemon has stopped it
	const ran = (n, what) => {
		assert.ok(x.h.cutsCalls ? lines(s, 'log') <= n : lines(s, 'log') === n, `${lines(s, 'log')} ${what} ran`);
		fs.rmSync(s.file('log'), { force: true });
	};
	const beyond = [`RUN:echo c >> log`, write(s.file('beyond.txt'))];

	for (const wish of beyond) {
		const turn = await s.turn('RUN:echo a >> log', 'RUN:echo b >> log', wish, 'TEXT:never');
		assertSpent(turn, 'turn', 2);
		assert.equal(lines(s, 'log'), 2, wish);
		if (isMetered)
			assert.equal(turn.text, '');
		fs.rmSync(s.file('log'));
	}
	assert.ok(!s.has('beyond.txt'));

	const within = await s.turn('RUN:echo a >> log', 'RUN:echo b >> log', 'TEXT:both');
	assert.deepEqual([within.stop, within.text, lines(s, 'log')], ['end_turn', 'both', 2]);
	fs.rmSync(s.file('log'));

	const atOnce = await s.turn(...[1, 2, 3, 4].map((n) => `+RUN:echo ${n} >> log`), 'RUN:echo 5 >> log', 'TEXT:never');
	assertSpent(atOnce, 'turn', 2);
	ran(2, 'calls of five');

	// its own tools and those of acpd share the budget
	const shell = (n) => `MCP:acpd runCommand ${JSON.stringify({ command: `echo ${n} >> log` })}`;
	const mixed = await s.turn('RUN:echo 1 >> log', `+${shell(2)}`, `+${shell(3)}`, `+${shell(4)}`, 'TEXT:never');
	assertSpent(mixed, 'turn', 2);
	ran(2, 'calls of four');
	const prompt = await s.turn({ budgets: { toolCalls: 1 } }, ...[1, 2, 3].map((n) => `+${shell(n)}`), 'TEXT:never');
	assertSpent(prompt, 'prompt', 1);
	ran(1, 'calls of three');
	await s.goesOn();

	const from = s.requests.length;
	const ten = await s.turn(...Array.from({ length: 10 }, (_, n) => `RUN:echo ${n} >> log`), 'TEXT:never');
	assertSpent(ten, 'turn', 2);
	ran(2, 'calls of ten');
	if (isMetered) {
		assert.ok(ten.calls.length <= 3, `${ten.calls.length} calls`);
		// three for the calls, and one that may be under way when the third is told of
		assert.ok(s.requests.length - from <= 4, `${s.requests.length - from} requests`);
	}
	await s.goesOn();
}

// What was allowed for good is not asked again, in no later turn, and counts as every call does.
async function allowAlways(x, t) {
	const s = await x.session(t, { acpd: { budgets: { session: { toolCalls: 5 } } } });
	const touch = () => s.turn('RUN:touch made', 'TEXT:made');

	s.o.answer = () => 'allow_always';
	const [first, second] = [await touch(), await touch()];
	assert.equal(first.asked.length, 1);
	assert.equal(second.asked.length, 0, 'asked again');
	assert.deepEqual([second.stop, second.text], ['end_turn', 'made']);
	assertCall(second.calls[0], {});
	const two = await s.turn('RUN:echo a >> log', 'RUN:echo a >> log', 'TEXT:two');
	assert.deepEqual([two.stop, two.text, two.asked.length], ['end_turn', 'two', 1]);
	assertSpent(await s.turn('RUN:echo a >> log', 'RUN:echo a >> log', 'TEXT:never'), 'session', 5);
	assert.equal(lines(s, 'log'), 3);
}

export default [
	['allow once: asked again the next time', allowOnce],
	['allow always: not asked again, but counted by the session\'s budget of tool calls', allowAlways],
	['reject: nothing is done, the session goes on', reject],
	['approval never: nothing is asked', never],
	['MCP calls under approval never', mcpUnasked],
	['approval accept-edits: commands are asked, edits are not', acceptEdits],
	['approval accept-edits: an edit that a symbolic link leads outside is asked', acceptEditsThroughLinks],
	['additional directories', additionalDirectories],
	['a budget of tool calls: the call beyond it does not run', callBudget],
	['a form: the model asks in words', asksInWords],
	['cancel in the middle of the text', cancelText],
	['cancel in the middle of a command: it is gone', cancelCommand],
	['cancel: nothing that the turn started lives, but the harness and what was declared to run in the background', cancelFamily],
	['cancel while a question is open', cancelQuestion],
	['cancel while the harness tries the provider again', cancelRetry],
	['cancel ends the waiting prompts too', cancelQueue],
];
