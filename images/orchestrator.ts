// SPDX-License-Identifier: Apache-2.0
// orchestrator.ts - a whole small orchestrator, to copy from: it makes an E2B sandbox, claims the daemon in it, uploads a repository,
// has an agent work on it, and takes the patch and the usage home. The agent's questions are answered here, its tools and its model
// calls are served here: no key is in the sandbox. A connection that breaks costs nothing: the turn goes on, the next connection gets
// what was missed.
//
//   E2B_API_KEY=… OPENAI_API_KEY=… node images/orchestrator.ts my-template repo.tar.gz 'Fix the failing test'
//
// Runs in Node.js 22.18 and later as it stands. Besides e2b it needs @agentclientprotocol/sdk 2.x, @modelcontextprotocol/server 2.x,
// ws and zod.
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fromMcpServer } from '@agentclientprotocol/sdk/experimental/mcp-server';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import * as acp from '@agentclientprotocol/sdk/unstable'; // which has McpOverAcpProvider
import { McpServer } from '@modelcontextprotocol/server';
import { Sandbox } from 'e2b';
import WebSocket from 'ws';
import * as z from 'zod';
import { AcpdAgent, AcpdClient } from './acpd-client.ts';
import type { Place as Daemon, Schemas } from './acpd-client.ts';
import { ModelTunnel } from './model-tunnel.ts';
import type { ModelApi } from './model-tunnel.ts';
import { LEASE_MS, PORT, sandboxOptions } from './template.ts';
import type { Network } from './template.ts';

// --- where the daemon is: all that is E2B's -------------------------------------------------------------------

export interface Place extends Daemon {
	extend(ms: number): Promise<void>; // the sandbox is ours for so long from now
	pause(): Promise<void>;
}

// A daemon belongs to whoever claims it first, so that is done before anybody else knows its address. The token is in the environment
// of one command of root's: in no image, no file and no argument list.
export async function onE2B(template: string, network: Network): Promise<Place> {
	const token = randomBytes(32).toString('base64url');
	const sandbox = await Sandbox.create(template, sandboxOptions(network));

	try {
		await sandbox.commands.run('printenv TOKEN | /opt/acpd/bin/acpd claim', { user: 'root', envs: { TOKEN: token } });
	} catch (e) {
		await sandbox.kill();
		throw e;
	}
	return {
		url: `https://${sandbox.getHost(PORT)}`,
		headers: { authorization: `Bearer ${token}`, ...(sandbox.trafficAccessToken && { 'e2b-traffic-access-token': sandbox.trafficAccessToken }) },
		extend: (ms) => sandbox.setTimeout(ms),
		pause: async () => { await sandbox.pause(); },
	};
}

// Neither an open connection nor a turn extends E2B's lease: it is made what the daemon says it should be. One call at a time, and what
// was said last stands. end() waits for the last call.
class Lease {
	readonly #place: Place;
	#wanted = 0; // ms; 0: as it is
	#calls?: Promise<void>;

	constructor(place: Place) {
		this.#place = place;
	}

	hold(ms: number) {
		this.#wanted = ms;
		this.#calls ??= this.#call();
	}

	async #call() {
		while (this.#wanted > 0) {
			const ms = this.#wanted;

			this.#wanted = 0;
			await this.#place.extend(ms).catch((e) => console.warn('the lease was not extended:', e));
		}
		this.#calls = undefined;
	}

	async end() {
		this.#wanted = 0;
		await this.#calls;
	}
}

const asStatus = (params: unknown) => params as Schemas['DaemonStatus'];

// --- the task -------------------------------------------------------------------------------------------------

export interface Task {
	harness: string; // codex, opencode, pi, or one of your own
	archive: Uint8Array; // the repository: tar, tar.gz, tar.zst or zip
	prompt: string;
	model: { api: ModelApi; model: string };
	models: ModelTunnel; // makes the calls, with your key
	tools: () => McpServer; // what the agent can call here
	allow(toolCall: acp.ToolCallUpdate): boolean | Promise<boolean>; // asked again when a connection broke meanwhile
	network: Network;
	onUpdate(update: acp.SessionUpdate): void; // each once, in order
}

export interface Outcome {
	sessionId: string;
	stopReason: acp.StopReason;
	patch?: string; // for git apply; absent above 8 MiB: then it is an artifact of the session
	usage: Schemas['UsageRecord'][]; // daemon/protocol/usage.md
}

export async function perform(place: Place, task: Task): Promise<Outcome> {
	const lease = new Lease(place);

	try {
		lease.hold(LEASE_MS); // for the upload: nobody is connected yet
		const session = new Session(place, task, lease, await new AcpdClient(place).upload(task.archive));
		return await session.run();
	} finally {
		await lease.end();
	}
}

// --- a session, over as many connections as it takes ------------------------------------------------------------

const TRIES = 12; // in a row: 4 minutes, more or less
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;

// Random, so that ten thousand orchestrators whose proxy went away do not come back at the same moment.
const backoff = (tries: number) => sleep(Math.random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries));

class Session {
	readonly #place: Place;
	readonly #task: Task;
	readonly #lease: Lease;
	readonly #digest: string;
	readonly #mcp = new acp.McpOverAcpProvider();
	#connection?: acp.ClientConnection;
	#sessionId = '';
	#cwd = '/'; // then the directory that the daemon has made
	#incarnation = ''; // the run of the daemon that #seq is a number of
	#seq = 0; // of the newest event that has come

	constructor(place: Place, task: Task, lease: Lease, digest: string) {
		this.#place = place;
		this.#task = task;
		this.#lease = lease;
		this.#digest = digest;
	}

	async run(): Promise<Outcome> {
		const key = randomUUID(); // sent again with it, a prompt finds its turn, or how that ended
		const prompt = [{ type: 'text', text: this.#task.prompt }];
		const { stopReason } = await this.#ask((agent) =>
			agent.carry<'session/prompt', acp.PromptResponse>('session/prompt', { sessionId: this.#sessionId, prompt }, { key }));
		const { patch } = await this.#ask((agent) => agent.diff(this.#sessionId));
		const usage = await this.#ask((agent) => agent.usage(this.#sessionId));

		// All of it is here, so the daemon may drop it when it wants room.
		await this.#ask((agent) => agent.call('_acpd/ack', { sessionId: this.#sessionId, seq: this.#seq }));
		this.#connection?.close();
		return { sessionId: this.#sessionId, stopReason, patch, usage };
	}

	// What the daemon answers stands, be it an error; a connection that breaks is made anew. So ask only what may be asked twice.
	async #ask<T>(what: (agent: AcpdAgent) => Promise<T>): Promise<T> {
		for (let tries = 0; ; tries++) {
			try {
				return await what(new AcpdAgent((await this.#connected()).agent));
			} catch (e) {
				if ((this.#connection && !this.#connection.signal.aborted) || tries === TRIES)
					throw e;
				await backoff(tries);
			}
		}
	}

	async #connected(): Promise<acp.ClientConnection> {
		if (this.#connection && !this.#connection.signal.aborted)
			return this.#connection;
		this.#connection = undefined;
		const connection = this.#connect();
		try {
			await this.#open(connection.agent);
		} catch (e) {
			if (!connection.signal.aborted) { // the daemon's own answer
				this.#connection = connection;
				connection.close();
			}
			throw e;
		}
		return this.#connection = connection;
	}

	#connect(): acp.ClientConnection {
		const app = acp.client({ name: 'orchestrator' })
			.onNotification('session/update', ({ params }) => {
				this.#count(params);
				this.#task.onUpdate(params.update);
			})
			.onRequest('session/request_permission', ({ params }) => this.#answer(params))
			.onRequest('mcp/message', this.#mcp.handleRequest)
			.onNotification('_acpd/status', asStatus, ({ params }) => this.#lease.hold(params.leaseSeconds * 1000))
			.onNotification('*', ({ params }) => this.#count(params)); // turn ends and what else has a number
		const url = this.#place.url.replace(/^http/, 'ws');

		return this.#task.models.register(app)
			.connect(createWebSocketStream(`${url}/acp?harness=${this.#task.harness}`, { WebSocket, headers: this.#place.headers }));
	}

	#count(params: unknown) {
		const { _meta } = params as { _meta?: { acpd?: { seq?: number } } };

		this.#seq = Math.max(this.#seq, _meta?.acpd?.seq ?? 0);
	}

	// The first time a new session; from then on the same, from the first event that has not come.
	async #open(agent: acp.ClientContext) {
		const { agentCapabilities } = await agent.request('initialize', { protocolVersion: 1,
			clientCapabilities: { _meta: { acpd: { model: this.#task.models.capability } } } });
		const own = new AcpdAgent(agent);

		this.#lease.hold((await own.call('_acpd/status', {})).leaseSeconds * 1000); // from here on it is pushed
		const { incarnation } = agentCapabilities?._meta?.acpd as Schemas['AgentMeta'];
		const handler = fromMcpServer(this.#task.tools).handler;
		const mcpServers = [this.#mcp.registerServer(agent, { name: 'orchestrator', handler }).declaration];

		if (!this.#sessionId) {
			const made = await own.carry<'session/new', acp.NewSessionResponse>('session/new', { cwd: this.#cwd, mcpServers }, {
				workspace: { archive: this.#digest, ephemeral: true, strip: 'auto' }, network: this.#task.network,
				provider: { ...this.#task.model, via: 'tunnel' }, budgets: { turn: { steps: 100, seconds: 1800 } } });
			this.#sessionId = made.sessionId;
			this.#cwd = made.acpd.cwd;
		} else {
			await own.carry('session/load', { sessionId: this.#sessionId, cwd: this.#cwd, mcpServers },
				{ fromSeq: this.#seq + 1, incarnation: this.#incarnation });
		}
		this.#incarnation = incarnation;
	}

	async #answer({ toolCall, options }: acp.RequestPermissionRequest): Promise<acp.RequestPermissionResponse> {
		const kind = await this.#task.allow(toolCall) ? 'allow_once' : 'reject_once';
		const option = options.find((o) => o.kind === kind);

		return { outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' } };
	}
}

// --- what is yours --------------------------------------------------------------------------------------------

// A tool that runs here, where your data is.
function tools(): McpServer {
	const server = new McpServer({ name: 'orchestrator', version: '1.0.0' });

	server.registerTool('readTicket', { description: 'The ticket that is worked on', inputSchema: z.object({ id: z.string() }),
		annotations: { readOnlyHint: true }, // so it may be called again when a connection breaks
	}, async ({ id }) => ({ content: [{ type: 'text', text: `${id}: the total is wrong when a price has no cents` }] }));
	return server;
}

if (process.argv[1] === import.meta.filename) {
	const [template, archive, prompt] = process.argv.slice(2);
	const network: Network = { mode: 'off' };
	const place = await onE2B(template, network);
	const authorization = `Bearer ${process.env.OPENAI_API_KEY}`;

	try {
		const { stopReason, patch, usage } = await perform(place, {
			harness: 'codex', archive: await readFile(archive), prompt, network, tools,
			model: { api: 'openai-responses', model: 'gpt-5.5' },
			models: new ModelTunnel({ 'openai-responses': { baseUrl: 'https://api.openai.com', headers: { authorization } } }),
			allow: ({ kind }) => kind !== 'delete',
			onUpdate(update) {
				if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
					process.stderr.write(update.content.text);
			},
		});
		console.error(`\n${stopReason}`, usage);
		console.log(patch);
	} finally {
		await place.pause(); // its disk and memory are kept; a request wakes it
	}
}
