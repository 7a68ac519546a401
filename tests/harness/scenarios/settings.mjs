// SPDX-License-Identifier: Apache-2.0
// What a session is given, and that it arrives: model, thought level, mode, system prompt, provider, environment,
// directories, MCP servers.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { startMcpServer } from '../mcp-server.mjs';
import { assertCall, assertRefused, assertUsage, equipped, fresh, instructed, isModel, ofResponse, SECRET, shown, twoModels, usageOf, valuesOf,
	withApi } from '../play.mjs';
import { NODE } from '../programs.mjs';
import { KEY } from '../rig.mjs';

async function exactModel(x, t) {
	const s = await equipped(x, t);
	const { model } = s;
	await s.turn('RUN:echo hi', 'TEXT:done');

	assert.match(model, /^vendor\/model-7\.x/);
	assert.ok(s.requests.length >= 2);
	assert.ok(s.requests.every((r) => r.model === model));
	assert.ok(isModel(s.option('model').currentValue, model), s.option('model').currentValue);
}

async function unknownModel(x, t) {
	const [one, two] = [fresh('m'), fresh('m')];
	const error = await x.refuses({ provider: { model: one, models: [one, two] }, acpd: { model: 'no-such-model' } }, 'MODEL_UNKNOWN');
	for (const id of [one, two])
		assert.ok(error.data.known.some((value) => isModel(value, id)), JSON.stringify(error.data));

	const { s, models: [first] } = await twoModels(x, t);
	const refused = await s.request('session/set_model', { modelId: 'no-such-model' }).then(() => assert.fail('set'), (e) => e);
	assertRefused(refused, 'MODEL_UNKNOWN');
	await assert.rejects(s.set('model', 'no-such-model'), { code: -32602 });
	assert.equal((await s.turn('TEXT:hi')).stop, 'end_turn');
	assert.equal(s.requests.at(-1).model, first);
}

async function switchModel(x, t) {
	const { s, models: [one, two] } = await twoModels(x, t);
	const values = valuesOf(s.option('model'));
	const value = (id) => values.find((v) => isModel(v, id)) ?? assert.fail(`${id} is not in ${values}`);
	const used = async () => {
		assert.equal((await s.turn('TEXT:hi')).stop, 'end_turn');
		return s.requests.at(-1).model;
	};

	assert.equal(await used(), one);
	assert.equal(await s.set(s.option('model').id, value(two)), value(two));
	assert.equal(await used(), two);
	await s.request('session/set_model', { modelId: value(one) });
	assert.equal(await used(), one);
}

async function thoughtLevel(x, t) {
	const s = await x.session(t);
	const option = s.option('thought_level');

	assert.ok(valuesOf(option).includes('high'), `levels ${valuesOf(option)}`);
	for (const level of ['high', 'low']) {
		assert.equal(await s.set(option.id, level), level);
		await s.turn('TEXT:hi');
		assert.equal(s.requests.at(-1).effort, level);
	}
	await s.set(option.id, option.currentValue);
}

const change = `EDIT:${JSON.stringify({ file: 'a.txt', from: 'one', to: 'two' })}`;

async function assertPlans(s) {
	const turn = await s.turn(change, 'TEXT:planned');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'planned']);
	assert.equal(s.read('a.txt'), 'one\n', 'edited in plan mode');
	assert.match(s.requests.at(-1).body, /plan mode/i);
}

async function modes(x, t) {
	const s = await x.session(t);
	const option = s.option('mode');
	s.file('a.txt', 'one\n');

	assert.equal(option.currentValue, 'build');
	for (const mode of ['build', 'plan'])
		assert.ok(valuesOf(option).includes(mode));
	assert.equal(await s.set(option.id, 'plan'), 'plan');
	await assertPlans(s);
	await assert.rejects(s.set(option.id, 'nonsense'), { code: -32602 });
	await s.request('session/set_mode', { modeId: 'build' });
	assert.equal((await s.turn(change, 'TEXT:built')).stop, 'end_turn');
	assert.equal(s.read('a.txt'), 'two\n');
	await assert.rejects(s.request('session/set_mode', { modeId: 'nonsense' }), { code: -32602 });
}

async function startsInPlan(x, t) {
	const s = await instructed(x, t);

	assert.equal(s.option('mode').currentValue, 'plan');
	s.file('a.txt', 'one\n');
	await assertPlans(s);
}

async function systemPromptAppended(x, t) {
	const s = await instructed(x, t);
	s.spent = true;
	await s.turn('TEXT:hi');
	const { body } = s.requests.at(-1);

	assert.ok(body.includes('MARK-APPENDED'));
	assert.ok(body.includes(x.h.ownPrompt), 'its own prompt is gone');
}

async function systemPromptReplaced(x, t) {
	const acpd = { systemPrompt: { mode: 'override', content: [{ type: 'text', text: 'You are MARK-REPLACED.' }] } };

	const s = await x.session(t, { acpd });
	await s.turn('TEXT:hi');
	const { body } = s.requests.at(-1);
	assert.ok(body.includes('MARK-REPLACED'));
	assert.ok(!body.includes(x.h.ownPrompt), 'its own prompt is still there');
}

async function keyHeadersEnvironment(x, t) {
	const s = await equipped(x, t);
	const turn = await s.turn('RUN:echo mark is $MARK; env', 'TEXT:done');

	assert.equal(turn.stop, 'end_turn');
	for (const request of s.requests) {
		assert.equal(request.keyMatches, true);
		assert.equal(request.headers['x-tenant'], 'blue');
		assert.ok(!request.body.includes(KEY), 'a command sees the key');
	}
	assert.match(s.results.at(-1), /mark is green/);
	for (const secret of [KEY, 'blue'])
		assert.ok(!x.rig.daemon.stderr.includes(secret), 'a secret is in the log');
	const journal = fs.readFileSync(path.join(x.rig.daemon.stateDir, 'sessions', `${s.id}.jsonl`), 'utf8');
	assert.ok(!journal.includes(KEY), 'the key is in the journal');
}

// The model streams about a word at a time, so that no piece holds the whole.
async function secretInPieces(x, t) {
	const secret = SECRET;
	const s = await equipped(x, t);
	s.spent = true;
	const turn = await s.turn('RUN:printenv PASSPHRASE_OF_MINE', `THINK:it may be ${secret} I think`, `TEXT:It is ${secret} and no other.`);

	assert.equal(turn.stop, 'end_turn');
	assert.equal(turn.text, 'It is *** and no other.');
	assert.equal(turn.thoughts, 'it may be *** I think');
	assert.ok(s.results.at(-1).includes(secret) || s.results.at(-1).includes(JSON.stringify(secret).slice(1, -1)), 'the harness has it');
	const journal = fs.readFileSync(path.join(x.rig.daemon.stateDir, 'sessions', `${s.id}.jsonl`), 'utf8');
	for (const text of [JSON.stringify(turn.updates), journal, x.rig.daemon.stderr])
		for (const form of [secret, 'horse/battery', JSON.stringify(secret).slice(1, -1)])
			assert.ok(!text.includes(form), `${form} is seen`);
}

async function everyApi(x, t) {
	for (const api of ['openai-chat', 'openai-responses', 'anthropic']) {
		if (!x.h.apis.includes(api)) {
			await x.refuses({ provider: { api } }, 'PROVIDER_API_UNSUPPORTED');
			continue;
		}
		const s = await withApi(x, t, api);
		const [first, second] = [{ input: 5000, cached: 4000, output: 300, reasoning: 120 }, { input: 7000, cached: 0, output: 41, reasoning: 9 }];
		const turn = await s.turn(`USAGE:${JSON.stringify(first)}`, 'THINK:pondering', 'TEXT:a tool first', 'RUN:echo from the tool',
			`USAGE:${JSON.stringify(second)}`, 'TEXT:, then text');
		assert.deepEqual([turn.stop, turn.thoughts, turn.text], ['end_turn', 'pondering', 'a tool first, then text'], api);
		assert.match(s.results.at(-1), /from the tool/);
		assert.ok(s.requests.every((r) => r.api === api && r.keyMatches));
		const [got, want] = [ofResponse(turn.answer.usage), usageOf(first, second)];
		if (api === 'anthropic') { // has no count of its own for reasoning: absent, not 0
			assert.ok(!('thoughtTokens' in turn.answer.usage), JSON.stringify(turn.answer.usage));
			want.thoughtTokens = undefined;
		}
		assertUsage(got, want, api);
	}
}

// --- MCP -------------------------------------------------------------------------------------

// told: how the transcript shows who; the model gets it as it is.
async function mcpCalls(s, server, who, told = who) {
	const turn = await s.turn(`MCP:${server} add {"a": 40, "b": 2}`, `MCP:${server} whoami {}`, `MCP:${server} fail {}`, 'TEXT:done');
	const [add, whoami, fail] = turn.calls;

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assertCall(add, { kind: 'other' });
	assert.deepEqual([add.name, add.title], [`${server}/add`, `${server}.add`]);
	assert.match(shown(add), /42/);
	assert.match(JSON.stringify(add.rawInput), /"a":\s*40/);
	assertCall(whoami, {});
	assert.ok(shown(whoami).includes(`called as ${told}`), shown(whoami));
	assertCall(fail, { status: 'failed' });
	assert.match(shown(fail), /it failed as it was told to/);
	assert.ok(turn.asked.length > 0, 'MCP calls are not asked');
	for (const text of ['42', `called as ${who}`])
		assert.ok(s.results.some((result) => result.includes(text)), `${text} did not reach the model`);
}

async function mcpServers(x, t) {
	const server = await startMcpServer();
	t.after(() => server.close());
	const s = await x.session(t, { params: { mcpServers: [
		{ name: 'local', command: NODE, args: [path.join(import.meta.dirname, '../mcp-server.mjs')], env: [{ name: 'MCP_WHO', value: 'stdio-user' }] },
		{ type: 'http', name: 'web', url: server.url, headers: [{ name: 'x-who', value: 'http-user' }] }] } });

	await mcpCalls(s, 'local', 'stdio-user');
	assert.deepEqual(server.requests.filter((r) => r.method === 'tools/call'), []);
	await mcpCalls(s, 'web', 'http-user', '***'); // what a header says may be a key
	assert.ok(server.requests.filter((r) => r.method === 'tools/call').length >= 3);
}

export default [
	['the exact model id reaches the provider', exactModel],
	['an unknown model is refused with the list', unknownModel],
	['the model is switched, by option and by the old method', switchModel],
	['the thought level reaches the provider', thoughtLevel],
	['plan mode and back to build mode', modes],
	['a session starts in the mode it was given', startsInPlan],
	['the system prompt is added to', systemPromptAppended],
	['the system prompt is replaced', systemPromptReplaced],
	['key, headers and environment go where they should and nowhere else', keyHeadersEnvironment],
	['a secret that the model streams in pieces, and that a command prints, is not seen', secretInPieces],
	['each API of a provider: tools, thoughts, usage', everyApi],
	['MCP servers over stdio and over HTTP', mcpServers],
];
