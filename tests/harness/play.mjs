// SPDX-License-Identifier: Apache-2.0
// What a scenario has in its hands: sessions of one harness, turns with all that came during them, and the checks that
// several scenarios share.
//
//   const s = await x.session();              of the harness under test; one that an earlier scenario left idle may do
//   const turn = await s.turn('TEXT:hi');     {answer, text, thoughts, calls, asked, updates, requests}
//   const error = await s.fails('ERR:401');   the turn's error, checked for its shape

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { deadline } from '../lib/rawws.mjs';
import { until } from './until.mjs';
import { commands, KEY, Orchestrator, textOf, toolCalls } from './rig.mjs';
import { HARNESSES, NODE } from './programs.mjs';

let counter = 0;
// For names that must be like no other: models, files, commands in the process table.
export const fresh = (stem) => `${stem}-${process.pid}-${counter++}`;
// An hour: no test waits for its end.
export const nap = () => `sleep 3600.${process.pid}${counter++}`;

// Starts this command in a process group of its own, and waits until it is there: some harnesses kill the group of a command that ends.
export const detach = (command) => `setsid sh -c 'touch detached; exec ${command}' </dev/null >/dev/null 2>&1 & until [ -e detached ]; do sleep 0.05; done`;

// Commands one after the other, for budgets and order.
export const steps = (n) => Array.from({ length: n }, (_, i) => `RUN:echo step-${i}`);

// What the scripted model counted, as acpd should tell it.
export function usageOf(...calls) {
	const sum = { inputTokens: 0, outputTokens: 0, cachedReadTokens: 0, thoughtTokens: 0, totalTokens: 0 };

	for (const call of calls) {
		const { input, cached, output, reasoning } = { input: 1200, cached: 200, output: 40, reasoning: 8, ...call };
		sum.inputTokens += input;
		sum.outputTokens += output;
		sum.cachedReadTokens += cached;
		sum.thoughtTokens += reasoning;
		sum.totalTokens += input + output;
	}
	return sum;
}

class Turn {
	constructor(session, answer, messages) {
		const mine = messages.filter((m) => m.params?.sessionId === session.id);

		this.answer = answer;
		this.updates = mine.filter((m) => m.method === 'session/update')
			.map((m) => ({ ...m.params.update, acpd: m.params._meta?.acpd }));
		this.asked = mine.filter((m) => m.method === 'session/request_permission').map((m) => m.params);
		this.ends = mine.filter((m) => m.method === '_acpd/turn_end').map((m) => m.params);
	}

	get stop() {
		return this.answer?.stopReason;
	}

	get text() {
		return textOf(this.updates);
	}

	get thoughts() {
		return textOf(this.updates, 'agent_thought_chunk');
	}

	get calls() {
		return toolCalls(this.updates);
	}

	of(kind) {
		return this.updates.filter((u) => u.sessionUpdate === kind);
	}
}

export class Session {
	constructor(x, { o, id, cwd, opened }, model) {
		Object.assign(this, { x, o, id, cwd, opened, model, since: 0 });
		this.options = opened.configOptions ?? [];
	}

	// The requests of this session's turns to the model since the scenario has it, oldest first.
	get requests() {
		return this.x.model.turns.slice(this.since)
			.filter((r) => r.model === this.model || r.headers['x-session'] === `of-${this.model}`);
	}

	get results() {
		return this.requests.flatMap((r) => r.results);
	}

	file(name, text) {
		const file = path.join(this.cwd, name);

		if (text !== undefined)
			fs.writeFileSync(file, text);
		return file;
	}

	read(name) {
		return fs.readFileSync(path.join(this.cwd, name), 'utf8');
	}

	has(name) {
		return fs.existsSync(path.join(this.cwd, name));
	}

	request(method, params) {
		return this.o.request(method, { sessionId: this.id, ...params });
	}

	// A turn that runs while the scenario does something: {done: Promise<Turn>, so far: now()}.
	begin(...lines) {
		const from = this.o.messages.length;
		const now = () => this.o.messages.slice(from);

		return { done: this.o.prompt(this.id, ...lines).then((answer) => new Turn(this, answer, now())),
			now: () => new Turn(this, undefined, now()) };
	}

	turn(...lines) {
		return this.begin(...lines).done;
	}

	// A turn that must end in a typed error: {class, httpStatus?, message, retryable}, with the Turn itself as `turn`.
	async fails(...lines) {
		const from = this.o.messages.length;
		const error = await this.o.prompt(this.id, ...lines)
			.then((answer) => assert.fail(`answered ${JSON.stringify(answer)}`), (e) => e);

		assert.equal(error.code, -32603, error.message);
		assert.equal(error.data?.reason, 'TURN_FAILED', JSON.stringify(error.data));
		const { turn } = error.data;
		assert.equal(typeof turn?.class, 'string', JSON.stringify(error.data));
		assert.equal(typeof turn.retryable, 'boolean', JSON.stringify(turn));
		assert.ok(turn.message, 'no message');
		assert.doesNotMatch(turn.message, /\n/);
		assert.ok(!JSON.stringify(error.data).includes(KEY), 'the key is in the error');
		return { ...turn, turn: new Turn(this, undefined, this.o.messages.slice(from)) };
	}

	// The next prompt works.
	async goesOn() {
		const turn = await this.turn('TEXT:still here');

		assert.equal(turn.stop, 'end_turn');
		assert.equal(turn.text, 'still here');
	}

	option(category) {
		return this.options.find((option) => option.category === category);
	}

	async set(configId, value) {
		const { configOptions } = await this.request('session/set_config_option', { configId, value });

		this.options = configOptions;
		return configOptions.find((option) => option.id === configId).currentValue;
	}

	// Cancels a running turn: it must end, as cancelled, long before what it waits for (see nap).
	async cancel(running) {
		await this.o.cancel(this.id);
		const turn = await deadline(running.done, 15000, 'the end of the cancelled turn');
		assert.equal(turn.stop, 'cancelled');
		return turn;
	}
}

// The values of a select option, groups opened.
export const valuesOf = (option) => option.options.flatMap((o) => o.options ?? [o]).map((o) => o.value);

export class Play {
	#idle = new Map(); // sessions that scenarios share, by the name of their settings

	// route: how the model calls of its sessions are made; level: how far they are confined (ways.mjs)
	constructor(rig, harness, { route = 'environment', level } = {}) {
		Object.assign(this, { rig, harness, route, level, model: rig.model, h: HARNESSES[harness] });
	}

	async connect(options) {
		return Orchestrator.connect(this.rig.daemon, { tunnel: this.rig.tunnel(), ...options, acpd: true, caps: { session: { notices: {}, compaction: {} } } });
	}

	// A session of the scenario's own; without settings one that scenarios share.
	async session(t, settings) {
		return settings ? this.#lend(t, await this.open(settings)) : this.shared(t, 'plain', () => ({}));
	}

	// An idle session of an earlier scenario, which opened it with the settings of this name: opening one costs OpenCode seconds.
	// `make` gives the settings where none is idle; s.settings has them. A scenario that spoils it, or is the
	// last that takes it, sets s.spent.
	async shared(t, name, make) {
		const idle = this.#idle.get(name) ?? [];

		this.#idle.set(name, idle);
		return this.#lend(t, idle.pop() ?? await this.open(await make()), idle);
	}

	#lend(t, s, idle) {
		const from = s.o.messages.length;

		s.since = this.model.turns.length;
		s.o.answer = () => 'allow_once';
		t.after(async () => {
			assert.deepEqual(s.o.violations.splice(0), []);
			assert.deepEqual(s.o.uninvited, []);
			assertRising(s, s.o.messages.slice(from));
			if (idle && t.passed && !s.spent)
				idle.push(s);
			else
				await s.o.close();
		});
		return s;
	}

	// The same session on a connection of its own, where it is yet to be loaded.
	async take(t, s) {
		const o = await this.connect();
		const session = new Session(this, { o, id: s.id, cwd: s.cwd, opened: {} }, s.model);

		o.sessions.push(s.id);
		t.after(async () => {
			await o.close();
			assert.deepEqual(o.violations, []);
			assertRising(session, o.messages);
		});
		return session;
	}

	async open({ provider, on, ...settings }) {
		const model = provider?.model ?? fresh('scripted');
		const headers = { 'x-session': `of-${model}`, ...provider?.headers };
		const o = on ?? await this.connect();

		try {
			const opened = await this.rig.session(null, { harness: this.harness, route: this.route, level: this.level, on: o, ...settings,
				provider: { model, ...provider, headers } });
			return Object.assign(new Session(this, opened, model), { settings });
		} catch (e) {
			await o.close();
			throw e;
		}
	}

	// The scripted model as the provider of a session of this route.
	provider(changes) {
		return this.rig.provider(this.harness, changes, this.route, this.level);
	}

	// session/new that must be refused with one of these reasons.
	async refuses(settings, reasons) {
		const error = await this.open(settings).then((s) => {
			s.o.close();
			assert.fail('the session was opened');
		}, (e) => e);

		assertRefused(error, reasons);
		return error;
	}

	async close() {
		for (const s of [...this.#idle.values()].flat())
			await s.o.close();
	}
}

// Sessions that scenarios of several files share.

// Nothing is asked, and there is an MCP server.
export const unasked = (x, t) => x.shared(t, 'unasked', () => ({ acpd: { policy: { approval: 'never' } },
	params: { mcpServers: [{ name: 'tools', command: NODE, args: [path.join(import.meta.dirname, 'mcp-server.mjs')], env: [] }] } }));

// Edits are not asked, not in two additional directories either.
export async function editing(x, t) {
	const s = await x.shared(t, 'editing', () => {
		const more = [1, 2].map((n) => fs.mkdtempSync(path.join(x.rig.daemon.workDir, `more-${n}-`)));

		return { acpd: { policy: { approval: 'accept-edits' } }, params: { additionalDirectories: more } };
	});

	return { s, more: s.settings.params.additionalDirectories };
}

// A session whose provider speaks this API.
export function withApi(x, t, api) {
	if (api === x.h.api)
		return x.session(t);
	return api === x.h.cacheWriteApi ? x.shared(t, api, () => ({ provider: { api } })) : x.session(t, { provider: { api } });
}

// A session that was given much of its own: an odd model id, headers, variables, a directory of programs, a secret.
export const SECRET = 'correct horse/battery "staple"';
export const equipped = (x, t) => x.shared(t, 'equipped', () => {
	const bin = fs.mkdtempSync(path.join(x.rig.daemon.workDir, 'bin-'));

	fs.writeFileSync(path.join(bin, 'own-tool'), '#!/bin/sh\necho from-own-tool\n', { mode: 0o755 });
	fs.chmodSync(bin, 0o755);
	return { provider: { model: `vendor/${fresh('model-7.x')}`, headers: { 'x-tenant': 'blue' } },
		params: { additionalDirectories: [bin] }, // else a session at level strict does not see it
		env: { MARK: 'green', PATH: `${bin}:${process.env.PATH}` }, acpd: { secrets: { PASSPHRASE_OF_MINE: SECRET } } };
});

// acpd's own tools, with a suite of tests and an interpreter.
const BUILTIN = { interpreters: { python: ['/bin/sh'] },
	tests: { t: { command: 'echo TAP version 13; echo 1..2; echo ok 1 - fine; echo not ok 2 - broken; exit 1', format: 'tap' } } };
export const builtinTools = (x, t) => x.shared(t, 'built-in tools', () => ({ acpd: { mcp: { builtin: BUILTIN } } }));

// A session in plan mode with words of its project and of its orchestrator; nothing is asked.
export const instructed = (x, t) => x.shared(t, 'instructed', () => ({
	prepare: (dir) => fs.writeFileSync(path.join(dir, 'AGENTS.md'), 'Always say MARK-IN-AGENTS-MD.'),
	acpd: { mode: 'plan', policy: { approval: 'never' }, systemPrompt: 'Always say MARK-APPENDED.' } }));

// A model's id, or a harness's name for it.
export const isModel = (value, id) => value === id || value.endsWith('/' + id);

// Two models to choose from.
export async function twoModels(x, t) {
	const s = await x.shared(t, 'two models', () => {
		const models = [fresh('m'), fresh('m')];

		return { provider: { model: models[0], models }, models };
	});

	return { s, models: s.settings.models };
}

export function assertRefused(error, reasons) {
	assert.ok([-32601, -32602].includes(error.code), `${error.code} ${error.message}`);
	assert.ok([reasons].flat().includes(error.data?.reason), `${error.message} ${JSON.stringify(error.data)}`);
}

// Numbers of events rise, and so does nothing come twice.
function assertRising(s, messages) {
	const sequence = messages.filter((m) => m.params?.sessionId === s.id)
		.map((m) => m.params._meta?.acpd?.seq ?? m.params.seq).filter((seq) => seq !== undefined);

	assert.ok(sequence.every((seq, i) => i === 0 || seq > sequence[i - 1]), `seq ${sequence}`);
}

export function assertCall(call, { status = 'completed', kind }) {
	assert.ok(call, 'no tool call');
	assert.equal(call.status, status, JSON.stringify(call));
	if (kind)
		assert.equal(call.kind, kind, JSON.stringify(call));
	assert.ok(call.title, 'no title');
	for (const { path: file } of [...call.locations ?? [], ...diffs(call)])
		assert.ok(path.isAbsolute(file), `relative path ${file}`);
}

export const diffs = (call) => (call.content ?? []).filter((c) => c.type === 'diff');
export const shown = (call) => (call.content ?? []).filter((c) => c.type === 'content').map((c) => c.content.text ?? '').join('');

// The exit code of a command, wherever in rawOutput the harness has it.
export function exitCode(value) {
	for (const [name, inner] of Object.entries(value ?? {})) {
		if (/^exit(_?code)?$/i.test(name) && typeof inner === 'number')
			return inner;
		const found = inner && typeof inner === 'object' ? exitCode(inner) : undefined;
		if (found !== undefined)
			return found;
	}
	return undefined;
}

export const gone = (command, ms = 2000) => until(() => commands(command).length === 0, `${command} is gone`, ms);
export const runs = (command) => until(() => commands(command).length > 0, `${command} runs`);

// --- usage records ---------------------------------------------------------------------------

// Usage records of a session: over the method, and the same over HTTP and in the file.
export async function usageRecords(s, type = 'turn') {
	const records = [];
	for (let page = { last: 0, more: true }; page.more;) {
		page = await s.o.request('_acpd/usage', { sessionId: s.id, since: page.last });
		records.push(...page.records);
	}
	const { daemon } = s.x.rig;
	const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
		.filter((record) => record.sessionId === s.id);
	const { status, body } = await daemon.http('/v1/usage?since=0', { token: daemon.token });

	assert.equal(status, 200, body);
	assert.deepEqual(lines(body), records);
	assert.deepEqual(lines(fs.readFileSync(path.join(daemon.stateDir, 'usage.jsonl'), 'utf8')), records);
	return records.filter((record) => record.type === type);
}

// Without reasoning the provider may say nothing of it, and then nothing is known: absent, not 0.
export function assertUsage(got, want, what) {
	const clean = (u) => Object.fromEntries(Object.entries(u).map(([name, n]) => [name, n ?? 0]));

	assert.deepEqual(clean(got), clean(want), what);
	assert.ok(got.inputTokens > 0 && got.totalTokens > 0, `${what}: ${JSON.stringify(got)}`);
}

// What PromptResponse.usage says and what the record of a turn says, in one form.
export function ofResponse(usage) {
	const { inputTokens, outputTokens, cachedReadTokens, thoughtTokens, totalTokens } = usage ?? {};

	return { inputTokens, outputTokens, cachedReadTokens, thoughtTokens, totalTokens };
}

export function ofRecord(usage) {
	const { inputTokens, outputTokens, cacheReadTokens, reasoningTokens, totalTokens } = usage ?? {};

	return { inputTokens, outputTokens, cachedReadTokens: cacheReadTokens, thoughtTokens: reasoningTokens, totalTokens };
}
