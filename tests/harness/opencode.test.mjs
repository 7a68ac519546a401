// SPDX-License-Identifier: Apache-2.0
// The real OpenCode behind acpd: over a real WebSocket, with the official SDK's client, on the scripted model.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { SLOW } from '../lib/rawws.mjs';
import { startModelServer } from './model-server.mjs';
import { commands, KEY, listeningPorts, ofSession, opencodeOf, OPENCODE, sleep, startRig, textOf, toolCalls,
	until } from './rig.mjs';

let model;
let rig;

before(async () => {
	model = await startModelServer({ key: KEY });
	rig = await startRig(model);
});

after(async () => {
	await rig?.stop();
	await model?.close();
});

let naps = 0;
// A command that is like no other in the process table, and ends by itself.
const nap = () => `sleep 90.${process.pid}${naps++}`;
const bash = (command) => `TOOL:bash ${JSON.stringify({ command, description: 'a test command' })}`;
const edit = (file, from, to) => `TOOL:edit ${JSON.stringify({ filePath: file, oldString: from, newString: to })}`;

function assertAbsolutePaths(updates) {
	for (const update of updates) {
		for (const { path: file } of [...update.locations ?? [],
			...(Array.isArray(update.content) ? update.content : []).filter((c) => c.type === 'diff')])
			assert.ok(path.isAbsolute(file), `${update.sessionUpdate} has the relative path ${file}`);
	}
}

// A plain client is not sent everything (its own prompts, private notifications), so numbers may be left out.
function assertRising(sequence) {
	assert.ok(sequence.length > 0 && sequence.every((seq, i) => i === 0 || seq > sequence[i - 1]), `seq ${sequence}`);
}

async function assertTurnError(promise, fits) {
	const error = await promise.then((r) => assert.fail('answered ' + JSON.stringify(r)), (e) => e);

	assert.equal(error.code, -32603, error.message);
	assert.match(error.data.reason, /^[A-Z][A-Z_]+$/);
	assert.equal(typeof error.data.turn?.class, 'string', JSON.stringify(error.data));
	for (const text of [error.message, error.data.turn.message ?? ''])
		assert.doesNotMatch(text, /\n/);
	assert.ok(!JSON.stringify(error).includes(KEY));
	fits?.(error);
	return error;
}

test('text with thoughts', async (t) => {
	const { o, id } = await rig.session(t);
	const answer = await o.prompt(id, 'THINK:pondering the question', 'TEXT:Hello from the model.');
	const updates = o.updates(id);

	assert.equal(answer.stopReason, 'end_turn');
	assert.equal(textOf(updates, 'agent_thought_chunk'), 'pondering the question');
	assert.equal(textOf(updates), 'Hello from the model.');
	assert.ok(updates.some((u) => u.sessionUpdate === 'usage_update' && u.used === 1200), 'no usage_update');
	assertRising(o.sequence(id));
	const turns = updates.filter((u) => /chunk/.test(u.sessionUpdate)).map((u) => u.acpd.turn);
	assert.ok(turns.length > 0 && turns.every((turn) => turn === 1), `turns ${turns}`);
	await sleep(300);
	const answered = o.messages.findIndex((m) => m.result?.stopReason);
	assert.deepEqual(o.messages.slice(answered + 1).filter((m) => m.params?.sessionId === id), [], 'updates after the turn');
});

test('the provider of session/new reaches OpenCode: model, key, headers; env reaches the commands', async (t) => {
	const { o, id } = await rig.session(t, { provider: { model: 'special/model-7', headers: { 'x-tenant': 'blue' } },
		env: { MARK: 'green' } });
	const at = model.requests.length;
	await o.prompt(id, bash('echo mark is $MARK'), 'TEXT:done');
	const mine = model.requests.slice(at);

	assert.ok(mine.length >= 2);
	for (const request of mine) {
		assert.equal(request.model, 'special/model-7');
		assert.equal(request.api, 'openai-chat');
		assert.equal(request.keyMatches, true);
		assert.equal(request.headers['x-tenant'], 'blue');
	}
	assert.match(model.turns.at(-1).results.at(-1), /mark is green/);
	assert.ok(!rig.daemon.stderr.includes(KEY), 'the provider key is in the log');
});

for (const api of ['openai-responses', 'anthropic']) {
	test(`a provider that speaks ${api}`, async (t) => {
		const { o, id } = await rig.session(t, { provider: { api } });
		const at = model.requests.length;
		const answer = await o.prompt(id, 'THINK:pondering', 'TEXT:a tool first', bash('echo from the tool'), 'TEXT:, then text');

		assert.equal(answer.stopReason, 'end_turn');
		assert.equal(textOf(o.updates(id), 'agent_thought_chunk'), 'pondering');
		assert.equal(textOf(o.updates(id)), 'a tool first, then text');
		assert.match(model.turns.at(-1).results.at(-1), /from the tool/);
		assert.ok(model.requests.slice(at).every((r) => r.api === api && r.keyMatches && r.model === 'scripted-1'));
	});
}

test('initialize promises what OpenCode can do', async (t) => {
	const o = await rig.connect(t);
	const { agentCapabilities: ours } = o.initializeResult;
	const question = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } };
	const home = fs.mkdtempSync(path.join(rig.daemon.workDir, 'home-'));
	const { stdout } = spawnSync(OPENCODE, ['acp'], { input: JSON.stringify(question) + '\n', encoding: 'utf8',
		cwd: home, env: { HOME: home, TMPDIR: home, PATH: process.env.PATH, OPENCODE_DISABLE_MODELS_FETCH: '1' },
		timeout: 60_000 });
	const { agentCapabilities: real } = JSON.parse(stdout.split('\n')[0]).result;

	assert.equal(ours.loadSession, true);
	for (const name of ['image', 'audio', 'embeddedContext'])
		assert.equal(Boolean(ours.promptCapabilities?.[name]), Boolean(real.promptCapabilities[name]), name);
	for (const name of ['http', 'sse'])
		assert.equal(Boolean(ours.mcpCapabilities?.[name]), Boolean(real.mcpCapabilities[name]), name);
});

test('a tool edits a file once the client allows it', async (t) => {
	const { o, id, cwd } = await rig.session(t);
	fs.writeFileSync(path.join(cwd, 'a.txt'), 'one\ntwo\n');
	const answer = await o.prompt(id, 'TEXT:I will edit.', edit('a.txt', 'two', '2'), 'TEXT:Done.');
	const updates = o.updates(id);

	assert.equal(answer.stopReason, 'end_turn');
	assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\n2\n');
	assert.equal(o.asked.length, 1);
	assert.equal(o.asked[0].sessionId, id);
	assert.deepEqual(o.asked[0].options.map((option) => option.kind), ['allow_once', 'allow_always', 'reject_once']);
	const [call] = toolCalls(updates);
	assert.equal(call.status, 'completed');
	assert.equal(call.kind, 'edit');
	assert.equal(o.asked[0].toolCall.toolCallId, call.toolCallId);
	assert.ok(call.content.some((c) => c.type === 'diff' && c.path === path.join(cwd, 'a.txt')));
	assertAbsolutePaths([...updates, ...o.asked.map((q) => q.toolCall)]);
	assert.equal(textOf(updates), 'I will edit.Done.');
	assert.deepEqual(o.uninvited, []);
});

test('a rejected tool does nothing and the session goes on', async (t) => {
	const { o, id, cwd } = await rig.session(t);
	fs.writeFileSync(path.join(cwd, 'a.txt'), 'one\ntwo\n');
	o.answer = () => 'reject_once';
	const answer = await o.prompt(id, edit('a.txt', 'two', '2'), 'TEXT:then not');

	assert.equal(answer.stopReason, 'end_turn');
	assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\ntwo\n');
	assert.equal(toolCalls(o.updates(id))[0].status, 'failed');
	assert.equal(textOf(o.updates(id)), 'then not'); // the model was told, and went on
	assert.equal((await o.prompt(id, 'TEXT:still here')).stopReason, 'end_turn');
	assert.match(textOf(o.updates(id)), /still here$/);
});

test('usage is that of all model calls of the turn; a failing command has failed', async (t) => {
	const { o, id } = await rig.session(t);
	const at = model.requests.length;
	const answer = await o.prompt(id, bash('exit 3'), bash('true'), 'TEXT:done');

	assert.equal(model.requests.length - at, 3); // no side calls that nobody would count
	assert.deepEqual(answer.usage, { inputTokens: 3600, outputTokens: 120, thoughtTokens: 24, cachedReadTokens: 600,
		cachedWriteTokens: 0, totalTokens: 3720 });
	assert.deepEqual(toolCalls(o.updates(id)).map((call) => [call.name, call.status]),
		[['bash', 'failed'], ['bash', 'completed']]);
	const next = await o.prompt(id, 'TEXT:cut', 'STOP:length');
	assert.equal(next.stopReason, 'max_tokens');
	assert.equal(next.usage.inputTokens, 1200);
});

test('a subagent counts, and what it asks does not hang the turn', async (t) => {
	const { o, id } = await rig.session(t);
	const answer = await o.prompt(id, `TOOL:task ${JSON.stringify({ description: 'sub', subagent_type: 'general',
		prompt: bash('touch made') + '\nTEXT:child done' })}`, 'TEXT:parent done');

	assert.equal(answer.stopReason, 'end_turn');
	assert.equal(o.asked.length, 0);
	assert.match(textOf(o.updates(id)), /parent done$/);
	assert.equal(answer.usage.inputTokens, 4800); // two calls of each
});

test('retries are notices, and the error has its class and status', async (t) => {
	const { o, id } = await rig.session(t, { on: await rig.connect(t, { caps: { session: { notices: {} } } }) });

	await o.prompt(id, 'ERR:500x1 retry-after=0', 'TEXT:ok');
	const notices = o.updates(id).filter((u) => u.sessionUpdate === 'notice');
	assert.equal(notices.length, 1);
	assert.match(notices[0].description, /server had an error/);
	for (const [line, cls, httpStatus, retryable] of [['ERR:401', 'auth', 401, false], ['ERR:402', 'quota', 402, false],
		['ERR:429 retry-after=0', 'rate_limit', 429, true], ['ERR:500 retry-after=0', 'provider', 500, true]])
		await assertTurnError(o.prompt(id, line), ({ data }) => assert.deepEqual(
			{ ...data.turn, message: undefined, provider: undefined },
			{ class: cls, httpStatus, retryable, message: undefined, provider: undefined }));
});

test('models, approval and system prompt of the session', async (t) => {
	const cwd = fs.mkdtempSync(path.join(rig.daemon.workDir, 's-'));
	const o = await rig.connect(t);
	const open = (acpd) => o.request('session/new', { cwd, mcpServers: [], _meta: { acpd: { ...acpd, provider: {
		api: 'openai-chat', baseUrl: model.url + '/v1', key: KEY, models: ['a/one', 'two'] } } } });
	const { sessionId: id, configOptions } = await open({ policy: { approval: 'never' },
		systemPrompt: { mode: 'append', content: [{ type: 'text', text: 'MARK-IN-SYSTEM' }] } });
	o.sessions.push(id);

	const option = configOptions.find((c) => c.category === 'model');
	assert.equal(option.currentValue, 'a/one');
	assert.deepEqual(option.options.map((v) => v.value), ['a/one', 'two']);
	await o.request('session/set_config_option', { sessionId: id, configId: 'model', value: 'two' });
	await o.prompt(id, bash('echo key=$ACPD_PROVIDER_KEY.'), 'TEXT:done');
	assert.equal(o.asked.length, 0);
	assert.equal(model.requests.at(-1).model, 'two');
	assert.match(model.turns.at(-1).system, /MARK-IN-SYSTEM/);
	assert.match(model.turns.at(-1).results.at(-1), /key=\./); // the key is not for commands
});

test('files of the project cannot switch the questions off', async (t) => {
	const { o, id, cwd } = await rig.session(t, { prepare: (dir) => fs.writeFileSync(path.join(dir, 'opencode.json'),
		JSON.stringify({ permission: { bash: 'allow', '*': 'allow' }, agent: { build: { permission: { bash: 'allow' } } } })) });
	o.answer = () => 'reject_once';
	await o.prompt(id, bash('touch made'), 'TEXT:not reached');

	assert.equal(o.asked.length, 1);
	assert.ok(!fs.existsSync(path.join(cwd, 'made')));
});

test('AGENTS.md of the project reaches the model', async (t) => {
	const { o, id } = await rig.session(t, { prepare: (dir) =>
		fs.writeFileSync(path.join(dir, 'AGENTS.md'), 'Always say MARK-IN-AGENTS-MD.') });
	await o.prompt(id, 'TEXT:hi');

	assert.match(model.turns.at(-1).system, /MARK-IN-AGENTS-MD/);
});

test('cancel in the middle of a command', async (t) => {
	const { o, id } = await rig.session(t);
	const command = nap();
	const turn = o.prompt(id, bash(command), 'TEXT:not reached');
	await until('the command runs', () => commands(command).length === 1);
	await o.cancel(id);

	assert.equal((await turn).stopReason, 'cancelled');
	const end = o.messages.length;
	await until('the command is gone', () => commands(command).length === 0, 5000);
	assert.notEqual(toolCalls(o.updates(id))[0].status, 'in_progress');
	await sleep(300);
	assert.deepEqual(o.messages.slice(end).filter((m) => m.params?.update), [], 'updates after the end of the turn');
	assert.equal((await o.prompt(id, 'TEXT:still here')).stopReason, 'end_turn');
});

test('cancel while a question is open', async (t) => {
	const { o, id, cwd } = await rig.session(t);
	fs.writeFileSync(path.join(cwd, 'a.txt'), 'one\ntwo\n');
	o.answer = () => undefined;
	const turn = o.prompt(id, edit('a.txt', 'two', '2'), 'TEXT:not reached');
	await until('the question', () => o.asked.length === 1);
	await o.cancel(id);

	assert.equal((await turn).stopReason, 'cancelled');
	assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\ntwo\n');
});

test('cancel while OpenCode waits to try a failed request again', async (t) => {
	const { o, id } = await rig.session(t);
	const at = model.turns.length;
	const turn = o.prompt(id, 'ERR:500 retry-after=60');
	await until('the failed request', () => model.turns.length > at);
	await sleep(300);
	await o.cancel(id);

	assert.equal((await turn).stopReason, 'cancelled');
});

test('two sessions at once do not mix', async (t) => {
	const { o, id } = await rig.session(t);
	const other = await rig.session(t, { on: o });
	const words = (mark) => Array.from({ length: 80 }, (_, i) => `${mark}${i}`).join(' ');
	const [a, b] = await Promise.all([o.prompt(id, 'SLOW:40', `TEXT:${words('a')}`),
		o.prompt(other.id, 'SLOW:40', `TEXT:${words('b')}`)]);

	assert.deepEqual([a.stopReason, b.stopReason], ['end_turn', 'end_turn']);
	assert.equal(textOf(o.updates(id)), words('a'));
	assert.equal(textOf(o.updates(other.id)), words('b'));
	const chunks = o.messages.filter((m) => m.params?.update?.sessionUpdate === 'agent_message_chunk')
		.map((m) => m.params.sessionId);
	assert.ok(chunks.indexOf(id) < chunks.lastIndexOf(other.id) && chunks.indexOf(other.id) < chunks.lastIndexOf(id),
		'one turn waited for the other');
});

test('load after the socket was lost in a turn: everything once, in order', async (t) => {
	const { o, id, cwd } = await rig.session(t);
	await o.prompt(id, 'THINK:early thought', 'TEXT:early answer', bash('echo tool output'), 'TEXT: after the tool');
	const words = Array.from({ length: 60 }, (_, i) => `w${i}`).join(' ');
	o.prompt(id, 'SLOW:30', `TEXT:${words}`).catch(() => {}); // its answer dies with the socket
	await until('the turn streams', () => textOf(o.updates(id)).includes('w5'));
	o.cut();

	const again = await rig.connect(t, { acpd: true });
	again.sessions.push(id);
	await again.request('session/load', { sessionId: id, cwd, mcpServers: [] });
	await until('the turn has ended', () => textOf(again.updates(id)).endsWith('w59'));
	const updates = again.updates(id);
	const sequence = again.sequence(id);
	assert.deepEqual(sequence, sequence.map((_, i) => i + 1), 'lost, doubled or out of order');
	assert.equal(textOf(updates, 'user_message_chunk').split('SLOW:30').length, 2, 'prompts are not replayed once');
	assert.equal(textOf(updates, 'agent_thought_chunk'), 'early thought');
	assert.equal(textOf(updates), `early answer after the tool${words}`);
	assert.equal(toolCalls(updates)[0].status, 'completed');
	assert.equal((await again.prompt(id, 'TEXT:last')).stopReason, 'end_turn');
});

for (const method of ['session/load', 'session/resume']) {
	test(`${method} after session/close: the model has the context`, async (t) => {
		const { o, id, cwd } = await rig.session(t);
		await o.prompt(id, 'TEXT:noted', 'the secret word is xylophone');
		await o.request('session/close', { sessionId: id });
		await until('OpenCode has ended', () => ofSession(id).length === 0, 10_000);
		await assert.rejects(o.prompt(id, 'TEXT:no'), { code: -32002 });

		const again = await rig.connect(t);
		again.sessions.push(id);
		await again.request(method, { sessionId: id, cwd, mcpServers: [] });
		assert.equal((await again.prompt(id, 'RECALL')).stopReason, 'end_turn');
		assert.match(textOf(again.updates(id)), /Recalled: .*the secret word is xylophone.*RECALL/s);
	});
}

test('what the provider refuses ends the turn with a typed error, and the session goes on', async (t) => {
	const { o, id } = await rig.session(t);

	for (const line of ['ERR:401', 'ERR:402', 'ERR:403', 'ERR:429 retry-after=0', 'ERR:500 retry-after=0',
		'TEXT:a\nMALFORMED']) {
		const at = model.turns.length;
		await assertTurnError(o.prompt(id, line), ({ data }) => assert.doesNotMatch(data.turn.class, /^harness/, line));
		assert.ok(model.turns.length > at);
		assert.equal((await o.prompt(id, `TEXT:works after ${line.slice(0, 7)}`)).stopReason, 'end_turn');
	}
	assert.match(textOf(o.updates(id)), /works after ERR:401.*works after ERR:500/s);
});

test('a model that says nothing at all is an error, not an empty success', async (t) => {
	const { o, id } = await rig.session(t);

	await assertTurnError(o.prompt(id, 'EMPTY'), ({ data }) => assert.match(data.turn.class, /empty/i));
});

test('a wrong key is the provider\'s error, not a success', async (t) => {
	const { o, id } = await rig.session(t, { provider: { key: 'sk-wrong-key-0002' } });

	await assertTurnError(o.prompt(id, 'TEXT:hi'), (error) => assert.match(error.message, /API key/));
	assert.equal(model.turns.at(-1).status, 401);
});

test('modes and config options, and that they have an effect', async (t) => {
	const { o, id, cwd, opened } = await rig.session(t);
	const value = (options) => options.find((option) => option.id === 'mode').currentValue;
	const set = (configId, to) => o.request('session/set_config_option', { sessionId: id, configId, value: to });
	fs.writeFileSync(path.join(cwd, 'a.txt'), 'one\n');

	assert.equal(value(opened.configOptions), 'build');
	const { configOptions } = await set('mode', 'plan');
	assert.equal(value(configOptions), 'plan');
	assert.deepEqual(configOptions.map((option) => option.id), opened.configOptions.map((option) => option.id));
	await assert.rejects(set('mode', 'nonsense'), { code: -32602 });
	await assert.rejects(set('nonsense', 'x'), { code: -32602 });
	await o.prompt(id, edit('a.txt', 'one', 'two'), 'TEXT:planned'); // the plan agent may not edit
	assert.equal(o.asked.length, 0);
	assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'one\n');

	assert.equal(value((await set('mode', 'build')).configOptions), 'build');
	await o.prompt(id, edit('a.txt', 'one', 'two'), 'TEXT:built');
	assert.equal(o.asked.length, 1);
	assert.equal(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8'), 'two\n');
	// OpenCode offers its modes as a config option only: no `modes` in the answer, so no session/set_mode.
	assert.equal(opened.modes, undefined);
	await assert.rejects(o.request('session/set_mode', { sessionId: id, modeId: 'build' }), { code: -32601 });
});

test('OpenCode is killed in a turn: the prompt fails within a second, the next one works', async (t) => {
	const { o, id } = await rig.session(t);
	await o.prompt(id, 'TEXT:before the crash');
	const command = nap();
	const failed = assertTurnError(o.prompt(id, bash(command), 'TEXT:not reached'));
	await until('the command runs', () => commands(command).length === 1);
	const opencode = opencodeOf(id);
	const killed = Date.now();
	process.kill(opencode.pid, 'SIGKILL');
	await failed;

	assert.ok(Date.now() - killed < 1000 * SLOW, `answered after ${Date.now() - killed} ms`);
	await until('its command is gone', () => commands(command).length === 0, 8000);
	assert.equal((await o.prompt(id, 'RECALL')).stopReason, 'end_turn');
	assert.match(textOf(o.updates(id)), /before the crash/);
});

test('OpenCode\'s own port on loopback refuses strangers', async (t) => {
	const { o, id } = await rig.session(t);
	await o.prompt(id, 'TEXT:hi');

	assert.ok(opencodeOf(id));
	for (const port of listeningPorts(ofSession(id))) {
		const { status } = await fetch(`http://127.0.0.1:${port}/config`);
		assert.equal(status, 401, `port ${port} answers without a password`);
	}
});

test('OpenCode fetched nothing into the private homes', () => {
	assert.ok(rig.homes().length > 10);
	for (const home of rig.homes()) {
		const modules = path.join(home, '.config/opencode/node_modules');
		assert.deepEqual(fs.existsSync(modules) ? fs.readdirSync(modules) : [], [], home);
	}
});

// Starts a command that detaches itself, and one that the turn waits for; both still run.
async function startCommands(o, id) {
	const detached = nap();
	const running = nap();

	await o.prompt(id, bash(`setsid nohup ${detached} >/dev/null 2>&1 & echo started`), 'TEXT:done');
	o.prompt(id, bash(running), 'TEXT:not reached').catch(() => {}); // whether cancelled or cut off
	await until('the commands run', () => commands(detached).length === 1 && commands(running).length === 1);
	return () => [...ofSession(id), ...commands(detached), ...commands(running)].map((p) => `${p.pid} ${p.comm}`);
}

test('nothing is left after session/close, not even what detached itself', async (t) => {
	const { o, id } = await rig.session(t);
	const left = await startCommands(o, id);
	await o.request('session/close', { sessionId: id });

	await until('all of it is gone', () => left().length === 0, 10_000);
});

test('nothing is left after the daemon stops', async (t) => {
	const own = await startRig(model);
	const { o, id } = await own.session(t);
	const left = await startCommands(o, id);
	await own.stop();

	assert.deepEqual(left(), []);
});
