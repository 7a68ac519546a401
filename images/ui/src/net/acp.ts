// SPDX-License-Identifier: Apache-2.0
// A WebSocket to /acp, for what only ACP can do: prompting, cancelling, the diff of a workspace. Opened when a person asks for it.
// Questions that the daemon puts to a driver are left open here: the viewer answers by /v1/approvals, which withdraws them.

import type { JsonObject } from '../model/event.ts';
import { isObject, num, obj, str } from '../model/read.ts';
import { ApiError, type Api } from './api.ts';

const QUESTIONS = ['session/request_permission', 'elicitation/create'];
const OPEN_MS = 15_000;

interface Call {
	done: (result: JsonObject) => void;
	fail: (e: Error) => void;
}

export class Acp {
	#socket: WebSocket;
	#calls = new Map<number, Call>();
	#next = 1;
	onclose: () => void = () => {};
	onnotice: (method: string, params: JsonObject) => void = () => {};

	private constructor(socket: WebSocket) {
		this.#socket = socket;
		socket.onmessage = (m) => this.#message(m.data);
		socket.onclose = () => this.#closed();
	}

	static async open(api: Api): Promise<Acp> {
		const socket = api.socket();
		const acp = new Acp(socket);

		await new Promise<void>((done, fail) => {
			const late = setTimeout(() => { socket.close(); refuse(); }, OPEN_MS);
			function refuse(): void {
				clearTimeout(late);
				fail(new ApiError(0, 'NO_ANSWER', 'the daemon did not open a connection for acting'));
			}
			socket.addEventListener('open', () => { clearTimeout(late); done(); });
			socket.addEventListener('close', refuse);
		});
		await acp.call('initialize', { protocolVersion: 1, clientInfo: { name: 'acpd-ui', version: '1' },
			clientCapabilities: { elicitation: { form: {}, url: {} }, _meta: { acpd: {} } } });
		return acp;
	}

	call(method: string, params: JsonObject): Promise<JsonObject> {
		const id = this.#next++;

		return new Promise((done, fail) => {
			this.#calls.set(id, { done, fail });
			this.#send({ id, method, params });
		});
	}

	notify(method: string, params: JsonObject): void {
		this.#send({ method, params });
	}

	close(): void {
		this.#socket.close();
	}

	#send(message: JsonObject): void {
		if (this.#socket.readyState === WebSocket.OPEN)
			this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
	}

	#message(data: unknown): void {
		let m: unknown;

		try {
			m = JSON.parse(String(data));
		} catch {
			return;
		}
		if (!isObject(m))
			return;
		if (typeof m.method === 'string')
			this.#request(m, m.method);
		else
			this.#answer(m);
	}

	#request(m: JsonObject, method: string): void {
		if (m.id === undefined)
			this.onnotice(method, obj(m.params));
		else if (!QUESTIONS.includes(method))
			this.#send({ id: m.id, error: { code: -32601, message: `the viewer does not serve ${method}` } });
	}

	#answer(m: JsonObject): void {
		const call = this.#calls.get(num(m.id));
		const error = obj(m.error);
		const data = obj(error.data);

		this.#calls.delete(num(m.id));
		if (m.error)
			call?.fail(new ApiError(num(error.code), str(data.reason), str(error.message), str(data.scope)));
		else
			call?.done(obj(m.result));
	}

	#closed(): void {
		for (const call of this.#calls.values())
			call.fail(new ApiError(0, 'CONNECTION_LOST', 'the connection has ended'));
		this.#calls.clear();
		this.onclose();
	}
}
