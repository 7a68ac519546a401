// SPDX-License-Identifier: Apache-2.0
// Turns: text and thoughts, tools with their results, several prompts on one session.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from '../until.mjs';
import { assertCall, assertRefused, diffs, equipped, exitCode, fresh, instructed, nap, runs, shown, steps } from '../play.mjs';
import { sleep } from '../rig.mjs';

const THREE = 'one\ntwo\nthree\n';

async function textAndThoughts(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('THINK:pondering the question', 'TEXT:Hello from the model.');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.thoughts, 'pondering the question');
	assert.equal(turn.text, 'Hello from the model.');
	const numbers = turn.updates.filter((u) => /chunk/.test(u.sessionUpdate)).map((u) => u.acpd.turn);
	assert.ok(numbers.length > 0 && new Set(numbers).size === 1, `turns ${numbers}`);
	assert.equal(turn.ends.length, 1);
	assert.equal(turn.ends[0].stopReason, 'end_turn');
	const at = s.o.messages.length;
	await sleep(200);
	assert.deepEqual(s.o.messages.slice(at).filter((m) => m.params?.sessionId === s.id), [], 'updates after the turn');
}

// Text before and after a tool: two messages of the model, told apart by their ids where the harness has any.
async function commandSucceeds(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('TEXT:before', 'RUN:echo out-$((40 + 2))', 'TEXT:after');
	const [call, ...more] = turn.calls;

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.text, 'beforeafter');
	assert.deepEqual(more, []);
	assertCall(call, { kind: 'execute' });
	assert.ok(call.name, 'the tool has no name');
	assert.match(shown(call), /out-42/);
	assert.match(JSON.stringify(call.rawInput), /echo out-/);
	assert.ok(call.rawOutput, 'no rawOutput');
	assert.match(s.results.at(-1), /out-42/);
	const ids = new Set(turn.of('agent_message_chunk').map((u) => u.messageId));
	assert.ok(ids.size === 2 && !ids.has(undefined), `message ids ${[...ids]}`);
}

async function commandFails(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('RUN:echo oops; exit 3', 'TEXT:it failed');

	assert.equal(turn.stop, 'end_turn');
	assertCall(turn.calls[0], { kind: 'execute', status: 'failed' });
	assert.match(shown(turn.calls[0]), /oops/);
	assert.equal(exitCode(turn.calls[0].rawOutput), 3, JSON.stringify(turn.calls[0].rawOutput));
	assert.match(s.results.at(-1), /code:? 3\b/, 'the model is not told');
	assert.equal(turn.text, 'it failed');
}

async function twoToolsInOneAnswer(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('+RUN:echo first-$((1 + 1))', 'RUN:echo second-$((2 + 2))', 'TEXT:both');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.calls.length, 2);
	turn.calls.forEach((call) => assertCall(call, { kind: 'execute' }));
	for (const output of [/first-2/, /second-4/])
		assert.equal(turn.calls.filter((call) => output.test(shown(call))).length, 1, `${output}`);
	assert.equal(turn.text, 'both');
}

async function editsAFile(x, t) {
	const s = await x.session(t);
	const name = `${fresh('edit')}.txt`;
	const file = s.file(name, THREE);
	const turn = await s.turn(`EDIT:${JSON.stringify({ file: name, from: 'two', to: 'TWO' })}`, 'TEXT:done');
	const call = turn.calls.find((c) => c.kind === 'edit');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(s.read(name), 'one\nTWO\nthree\n');
	assertCall(call, { kind: 'edit' });
	assert.ok(call.locations?.some((l) => l.path === file), 'no location');
	const [diff] = diffs(call);
	assert.equal(diff?.path, file);
	assert.match(diff.oldText, /two/);
	assert.match(diff.newText, /TWO/);
	assert.doesNotMatch(diff.newText, /two/);
	assert.equal(turn.asked.length, 1);
	assert.equal(turn.asked[0].toolCall.toolCallId, call.toolCallId);
}

async function makesAFile(x, t) {
	const s = await x.session(t);
	const name = `${fresh('new')}.txt`;
	const turn = await s.turn(`WRITE:${JSON.stringify({ file: name, text: 'fresh text\n' })}`, 'TEXT:done');
	const call = turn.calls.find((c) => c.kind === 'edit');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(s.read(name), 'fresh text\n');
	assertCall(call, { kind: 'edit' });
	const [diff] = diffs(call);
	assert.equal(diff?.path, s.file(name));
	assert.ok(!diff.oldText, `old text ${diff.oldText}`);
	assert.match(diff.newText, /fresh text/);
}

async function readsAFile(x, t) {
	const s = await x.session(t);
	const name = `${fresh('read')}.txt`;
	const file = s.file(name, 'content of the file\n');
	const turn = await s.turn(`READ:${file}`, 'TEXT:done');

	assert.equal(turn.stop, 'end_turn');
	assertCall(turn.calls[0], { kind: 'read' });
	assert.ok(turn.calls[0].locations?.some((l) => l.path === file), JSON.stringify(turn.calls[0].locations));
	assert.match(s.results.at(-1), /content of the file/);
}

async function projectNotes(x, t) {
	const s = await instructed(x, t);
	const turn = await s.turn('TEXT:hi');

	assert.equal(turn.stop, 'end_turn');
	assert.ok(s.requests.at(-1).body.includes('MARK-IN-AGENTS-MD'));
}

async function secondPromptWaits(x, t) {
	const s = await x.session(t);
	const first = s.begin('SLOW:60', 'TEXT:a b c d e f g h i j');
	await until(() => first.now().text.includes('a'), 'the first turn streams');
	const second = s.begin('TEXT:second');
	const [a, b] = await Promise.all([first.done, second.done]);

	assert.deepEqual([a.stop, b.stop], ['end_turn', 'end_turn']);
	// by the turn of each update: the second may have begun before the client has seen that the first is answered
	const said = first.now().of('agent_message_chunk'); // since the first began: the session may have had turns before
	const turns = said.map((u) => u.acpd.turn);
	const textOf = (turn) => said.filter((u) => u.acpd.turn === turn).map((u) => u.content.text).join('');
	assert.deepEqual(turns, [...turns].sort((m, n) => m - n), 'the turns are mixed');
	assert.deepEqual([textOf(turns[0]), textOf(turns.at(-1))], ['a b c d e f g h i j', 'second']);
}

// More input for the running turn: it is in the model's next request, and the turn stays one.
async function steering(x, t) {
	const s = await x.session(t);
	const steer = (...lines) => s.request('_session/steering', { prompt: [{ type: 'text', text: lines.join('\n') }] });
	const running = s.begin('RUN:until [ -e steered ]; do sleep 0.1; done', 'TEXT:as planned at first');
	await until(() => running.now().calls.some((c) => c.status === 'in_progress'), 'the command runs');
	const answer = await steer('TEXT:as told later').then((result) => ({ result }), (error) => ({ error }));
	const steered = s.file('steered', '');
	const turn = await running.done;

	fs.rmSync(steered);
	assert.equal(turn.stop, 'end_turn');
	if (!x.h.steer) {
		assertRefused(answer.error ?? assert.fail(JSON.stringify(answer)), 'STEERING_UNSUPPORTED');
		assert.equal(turn.text, 'as planned at first');
		return;
	}
	assert.equal(answer.error, undefined);
	assert.equal(answer.result.outcome, 'injected');
	assert.match(turn.text, /as told later/);
	assert.ok(s.requests.some((r) => r.prompt === 'TEXT:as told later'));
	await s.goesOn();
}

async function retriesAndSucceeds(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('ERR:500x1 retry-after=0', 'TEXT:recovered');

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.text, 'recovered');
	if (x.h.tellsRetries)
		assert.ok(turn.of('notice').length > 0, 'the retry is not told');
}

// What had come before the stream broke off is not a part of the answer: its message is another.
async function retriesAfterACut(x, t) {
	const s = await x.session(t);
	const text = Array.from({ length: 20 }, (_, i) => `w${i}`).join(' '); // slow enough that its beginning is shown before the end comes
	const turn = await s.turn('SLOW:100', `TEXT:${text}`, 'CUTx1', 'TEXT: and the rest');
	const messages = new Map();

	for (const { messageId, content } of turn.of('agent_message_chunk'))
		messages.set(messageId, (messages.get(messageId) ?? '') + content.text);
	assert.equal(turn.stop, 'end_turn');
	const [half, ...whole] = messages.values();
	assert.ok(half && text.startsWith(half.trim()), JSON.stringify([...messages]));
	assert.equal(whole.join(''), `${text} and the rest`);
}

// As the provider asked for.
async function waitsBeforeARetry(x, t) {
	const s = await x.session(t);
	const turn = await s.turn('ERR:429x1 retry-after=2', 'TEXT:recovered');
	const [first, second] = s.requests.slice(-2);

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'recovered']);
	assert.ok(second.at - first.at > 1900, `asked again after ${second.at - first.at} ms`);
}

// No command of that name, or no command at all: words to the model, byte for byte.
async function slashes(x, t) {
	const s = await x.session(t);

	for (const text of ['/nosuch command, is there?', '/etc/hosts is what I mean', '  //', '/', '\u2003/compact-not']) {
		const turn = await s.turn(text, 'TEXT:read');
		assert.deepEqual([turn.stop, turn.text], ['end_turn', 'read'], text);
		assert.equal(s.requests.at(-1).prompt.trim(), `${text}\nTEXT:read`.trim());
	}
}

// A list of tasks where the harness offers its model one.
async function plans(x, t) {
	const s = await x.session(t);
	const { tool, args } = x.h.tasks ?? {};

	if (!tool) {
		await s.turn('TEXT:none');
		assert.ok(!s.requests.at(-1).tools.some((name) => /todo|plan$/.test(name)), `${s.requests.at(-1).tools}`);
		return;
	}
	const turn = await s.turn(`TOOL:${tool} ${JSON.stringify(args)}`, 'TEXT:done');
	assert.equal(turn.stop, 'end_turn');
	assert.deepEqual(turn.of('plan').at(-1)?.entries, [{ content: 'look', priority: 'high', status: 'completed' },
		{ content: 'mend', priority: 'medium', status: 'in_progress' }]);
}

// PATH of the session is that of its commands: no login shell sets it anew.
async function ownPath(x, t) {
	const s = await equipped(x, t);
	const turn = await s.turn('RUN:own-tool', 'TEXT:done');

	assert.match(shown(turn.calls[0]), /from-own-tool/);
	assert.match(s.results.at(-1), /from-own-tool/);
}

async function tokenLimit(x, t) {
	const s = await x.session(t);

	assert.equal((await s.turn('STOP:length', 'TEXT:cut short')).stop, 'max_tokens');
	await s.goesOn();
}

// What the provider's own filter ended is no success: a refusal, or an error where a harness takes it for one.
async function refusal(x, t) {
	const s = await x.session(t);
	const ended = await s.turn('TEXT:I will', 'STOP:refusal').then((turn) => turn.stop, (e) => e.data?.turn?.class);

	assert.ok(['refusal', 'provider'].includes(ended), `${ended}`);
	await s.goesOn();
}

async function eightCommandsInARow(x, t) {
	const s = await x.session(t);
	const turn = await s.turn(...steps(8), 'TEXT:eight');

	assert.equal(turn.stop, 'end_turn');
	assert.deepEqual(turn.calls.map((c) => /step-(\d)/.exec(shown(c))?.[1]), ['0', '1', '2', '3', '4', '5', '6', '7']);
	assert.equal(turn.text, 'eight');
}

async function outputWhileItRuns(x, t) {
	const s = await x.session(t);
	const command = nap();
	const running = s.begin(`RUN:echo early; sleep 0.5; echo more; ${command}`, 'TEXT:not reached');
	await runs(command);
	await until(() => running.now().calls.some((c) => /more/.test(shown(c))), 'the output so far');
	await s.cancel(running);
}

export default [
	['text and thoughts', textAndThoughts],
	['a command that succeeds', commandSucceeds],
	['a command that fails: exit code and output', commandFails],
	['two tools in one answer', twoToolsInOneAnswer],
	['eight commands in a row', eightCommandsInARow],
	['the output of a command is shown while it runs', outputWhileItRuns],
	['an edit: question, diff, location, the file', editsAFile],
	['a new file: a diff without old text', makesAFile],
	['a file is read: kind and location', readsAFile],
	['AGENTS.md of the project reaches the model', projectNotes],
	['a second prompt waits for the first', secondPromptWaits],
	['steering: more input for the running turn', steering],
	['the provider fails once: the harness tries again', retriesAndSucceeds],
	['the provider breaks off once: what it said then is another message', retriesAfterACut],
	['the provider says when to come again: not sooner', waitsBeforeARetry],
	['a prompt that begins with a slash and is no command reaches the model', slashes],
	['a list of tasks is a plan', plans],
	['a command finds what lies in the PATH of the session', ownPath],
	['the token limit ends the answer', tokenLimit],
	['the provider refuses', refusal],
];
