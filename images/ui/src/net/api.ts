// SPDX-License-Identifier: Apache-2.0
// Requests to a daemon. The token goes into the header Authorization and nowhere else.

import type { JsonObject } from '../model/event.ts';
import { isObject, obj, str } from '../model/read.ts';

export class ApiError extends Error {
	readonly status: number; // 0: no answer
	readonly reason: string;
	readonly scope: string; // that the token lacks; '': it is about something else

	constructor(status: number, reason: string, message: string, scope = '') {
		super(message);
		this.status = status;
		this.reason = reason;
		this.scope = scope;
	}
}

export class Api {
	readonly base: string;
	#token: string;

	/** base: where the daemon is, without a slash at the end. token may be '': somebody adds it on the way (acpd ui). */
	constructor(base: string, token: string) {
		this.base = base;
		this.#token = token;
	}

	/** The subprotocols by which a browser shows the token (daemon/protocol/connect.md). */
	socket(): WebSocket {
		const bytes = new TextEncoder().encode(this.#token);
		const word = btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
		const url = `${this.base.replace(/^http/, 'ws')}/acp`;

		return new WebSocket(url, this.#token ? ['acp.v1', `acpd.bearer.${word}`] : ['acp.v1']);
	}

	async get(path: string, signal?: AbortSignal): Promise<JsonObject> {
		return readObject(await this.open(path, { signal }));
	}

	async post(path: string, body: unknown): Promise<JsonObject> {
		return readObject(await this.open(path, { method: 'POST', body: JSON.stringify(body),
			headers: { 'Content-Type': 'application/json' } }));
	}

	async open(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = new Headers(init.headers);

		if (this.#token)
			headers.set('Authorization', `Bearer ${this.#token}`);
		const response = await fetch(this.base + path, { ...init, headers, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer' })
			.catch((e: unknown) => {
				if (e instanceof DOMException && e.name === 'AbortError')
					throw e;
				throw new ApiError(0, 'NO_ANSWER', 'the daemon does not answer, or does not allow this page');
			});
		if (!response.ok)
			throw await refusal(response);
		return response;
	}
}

async function refusal(response: Response): Promise<ApiError> {
	let error: JsonObject = {};

	try {
		error = obj(obj(JSON.parse(await response.text())).error);
	} catch { /* it is no answer of a daemon: the status says what there is to say */ }
	return new ApiError(response.status, str(error.reason) || `HTTP_${response.status}`,
		str(error.message) || `the answer was HTTP ${response.status}`, str(error.scope));
}

async function readObject(response: Response): Promise<JsonObject> {
	try {
		const v: unknown = JSON.parse(await response.text());
		if (isObject(v))
			return v;
	} catch { /* said below */ }
	throw new ApiError(response.status, 'NO_JSON', 'the answer is none of a daemon of acpd');
}
