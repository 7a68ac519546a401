// SPDX-License-Identifier: Apache-2.0
// What the tests with real harnesses share: acpd with all of them behind it (programs.mjs) and the scripted model in front,
// an orchestrator on the official SDK that keeps and checks every message, a look at the process table and at the sockets.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { ModelTunnel } from '../../images/model-tunnel.ts';
import { Daemon } from '../lib/daemon.mjs';
import { internetSockets } from '../lib/internet-sockets.mjs';
import * as procs from '../lib/procs.mjs';
import { validateMessage } from '../lib/schema.mjs';
import { acp, connectSdk } from '../lib/sdk.mjs';
import { HARNESSES, manifest, OPENCODE } from './programs.mjs';

export { OPENCODE, sleep };

const FAR = '127.0.0.2';
export const KEY = 'sk-scripted-key-0001'; // what the scripted model wants to see

// Taken for older clients, but in no schema of today.
const OLD_METHODS = ['session/set_model'];

// The orchestrator's side of the route tunnel: it has the key.
export function tunnelTo(baseUrl) {
	const bearer = { authorization: `Bearer ${KEY}` };

	return new ModelTunnel({ 'openai-chat': { baseUrl, headers: bearer }, 'openai-responses': { baseUrl, headers: bearer },
		anthropic: { baseUrl, headers: { 'x-api-key': KEY } }, google: { baseUrl, headers: { 'x-goog-api-key': KEY } } });
}

// The official SDK's client, and beside it every message as it came over the socket, checked against the schema.
export class Orchestrator {
	messages = [];
	violations = [];
	sessions = [];
	patience = 400_000; // ms for a prompt
	#sdk; #forms; #provider = new acp.McpOverAcpProvider(); #serves = false; #asked = new Map(); // id of a request of ours -> method

	// answer(params): the kind of option to choose, or a promise of it; anything else: outcome cancelled; undefined: leave it open
	// form(params): the response to an elicitation; without it none is announced
	// tunnel: a ModelTunnel that makes the model calls of its sessions
	static async connect(daemon, { answer = () => 'allow_once', form, acpd = false, caps = {}, tunnel } = {}) {
		const o = new Orchestrator();

		o.answer = answer;
		o.#forms = Boolean(form);
		o.#sdk = await connectSdk(daemon, { onPermission: (params, signal) => o.#permission(params, signal), onElicit: form,
			mcp: o.#provider, tunnel });
		o.#tap(o.#sdk.seen.socket);
		await o.#sdk.initialize({ acpd: tunnel ? { model: tunnel.capability } : acpd, caps: form ? { ...caps, elicitation: { form: {} } } : caps });
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
			if (!OLD_METHODS.includes(method))
				this.violations.push(...validateMessage(message, { method }));
		});
	}

	async #permission(params, signal) {
		const wanted = await this.answer(params);
		if (wanted === undefined)
			await new Promise((done) => signal.addEventListener('abort', done));
		return params.options.find((o) => o.kind === wanted)?.optionId ?? 'cancelled';
	}

	// An MCP server that this orchestrator serves, to be named in mcpServers.
	serve(name, handler) {
		this.#serves = true;
		return this.#provider.registerServer(this.#sdk.agent, { name, handler }).declaration;
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
		const invited = ['session/request_permission', '_acpd/model/request', ...this.#forms ? ['elicitation/create'] : [],
			...this.#serves ? ['mcp/message'] : []];

		return this.messages.filter((m) => m.method && m.id !== undefined && !invited.includes(m.method));
	}

	request(method, params) {
		// OpenCode tries a stream that is cut again for more than a minute.
		return this.#sdk.request(method, params, { timeout: method === 'session/prompt' ? this.patience : 60_000 });
	}

	// An object among the lines is _meta.acpd of the prompt.
	prompt(sessionId, ...lines) {
		const acpd = lines.find((line) => typeof line === 'object');
		const text = lines.filter((line) => line !== acpd).join('\n');

		return this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }], ...(acpd && { _meta: { acpd } }) });
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
	#far; // the model once more, at FAR

	constructor(daemon, model, harness) {
		Object.assign(this, { daemon, model, harness });
	}

	async open() {
		const { port } = new URL(this.model.url);

		this.#far = net.createServer((socket) => {
			const there = net.connect(port, '127.0.0.1');

			socket.on('error', () => there.destroy()).pipe(there).on('error', () => socket.destroy()).pipe(socket);
		});
		await new Promise((done) => this.#far.listen(0, FAR, done));
		this.farUrl = `http://${FAR}:${this.#far.address().port}`;
		return this;
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

	// A session in a new directory. `prepare(cwd)` fills it first; `on` takes an open connection; `acpd` is added to
	// _meta.acpd, `params` to the parameters.
	async session(t, { harness = this.harness, provider, route, level, env, acpd, params, prepare, on } = {}) {
		const cwd = fs.mkdtempSync(path.join(this.daemon.workDir, 's-'));
		const o = on ?? await this.connect(t);

		prepare?.(cwd);
		const opened = await o.request('session/new', { cwd, mcpServers: [], ...params,
			_meta: { acpd: { harness, env, provider: this.provider(harness, provider, route, level), ...(level && { level: { name: level, atLeast: false } }),
				...acpd } } });
		o.sessions.push(opened.sessionId);
		return { o, id: opened.sessionId, cwd, opened };
	}

	// The scripted model as a session's provider, in the API that the harness is tested with. route: who makes its calls (ways.mjs).
	// With 'tunnel' the client keeps key and address; a row that names one of them lets the harness call.
	// In strict it is reached through the session's proxy: by an address that no program takes for its own loopback.
	provider(harness, changes = {}, route = 'environment', level = undefined) {
		const api = changes.api ?? HARNESSES[harness].api;

		const { baseUrl, key, ...rest } = { api, baseUrl: (level === 'strict' && route === 'environment' ? this.farUrl : this.model.url) + '/v1', key: KEY, model: 'scripted-1', ...changes };
		const own = changes.baseUrl !== undefined || changes.key !== undefined;

		return route === 'tunnel' && !own ? rest : { via: route === 'tunnel' ? 'environment' : route, ...rest, baseUrl, key };
	}

	tunnel() {
		return tunnelTo(this.model.url);
	}

	// The process of a session's harness: what the daemon itself started.
	harnessOf(id) {
		return ofSession(id).find((p) => p.ppid === this.daemon.child.pid);
	}

	homes() {
		const dir = path.join(this.daemon.stateDir, 'homes');

		return fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => path.join(dir, name)) : [];
	}

	stop() {
		this.#far.close();
		return this.daemon.stop();
	}
}

// Codex runs on one processor, the last one allowed. On several, each page that one of its threads frees interrupts the others, which costs
// a third of its processor time.
const CPU = /\d+$/.exec(procs.status('self').Cpus_allowed_list)[0];
const onOneCpu = (entry) => entry.id === 'codex' ? { ...entry, command: '/usr/bin/taskset', args: ['-c', CPU, entry.command, ...entry.args] } : entry;

// harness: the one that sessions get unless they name another.
export async function startRig(model, { harness = 'opencode', ...options } = {}) {
	const daemon = await Daemon.start({ harnesses: manifest().map(onOneCpu), ...options, flags: { defaultHarness: harness, upstreamAllow: FAR, ...options.flags } });

	return new Rig(daemon, model, harness).open();
}

// --- the process table -----------------------------------------------------------------------

export const commands = (text) => procs.list().filter((p) => procs.alive(p) && procs.commandLine(p.pid) === text);
export const ofSession = (id) => procs.withEnv((env) => env.ACPD_SESSION === id).filter(procs.alive);
export const opencodeOf = (id) => ofSession(id).find((p) => procs.commandLine(p.pid).endsWith('opencode acp'));

// --- sockets ---------------------------------------------------------------------------------

// Those of these sockets that these processes have.
function ofProcesses(list, found) {
	const inodes = new Set(list.flatMap(({ pid }) => procs.socketsIfOurs(pid)));

	return found.filter(({ inode }) => inodes.has(inode));
}

// TCP ports on which these processes listen.
export const listeningPorts = (list) => ofProcesses(list, internetSockets('tcp', 'tcp6')).filter((c) => c.state === '0A').map((c) => c.localPort);

// 127.0.0.0/8, ::1, ::ffff:127.0.0.0/8, and no address at all.
const LOOPBACK = /^(0+|.{6}7F|0{24}01000000|0{16}FFFF0000.{6}7F):/;

const LOOK_MS = 500; // the kernel takes 10 ms of CPU to list its sockets

// Looks again and again whether a process of the daemon speaks to another machine, be it only to ask for a name. stop() says
// which addresses it saw.
export class NetworkWatch {
	#seen = new Set(); #timer;

	constructor(daemon) {
		this.#timer = setInterval(() => this.#look(daemon), LOOK_MS);
	}

	#look(daemon) {
		if (daemon.exit)
			return;
		// whose a socket is takes much longer to find out than whether there is any
		const foreign = internetSockets('tcp', 'tcp6', 'udp', 'udp6').filter(({ remote }) => !LOOPBACK.test(remote));

		for (const { remote } of foreign.length > 0 ? ofProcesses(daemon.descendants(), foreign) : [])
			this.#seen.add(remote);
	}

	stop() {
		clearInterval(this.#timer);
		return [...this.#seen];
	}
}
