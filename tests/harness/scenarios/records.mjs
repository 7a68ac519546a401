// SPDX-License-Identifier: Apache-2.0
// Usage as the model server scripted it, and sessions that outlive their harness, their socket and their daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from '../until.mjs';
import { assertRefused, assertUsage, fresh, isModel, ofRecord, ofResponse, Play, twoModels, usageOf, usageRecords, valuesOf, withApi } from '../play.mjs';
import { ofSession, startRig, textOf } from '../rig.mjs';

const usage = (numbers) => `USAGE:${JSON.stringify(numbers)}`;
const A = { input: 5000, cached: 4000, output: 300, reasoning: 120 };
const B = { input: 6100, cached: 5000, output: 77, reasoning: 0 };
const C = { input: 7000, cached: 0, output: 41, reasoning: 9 };
const totals = (record) => ofRecord(record.usage);

async function perTurn(x, t) {
	const s = await x.session(t);
	const first = await s.turn(usage(A), 'RUN:echo one', usage(B), 'RUN:echo two', usage(C), 'TEXT:three calls');
	const second = await s.turn(usage(B), 'TEXT:one call');

	assertUsage(ofResponse(first.answer.usage), usageOf(A, B, C), 'the sum of three calls');
	assertUsage(ofResponse(second.answer.usage), usageOf(B), 'the second turn by itself');
}

async function records(x, t) {
	const s = await x.session(t);
	const earlier = await usageRecords(s);
	const first = await s.turn(usage(A), 'RUN:echo one', usage(B), 'RUN:exit 1', usage(C), 'TEXT:three calls');
	await s.turn(usage(B), 'TEXT:one call');
	const [one, two, ...more] = (await usageRecords(s)).slice(earlier.length);
	const number = earlier.length + 1;

	assert.deepEqual(more, []);
	assertUsage(totals(one), usageOf(A, B, C), 'record of the first turn');
	assertUsage(totals(two), usageOf(B), 'record of the second turn');
	assertUsage(totals(one), ofResponse(first.answer.usage), 'record and answer');
	assert.deepEqual([one.turn, one.harness, one.stopReason, two.turn], [number, x.harness, 'end_turn', number + 1]);
	assert.ok(one.model === s.model || one.model.endsWith('/' + s.model), one.model);
	const tools = Object.values(one.toolCalls);
	assert.equal(tools.reduce((n, tool) => n + tool.ok, 0), 1, JSON.stringify(one.toolCalls));
	assert.equal(tools.reduce((n, tool) => n + tool.err, 0), 1, JSON.stringify(one.toolCalls));
	assert.ok(Date.parse(one.tsEnd) >= Date.parse(one.tsStart), `${one.tsStart} ${one.tsEnd}`);
	assert.ok(one.ttftMs >= 0);
	const calls = (await usageRecords(s, 'model_call')).filter((record) => record.turn === number);
	assert.equal(calls.length, 3);
	assert.equal(one.modelCalls, 3);
	[A, B, C].forEach((call, i) => assertUsage(totals(calls[i]), usageOf(call), `call ${i}`));
	for (const record of calls)
		assert.equal(record.via, x.route === 'environment' ? undefined : x.route);
	if (x.route !== 'environment') // what it says itself stands beside, and is the same here
		assertUsage(totals({ usage: one.reported.usage }), usageOf(A, B, C), 'what the harness reported');
}

async function cacheWrites(x, t) {
	const s = await withApi(x, t, x.h.cacheWriteApi ?? x.h.api);
	s.spent = Boolean(x.h.cacheWriteApi);
	const turn = await s.turn(usage({ input: 5000, cached: 1000, written: 3000, output: 100, reasoning: 0 }), 'TEXT:hi');

	assert.equal(turn.answer.usage.inputTokens, 5000);
	assert.equal(turn.answer.usage.cachedReadTokens, 1000);
	assert.equal(turn.answer.usage.cachedWriteTokens, 3000);
}

async function failedTurns(x, t) {
	const s = await x.session(t);
	const earlier = await usageRecords(s);
	await s.turn(usage(A), 'RUN:echo one', usage(B), 'TEXT:fine');
	await s.fails('ERR:401');
	const running = s.begin('SLOW:60', `TEXT:${'word '.repeat(200)}`);
	await until(() => running.now().text.includes('word'), 'the turn streams');
	await s.cancel(running);
	const [fine, failed, cancelled, ...more] = (await usageRecords(s)).slice(earlier.length);

	assert.deepEqual(more, []);
	assertUsage(totals(fine), usageOf(A, B), 'the turn that went well');
	assert.equal(failed.error.class, 'auth');
	assert.equal(failed.stopReason, undefined);
	assert.equal(cancelled.stopReason, 'cancelled');
	assert.notEqual(totals(cancelled).inputTokens, usageOf(A, B).inputTokens, 'cumulative');
}

async function contextGauge(x, t) {
	const s = await x.session(t);
	const turn = await s.turn(usage(A), 'TEXT:hi');
	const gauge = turn.of('usage_update').at(-1);

	assert.ok(gauge, 'no usage_update');
	assert.ok(gauge.used >= 5000 && gauge.used <= 5300, `used ${gauge.used}`);
	assert.ok(gauge.size > gauge.used);
}

// --- sessions --------------------------------------------------------------------------------

// How a closed session is taken up again, and what stands by then in place of the program of ours that a harness loads: that of an older
// acpd, or what the agent put there.
const OLD = `throw new Error('of another acpd');\n`;
const AGAIN = [
	['session/load', (file) => fs.writeFileSync(file, OLD)],
	['session/resume', (file, victim) => {
		fs.writeFileSync(victim, OLD);
		fs.rmSync(file);
		fs.symlinkSync(victim, file);
	}],
];

function assertProgram(x, file) {
	assert.equal(fs.readFileSync(file, 'utf8'), fs.readFileSync(path.join(import.meta.dirname, '../../..', x.h.program[1]), 'utf8'));
	assert.ok(fs.lstatSync(file).isFile());
}

const ended = (s) => until(() => ofSession(s.id).length === 0, 'the harness has ended', 10_000);

async function closeAndTake(x, t) {
	let s = await x.session(t, {});
	const file = x.h.program && path.join(x.rig.daemon.stateDir, 'homes', s.id, x.h.program[0]);
	const victim = path.join(s.cwd, 'victim');

	await s.turn('TEXT:noted', 'the secret word is xylophone');
	for (const [method, damage] of AGAIN) {
		await s.request('session/close', {});
		await ended(s);
		await assert.rejects(s.turn('TEXT:no'), { code: -32002 });
		if (file) {
			assertProgram(x, file);
			damage(file, victim);
		}

		s = await x.take(t, s);
		const taken = await s.request(method, { cwd: s.cwd, mcpServers: [] });
		assert.notEqual(taken._meta.acpd.context, 'lost');
		const turn = await s.turn('RECALL');
		assert.equal(turn.stop, 'end_turn');
		assert.match(turn.text, /Recalled: .*the secret word is xylophone.*RECALL/s);
	}
	if (file) {
		assertProgram(x, file);
		assert.equal(fs.readFileSync(victim, 'utf8'), OLD);
	}
}

// Between two turns; done when the daemon has noticed.
async function killHarness(x, s, id = s.id) {
	const from = s.o.messages.length;
	process.kill(x.rig.harnessOf(id).pid, 'SIGKILL');
	await until(() => s.o.messages.slice(from)
		.some((m) => m.params?.sessionId === id && m.params.event?.event === 'harness_exited'), 'the end of the harness is told', 10_000);
}

// What a client chose: {category: value}; a category that the harness has not is left out.
const CHOICES = { thought_level: 'high', mode: 'plan', _approval: 'never' };

async function choose(s, model) {
	const values = valuesOf(s.option('model'));
	await s.set(s.option('model').id, values.find((value) => value === model || value.endsWith('/' + model)));
	for (const [category, value] of Object.entries(CHOICES)) {
		if (s.option(category))
			assert.equal(await s.set(s.option(category).id, value), value);
	}
}

function assertChosen(s, options, model) {
	const current = (category) => options.find((option) => option.category === category)?.currentValue;

	assert.ok(current('model').endsWith(model), current('model'));
	for (const [category, value] of Object.entries(CHOICES)) {
		if (s.option(category))
			assert.equal(current(category), value);
	}
}

function assertUsed(s, model) {
	const { model: asked, effort } = s.requests.at(-1);
	assert.deepEqual([asked, effort], [model, CHOICES.thought_level]);
}

async function choicesHold(x, t) {
	const { s, models: [, two] } = await twoModels(x, t);
	s.spent = true;
	await choose(s, two);
	await s.turn('TEXT:as chosen');
	assertUsed(s, two);

	await killHarness(x, s);
	await s.turn('TEXT:after its death');
	assertUsed(s, two);

	await s.request('session/close', {});
	const again = await x.take(t, s);
	const load = (_meta) => again.request('session/load', { cwd: s.cwd, mcpServers: [], _meta });
	const refused = await load({ acpd: { model: 'no-such-model' } }).then(() => assert.fail('loaded'), (e) => e);
	assertRefused(refused, 'MODEL_UNKNOWN');
	assert.ok(refused.data.known.some((value) => isModel(value, two)), JSON.stringify(refused.data));
	const { configOptions } = await until(() => load().catch((e) => {
		assert.equal(e.data?.reason, 'SESSION_CLOSING', e.message);
	}), 'the harness of the refused load has ended');
	assertChosen(s, configOptions, two);
	await again.turn('TEXT:after session/load');
	assertUsed(s, two);
}

async function daemonRestarts(x, t) {
	const rig = await startRig(x.model, { harness: x.harness });
	t.after(() => rig.stop());
	const own = new Play(rig, x.harness, x);
	const [one, two] = [fresh('m'), fresh('m')];
	const before = await own.session({ after() {} }, { provider: { model: one, models: [one, two] } });
	await before.turn('RUN:echo an old tool', 'TEXT:noted', 'the secret word is accordion');
	const listed = await before.o.request('session/list', {});
	assert.ok(listed.sessions.some((entry) => entry.sessionId === before.id));
	await choose(before, two);
	await rig.daemon.kill9();
	await rig.daemon.restart();

	const o = await own.connect();
	t.after(() => o.close());
	const { id, cwd } = before;
	const { configOptions } = await o.request('session/load', { sessionId: id, cwd, mcpServers: [], _meta: { acpd: {
		provider: own.provider({ model: one, models: [one, two], headers: { 'x-session': `of-${one}` } }) } } });
	assertChosen(before, configOptions, two);
	const replayed = o.updates(id);
	assert.ok(replayed.some((u) => u.sessionUpdate === 'agent_message_chunk' && u.content.text.includes('noted')));
	assert.ok(replayed.some((u) => u.sessionUpdate === 'user_message_chunk' && u.content.text.includes('accordion')));
	assert.ok(replayed.some((u) => u.sessionUpdate === 'tool_call'));
	const answer = await o.prompt(id, 'RECALL');
	assert.equal(answer.stopReason, 'end_turn');
	const said = o.updates(id).filter((u) => u.sessionUpdate === 'agent_message_chunk').map((u) => u.content.text).join('');
	assert.match(said, /Recalled: .*the secret word is accordion.*RECALL/s);
	assertUsed(before, two);
	assert.deepEqual(o.violations, []);
	await o.request('session/close', { sessionId: id });
}

async function fork(x, t) {
	const s = await x.session(t);
	await s.turn('TEXT:noted', 'the secret word is bassoon');
	const { sessionId: id } = await s.request('session/fork', { cwd: s.cwd, mcpServers: [] });
	assert.notEqual(id, s.id);
	t.after(() => s.o.request('session/close', { sessionId: id }));
	const from = s.o.messages.length;
	assert.equal((await s.o.prompt(id, 'RECALL')).stopReason, 'end_turn');
	assert.match(JSON.stringify(s.o.messages.slice(from)), /bassoon/);

	await killHarness(x, s, id); // it takes the context up again, with what the fork was told
	const at = s.o.messages.length;
	assert.equal((await s.o.prompt(id, 'RECALL', 'after a restart')).stopReason, 'end_turn');
	const said = textOf(s.o.messages.slice(at).flatMap((m) => m.params?.update && m.params.sessionId === id ? [m.params.update] : []));
	assert.match(said, /Recalled: .*bassoon.*RECALL.*RECALL.*after a restart/s); // s: prompts of other rows have line separators
	assert.ok(!(await s.turn('RECALL')).text.includes('after a restart'), 'the original has what the fork was told');
}

export default [
	['usage in the answer: the sum of the turn\'s calls, per turn', perTurn],
	['usage records: file, method and HTTP say the same, and what was scripted', records],
	['tokens written to a cache', cacheWrites],
	['failed and cancelled turns have their records', failedTurns],
	['the context gauge', contextGauge],
	['session/close, then session/load, then session/resume: the model has the context, and the harness our program', closeAndTake],
	['what was chosen holds when the harness is started again', choicesHold],
	['the daemon is killed and started again: the model has the context, what was chosen holds', daemonRestarts],
	['fork', fork],
];
