// SPDX-License-Identifier: Apache-2.0
// What the tests with real harnesses share: acpd with OpenCode behind it and the scripted model in front, an
// orchestrator on the official SDK that keeps and checks every message, and a look at the process table.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Daemon } from '../lib/daemon.mjs';
import * as procs from '../lib/procs.mjs';
import { SLOW } from '../lib/rawws.mjs';
import { validateMessage } from '../lib/schema.mjs';
import { connectSdk } from '../lib/sdk.mjs';

export { sleep };

export const OPENCODE = path.join(import.meta.dirname, '../node_modules/opencode-linux-x64/bin/opencode');
export const KEY = 'sk-scripted-key-0001'; // what the scripted model wants to see

export async function until(what, condition, ms = 15_000) {
	const end = Date.now() + ms * SLOW;

	for (;;) {
		const value = await condition();
		if (value)
			return value;
		if (Date.now() > end)
			throw new Error(`waited ${ms * SLOW} ms in vain for: ${what}`);
		await sleep(25);
	}
}

// The official SDK's client, and beside it every message as it came over the socket, checked against the schema.
export class Orchestrator {
	messages = [];
	violations = [];
	sessions = [];
	#sdk; #asked = new Map(); // id of a request of ours -> method

	// answer(params): the kind of option to choose; anything else: outcome cancelled; undefined: leave it open
	static async connect(daemon, { answer = () => 'allow_once', acpd = false, caps = {} } = {}) {
		const o = new Orchestrator();

		o.answer = answer;
		o.#sdk = await connectSdk(daemon, { onPermission: (params, signal) => o.#permission(params, signal) });
		o.#tap(o.#sdk.seen.socket);
		await o.#sdk.initialize({ acpd, caps });
		return o;
	}

	#tap(socket) {
		const { send } = socket;

		socket.send = (data, ...rest) => {
			const { id, method } = JSON.parse(data);
			if (method)
				this.#asked.set(id, method);
			return send.call(socket, data, ...rest);
		};
		socket.on('message', (data) => {
			const message = JSON.parse(data);
			const method = message.method ? undefined : this.#asked.get(message.id);
			this.messages.push(message);
			this.violations.push(...validateMessage(message, { method }));
		});
	}

	async #permission(params, signal) {
		const wanted = this.answer(params);
		if (wanted === undefined)
			await new Promise((done) => signal.addEventListener('abort', done));
		return params.options.find((o) => o.kind === wanted)?.optionId ?? 'cancelled';
	}

	get initializeResult() {
		return this.#sdk.initializeResult;
	}

	// Params of the permission questions.
	get asked() {
		return this.messages.filter((m) => m.method === 'session/request_permission').map((m) => m.params);
	}

	// Requests of the daemon that no client capability allows.
	get uninvited() {
		return this.messages.filter((m) => m.method && m.id !== undefined && m.method !== 'session/request_permission');
	}

	request(method, params) {
		return this.#sdk.request(method, params, { timeout: 60_000 });
	}

	prompt(sessionId, ...lines) {
		return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: lines.join('\n') }] });
	}

	cancel(sessionId) {
		return this.#sdk.cancel(sessionId);
	}

	updates(sessionId) {
		return this.messages.filter((m) => m.method === 'session/update' && m.params.sessionId === sessionId)
			.map((m) => ({ ...m.params.update, acpd: m.params._meta?.acpd }));
	}

	// Sequence numbers of all that came for a session, private notifications included.
	sequence(sessionId) {
		return this.messages.filter((m) => m.params?.sessionId === sessionId)
			.map((m) => m.params._meta?.acpd?.seq ?? m.params.seq).filter((seq) => seq !== undefined);
	}

	// Closes its sessions first: they would outlive the connection.
	async close() {
		for (const sessionId of this.sessions)
			await this.request('session/close', { sessionId }).catch(() => {}); // may be closed, or the socket cut
		await this.#sdk.close();
	}

	// As a broken network does it: no close frame.
	cut() {
		this.#sdk.seen.socket.terminate();
	}
}

export const textOf = (updates, kind = 'agent_message_chunk') =>
	updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content.text).join('');

// The last state of each tool call.
export function toolCalls(updates) {
	const calls = new Map();

	for (const { acpd, sessionUpdate, ...update } of updates) {
		if (sessionUpdate === 'tool_call' || sessionUpdate === 'tool_call_update')
			calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
	}
	return [...calls.values()];
}

// --- acpd with a real harness ----------------------------------------------------------------

class Rig {
	constructor(daemon, model) {
		Object.assign(this, { daemon, model });
	}

	// When the test ends, nothing that came in may have broken the protocol.
	async connect(t, options) {
		const o = await Orchestrator.connect(this.daemon, options);

		t.after(async () => {
			await o.close();
			assert.deepEqual(o.violations, []);
		});
		return o;
	}

	// A session in a new directory. `prepare(cwd)` fills it first; `on` takes an open connection.
	async session(t, { provider, env, prepare, on } = {}) {
		const cwd = fs.mkdtempSync(path.join(this.daemon.workDir, 's-'));
		const o = on ?? await this.connect(t);

		prepare?.(cwd);
		const opened = await o.request('session/new', { cwd, mcpServers: [], _meta: { acpd: { env,
			provider: { api: 'openai-chat', baseUrl: this.model.url + '/v1', key: KEY, model: 'scripted-1', ...provider } } } });
		o.sessions.push(opened.sessionId);
		return { o, id: opened.sessionId, cwd, opened };
	}

	homes() {
		const dir = path.join(this.daemon.stateDir, 'homes');

		return fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => path.join(dir, name)) : [];
	}

	stop() {
		return this.daemon.stop();
	}
}

export async function startRig(model) {
	const daemon = await Daemon.start({ flags: { defaultHarness: 'opencode' },
		harnesses: [{ id: 'opencode', command: OPENCODE, args: ['acp'] }] });

	return new Rig(daemon, model);
}

// --- the process table -----------------------------------------------------------------------

function commandLine(pid) {
	try {
		return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
	} catch {
		return ''; // it has ended meanwhile
	}
}

export const commands = (text) => procs.list().filter((p) => procs.alive(p) && commandLine(p.pid) === text);
export const ofSession = (id) => procs.withEnv((env) => env.ACPD_SESSION === id).filter(procs.alive);
export const opencodeOf = (id) => ofSession(id).find((p) => commandLine(p.pid).endsWith('opencode acp'));

// TCP ports on which these processes listen.
export function listeningPorts(list) {
	const sockets = new Set();

	for (const { pid } of list) {
		for (const fd of fs.readdirSync(`/proc/${pid}/fd`)) {
			try {
				sockets.add(/^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]);
			} catch {
				// closed meanwhile
			}
		}
	}
	return ['tcp', 'tcp6'].flatMap((file) => fs.readFileSync(`/proc/net/${file}`, 'utf8').split('\n').slice(1)
		.map((line) => line.trim().split(/\s+/))
		.filter((f) => f[3] === '0A' && sockets.has(f[9]))
		.map((f) => parseInt(f[1].split(':').at(-1), 16)));
}
