// SPDX-License-Identifier: Apache-2.0
// Eight sessions of all three harnesses at once on one connection: each has its own text, tools, files, numbers and
// questions, and nothing of another.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SLOW } from '../lib/rawws.mjs';

import { until } from './until.mjs';
import { startModelServer } from './model-server.mjs';
import { assertUsage, ofRecord, ofResponse, Play, shown, usageOf, usageRecords } from './play.mjs';
import { HARNESSES } from './programs.mjs';
import { commands, KEY, NetworkWatch, Orchestrator, startRig, textOf, toolCalls } from './rig.mjs';

const KINDS = ['codex', 'codex', 'codex', 'pi', 'pi', 'pi', 'opencode', 'opencode'];

let model, rig, network;

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model, { harness: 'codex' });
	network = new NetworkWatch(rig.daemon);
});

after(async () => {
	const seen = network?.stop();

	await rig?.stop();
	await model?.close();
	assert.deepEqual(seen, [], 'addresses outside of this machine');
});

const numbers = (i, call) => ({ input: 2000 + 100 * i + call, cached: 1000 + i, output: 50 + i, reasoning: 10 + i });
const usage = (i, call) => `USAGE:${JSON.stringify(numbers(i, call))}`;
const words = (i, n) => Array.from({ length: n }, (_, k) => `s${i}w${k}`).join(' ');

// Each command waits, 20 s at most, until those of all sessions run: only turns that run at the same time get on.
const ALL_RUN = 'd=../all-run; mkdir -p $d; touch $d/$(basename $PWD); n=0; '
	+ `until [ $(ls $d | wc -l) = ${KINDS.length} ] || [ $n = 200 ]; do sleep 0.1; n=$((n + 1)); done; [ $n -lt 200 ] && `;

function script(i) {
	return [usage(i, 0), 'SLOW:20', `THINK:${words(i, 10)}`, `TEXT:${words(i, 40)}`, `RUN:${ALL_RUN}echo from-$(basename $PWD)-of-${i} | tee made-${i}`,
		usage(i, 1), 'SLOW:20', `TEXT: then ${words(i, 40)}`];
}

function check(s, i, answer) {
	const updates = s.o.updates(s.id);
	const calls = toolCalls(updates);
	const name = s.cwd.split('/').at(-1);

	assert.equal(answer.stopReason, 'end_turn');
	assert.equal(textOf(updates), `${words(i, 40)} then ${words(i, 40)}`);
	assert.equal(textOf(updates, 'agent_thought_chunk'), words(i, 10));
	assert.equal(calls.length, 1);
	assert.equal(shown(calls[0]).trim(), `from-${name}-of-${i}`);
	assert.equal(s.read(`made-${i}`), `from-${name}-of-${i}\n`);
	const asked = s.o.asked.filter((q) => q.sessionId === s.id);
	assert.deepEqual(asked.map((q) => q.toolCall.toolCallId), [calls[0].toolCallId]);
	assert.ok(s.requests.length >= 2);
	assert.ok(s.requests.every((r) => r.api === HARNESSES[s.x.harness].api && r.prompt.includes(words(i, 10))));
	assertUsage(ofResponse(answer.usage), usageOf(numbers(i, 0), numbers(i, 1)), `usage of session ${i}`);
}

test('eight sessions of three kinds at once do not mix', { timeout: 600_000 * SLOW }, async (t) => {
	const o = await Orchestrator.connect(rig.daemon, { acpd: true });
	t.after(async () => {
		await o.close();
		assert.deepEqual(o.violations, []);
	});
	const sessions = await Promise.all(KINDS.map((kind) => new Play(rig, kind).open({ on: o })));
	assert.equal(new Set(sessions.map((s) => s.id)).size, KINDS.length);
	const answers = await Promise.all(sessions.map((s, i) => o.prompt(s.id, ...script(i))));

	sessions.forEach((s, i) => check(s, i, answers[i]));
	for (const [i, s] of sessions.entries()) {
		const [record, ...more] = await usageRecords(s);
		assert.deepEqual([record.harness, more], [KINDS[i], []]);
		assertUsage(ofRecord(record.usage), usageOf(numbers(i, 0), numbers(i, 1)), `record of session ${i}`);
	}
});

test('one of eight is cancelled and one is closed: the others go on', { timeout: 600_000 * SLOW }, async (t) => {
	const o = await Orchestrator.connect(rig.daemon, { acpd: true });
	t.after(() => o.close());
	const kinds = ['codex', 'pi', 'codex', 'pi'];
	const [a, b, c, d] = await Promise.all(kinds.map((kind) => new Play(rig, kind).open({ on: o })));
	const nap = `sleep 80.${process.pid}1`;
	const turns = [a.begin(`RUN:${nap}`), b.begin(`RUN:${nap}0`), c.begin('RUN:sleep 3', 'TEXT:c'), d.begin('RUN:sleep 3', 'TEXT:d')];
	turns[1].done.catch(() => {}); // whether cancelled or cut off
	await until(() => commands(nap).length === 1 && commands(`${nap}0`).length === 1, 'the commands run');
	await o.cancel(a.id);
	await b.request('session/close', {});

	assert.equal((await turns[0].done).stop, 'cancelled');
	await until(() => commands(nap).length + commands(`${nap}0`).length === 0, 'both commands are gone', 8000);
	assert.deepEqual((await Promise.all([turns[2].done, turns[3].done])).map((turn) => [turn.stop, turn.text]),
		[['end_turn', 'c'], ['end_turn', 'd']]);
});
