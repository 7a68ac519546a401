// SPDX-License-Identifier: Apache-2.0
// model-tunnel.ts - the orchestrator's side of `via: "tunnel"`: it makes the model calls of acpd's sessions, so that the
// provider's key is never in the sandbox. For the official SDK (@agentclientprotocol/sdk 2.x); no other dependency.
//
//   const tunnel = new ModelTunnel({
//     'openai-chat': { baseUrl: 'https://api.openai.com', headers: { authorization: `Bearer ${process.env.OPENAI_API_KEY}` } },
//   });
//   const connection = tunnel.register(acp.client({ name: 'mine' })).connect(stream);
//   await connection.agent.request('initialize', { protocolVersion: 1,
//     clientCapabilities: { _meta: { acpd: { model: tunnel.capability } } } });
//   // session/new with _meta.acpd.provider {api: 'openai-chat', model}: no key, no baseUrl
//
// Bytes pass as they are in both directions. Runs in Node.js 22.18 and later as it stands.

export type ModelApi = 'openai-responses' | 'openai-chat' | 'anthropic' | 'google';

export interface Upstream {
	baseUrl: string; // without /v1 or /v1beta: the path of a call begins with it
	headers: Record<string, string> | ((call: ModelRequest) => Record<string, string> | Promise<Record<string, string>>);
}

export interface ModelRequest {
	callId: string; // stays the same when a call is asked again
	sessionId: string;
	turn?: number;
	api: ModelApi;
	method: string;
	path: string; // with its query
	headers: Record<string, string>;
	model?: string;
	bodyBytes: number;
	attempt: number; // from 1
}

interface Agent { notify(method: string, params: object): Promise<void> }
interface Context<Params> { params: Params; signal: AbortSignal; agent: Agent }
interface App {
	onRequest(method: string, parse: (params: unknown) => any, handler: (context: any) => any): this;
	onNotification(method: string, parse: (params: unknown) => any, handler: (context: any) => any): this;
}

const WINDOW = 256 * 1024; // bytes on their way in each direction
const PIECE = 64 * 1024; // bytes of one message

// Bytes of the front of `bytes` that end with a whole UTF-8 character.
function wholeCharacters(bytes: Uint8Array): number {
	let at = bytes.length;

	while (at > 0 && bytes.length - at < 4 && (bytes[at - 1] & 0xc0) === 0x80)
		at--;
	if (at === 0)
		return bytes.length;
	const lead = bytes[at - 1];
	const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	return bytes.length - at + 1 < size ? at - 1 : bytes.length;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function encode(bytes: Uint8Array): { text: string } | { b64: string } {
	try {
		return { text: utf8.decode(bytes) };
	} catch {
		return { b64: Buffer.from(bytes).toString('base64') };
	}
}

class Call {
	#body: Uint8Array[] = [];
	#left: number;
	#whole: () => void = () => {};
	#credit = WINDOW;
	#room: () => void = () => {};
	#seq = 0;
	readonly request: ModelRequest;
	readonly agent: Agent;
	readonly body: Promise<void>;
	readonly abort = new AbortController();

	constructor(request: ModelRequest, agent: Agent) {
		this.request = request;
		this.agent = agent;
		this.#left = request.bodyBytes;
		this.body = new Promise((resolve) => { this.#whole = resolve; });
		if (!this.#left)
			this.#whole();
	}

	// A piece of the request's body: there is room for as much again.
	take({ text }: { text?: string }) {
		const piece = Buffer.from(text ?? '');

		this.#body.push(piece);
		this.#left -= piece.length;
		if (this.#left <= 0)
			this.#whole();
		else
			void this.agent.notify('_acpd/model/credit', { callId: this.request.callId, bytes: piece.length });
	}

	credit(bytes: number) {
		this.#credit += bytes;
		this.#room();
	}

	async #send(bytes: Uint8Array) {
		while (this.#credit < bytes.length) {
			await new Promise<void>((resolve) => { this.#room = resolve; });
			this.abort.signal.throwIfAborted();
		}
		this.#credit -= bytes.length;
		await this.agent.notify('_acpd/model/chunk',
			{ callId: this.request.callId, seq: this.#seq++, ...encode(bytes) });
	}

	async #pump(stream: AsyncIterable<Uint8Array>) {
		let rest: Uint8Array = new Uint8Array();

		for await (const bytes of stream) {
			let all: Uint8Array = rest.length ? Buffer.concat([rest, bytes]) : bytes;

			while (all.length) {
				const piece = all.subarray(0, PIECE);
				const n = wholeCharacters(piece);

				if (!n)
					break;
				await this.#send(piece.subarray(0, n));
				all = all.subarray(n);
			}
			rest = all;
		}
		if (rest.length)
			await this.#send(rest);
	}

	stop() {
		this.abort.abort();
		this.#room();
	}

	async run(upstream: Upstream): Promise<{ complete: true; requestId?: string }> {
		const { callId, method, path, headers } = this.request;
		const own = typeof upstream.headers === 'function' ? await upstream.headers(this.request) : upstream.headers;

		await this.body;
		this.abort.signal.throwIfAborted();
		const answer = await fetch(upstream.baseUrl + path, { method, headers: { ...headers, ...own }, redirect: 'manual',
			body: this.#body.length ? Buffer.concat(this.#body) : undefined, signal: this.abort.signal });
		const given = Object.fromEntries(answer.headers);

		await this.agent.notify('_acpd/model/head', { callId, status: answer.status, headers: given });
		if (answer.body)
			await this.#pump(answer.body);
		return { complete: true, requestId: given['x-request-id'] ?? given['request-id'] };
	}
}

export class ModelTunnel {
	readonly #upstreams: Partial<Record<ModelApi, Upstream>>;
	readonly #calls = new Map<string, Call>();

	constructor(upstreams: Partial<Record<ModelApi, Upstream>>) {
		this.#upstreams = upstreams;
	}

	// For clientCapabilities._meta.acpd.model. With {...capability, only: true} the connection makes model calls and
	// nothing else: name its sessions in _acpd/model/attach {sessionIds}.
	get capability(): { apis: ModelApi[] } {
		return { apis: Object.keys(this.#upstreams) as ModelApi[] };
	}

	// Calls that are being made.
	get open(): number {
		return this.#calls.size;
	}

	register<A extends App>(app: A): A {
		const as = (params: unknown) => params;

		app.onRequest('_acpd/model/request', as, (context: Context<ModelRequest>) => this.#serve(context));
		app.onNotification('_acpd/model/body', as, ({ params }: Context<{ callId: string; text?: string }>) =>
			this.#calls.get(params.callId)?.take(params));
		app.onNotification('_acpd/model/credit', as, ({ params }: Context<{ callId: string; bytes: number }>) =>
			this.#calls.get(params.callId)?.credit(params.bytes));
		return app;
	}

	async #serve({ params, signal, agent }: Context<ModelRequest>) {
		const upstream = this.#upstreams[params.api];

		if (!upstream)
			throw new Error(`no upstream for ${params.api}`);
		this.#calls.get(params.callId)?.stop(); // asked again: the connection that had it has gone
		const call = new Call(params, agent);
		const stop = () => call.stop();

		this.#calls.set(params.callId, call);
		signal.addEventListener('abort', stop);
		try {
			return await call.run(upstream);
		} finally {
			signal.removeEventListener('abort', stop);
			if (this.#calls.get(params.callId) === call)
				this.#calls.delete(params.callId);
		}
	}
}
