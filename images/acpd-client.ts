// SPDX-License-Identifier: Apache-2.0
// acpd-client.ts - a small typed client of acpd, around the connection of the official SDK (@agentclientprotocol/sdk 2.x). Its types are
// those of the daemon's own description (acpd-api.d.ts); it has no other dependency.
//
//   const daemon = new AcpdClient({ url: 'http://127.0.0.1:2270', headers: { authorization: `Bearer ${token}` } });
//   const archive = await daemon.upload(await readFile('repo.tar.gz'));
//   const agent = new AcpdAgent(connection.agent); // acp.client(…).connect(…)
//   const { patch } = await agent.call('_acpd/workspace/diff', { sessionId });
//   for await (const event of daemon.events(sessionId, { follow: true }))
//     console.log(event.seq, event.kind);
//
// Model calls through the client are those of model-tunnel.ts. Runs in Node.js 22.18 and later, and in browsers, as it stands.
import type { components, operations } from './acpd-api.d.ts';

export type Schemas = components['schemas'];
export type Methods = Schemas['AcpMethods'];
export type Sent = Schemas['AcpSent'];

// Methods of acpd's own: their parameters and results.
export type OwnMethod = { [M in keyof Methods]: Methods[M] extends { params: unknown; result: unknown } ? M : never }[keyof Methods];
type Params<M extends OwnMethod> = Methods[M] extends { params: infer P } ? P : never;
type Result<M extends OwnMethod> = Methods[M] extends { result: infer R } ? R : never;

// Methods of ACP that carry something of acpd's below _meta.acpd: what they take there, and what they answer there.
export type Carrier = { [M in keyof Methods]: Methods[M] extends { meta: unknown; resultMeta: unknown } ? M : never }[keyof Methods];
type Meta<M extends Carrier> = Methods[M] extends { meta: infer T } ? T : never;
type ResultMeta<M extends Carrier> = Methods[M] extends { resultMeta: infer T } ? T : never;

export interface Place {
	url: string; // of the daemon, "https://…"
	headers: Record<string, string>; // with the token: {authorization: 'Bearer …'}
}

// A refusal over HTTP; reason is one of daemon/protocol/errors.md.
export class AcpdError extends Error {
	readonly status: number;
	readonly reason: string;

	constructor(status: number, reason: string, message: string) {
		super(`${status} ${reason}: ${message}`);
		this.status = status;
		this.reason = reason;
	}
}

async function answered(res: Response): Promise<Response> {
	if (res.ok)
		return res;
	const text = await res.text();
	let error: Partial<Schemas['Error']['error']> = {};

	try {
		error = (JSON.parse(text) as Schemas['Error']).error ?? {};
	} catch { /* somebody between here and the daemon has answered */ }
	throw new AcpdError(res.status, error.reason ?? 'HTTP', error.message ?? text.slice(0, 200));
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
	const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
	let rest = '';

	try {
		for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
			const all = (rest + piece.value).split('\n');

			rest = all.pop()!;
			yield* all.filter(Boolean);
		}
	} finally {
		await reader.cancel().catch(() => {});
	}
	if (rest)
		yield rest; // cut in the middle, most likely: JSON.parse then says so
}

const hex = (bytes: ArrayBuffer) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, '0')).join('');

// sha256:…, by which an archive or a token is named.
export async function digestOf(data: Uint8Array | string): Promise<string> {
	const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;

	return `sha256:${hex(await crypto.subtle.digest('SHA-256', bytes as BufferSource))}`;
}

type Query<Op extends keyof operations> = NonNullable<operations[Op]['parameters']['query']>;

function withQuery(path: string, query: object = {}): string {
	const given = Object.entries(query).filter(([, v]) => v !== undefined).map(([k, v]) => [k, String(v)]);

	return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// The daemon over HTTP.
export class AcpdClient {
	readonly #place: Place;

	constructor(place: Place) {
		this.#place = place;
	}

	// Any route: throws AcpdError if the answer is no 2xx.
	async fetch(path: string, { headers, ...init }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {}): Promise<Response> {
		return answered(await fetch(this.#place.url + path, { ...init, headers: { ...this.#place.headers, ...headers } }));
	}

	async #json<T>(path: string, init?: Parameters<AcpdClient['fetch']>[1]): Promise<T> {
		return await (await this.fetch(path, init)).json() as T;
	}

	#post<T>(path: string, body: object, headers: Record<string, string> = {}): Promise<T> {
		return this.#json(path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
	}

	info(): Promise<Schemas['Info']> { return this.#json('/v1/info'); }
	status(): Promise<Schemas['DaemonStatus']> { return this.#json('/v1/status'); }
	sessions(): Promise<Schemas['Sessions']> { return this.#json('/v1/sessions'); }
	session(id: string): Promise<Schemas['Session']> { return this.#json(`/v1/sessions/${encodeURIComponent(id)}`); }
	approvals(query?: Query<'getApprovals'>): Promise<Schemas['Approvals']> { return this.#json(withQuery('/v1/approvals', query)); }
	answer(id: string, answer: Schemas['ApprovalAnswer']): Promise<Schemas['ApprovalAnswered']> {
		return this.#post(`/v1/approvals/${encodeURIComponent(id)}`, answer);
	}

	// Claims the daemon of an E2B sandbox by the sandbox's access token (--claim-e2b). The token of `headers` is what it is given.
	async claim(accessToken: string, more: Omit<Schemas['Claim'], 'digest'> = {}): Promise<void> {
		const token = /^Bearer (.+)$/i.exec(this.#place.headers.authorization ?? '')?.[1];

		if (!token)
			throw new TypeError('headers.authorization has to have the token that the daemon is given');
		const claim: Schemas['Claim'] = { digest: await digestOf(token), ...more };

		await this.#post('/v1/claim', claim, { 'x-access-token': accessToken });
	}

	// The bytes are sent only if the daemon does not have them. The digest names the archive from then on.
	async upload(archive: Uint8Array): Promise<string> {
		const digest = await digestOf(archive);
		const path = `/v1/archives/${digest}`;

		// a refusal of HEAD has no body: that of PUT says why
		if (!(await fetch(this.#place.url + path, { method: 'HEAD', headers: this.#place.headers })).ok)
			await this.fetch(path, { method: 'PUT', body: archive as BufferSource });
		return digest;
	}

	// The events of a session. With follow they go on as they come, until the signal aborts or the session is deleted. A stream that
	// breaks throws: go on with since and incarnation of what was read.
	async *events(sessionId: string, { signal, ...query }: Omit<Query<'getEvents'>, 'format'> & { signal?: AbortSignal } = {}): AsyncGenerator<Schemas['Event']> {
		const path = withQuery(`/v1/sessions/${encodeURIComponent(sessionId)}/events`, { ...query, format: 'ndjson' });

		yield* this.#records<Schemas['Event']>(path, signal);
	}

	// Records of the usage ledger, from all of its files.
	async *usage(query: Omit<Query<'getUsage'>, 'format'> = {}): AsyncGenerator<Schemas['UsageRecord']> {
		yield* this.#records<Schemas['UsageRecord']>(withQuery('/v1/usage', { ...query, format: 'ndjson' }));
	}

	async *#records<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
		const { body } = await this.fetch(path, { signal });

		for await (const line of lines(body!))
			yield JSON.parse(line) as T;
	}

	async artifact(sessionId: string, id: string): Promise<Uint8Array> {
		const res = await this.fetch(`/v1/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(id)}`);

		return new Uint8Array(await res.arrayBuffer());
	}
}

// --- the connection of ACP ------------------------------------------------------------------------------------

interface Agent { request(method: string, params: object): Promise<unknown> }

// connection.agent of the SDK, with the types of acpd.
export class AcpdAgent {
	readonly #agent: Agent;

	constructor(agent: Agent) {
		this.#agent = agent;
	}

	// A method of acpd's own.
	async call<M extends OwnMethod>(method: M, params: Params<M>): Promise<Result<M>> {
		return await this.#agent.request(method, params as object) as Result<M>;
	}

	// A method of ACP: with _meta.acpd, and with that of the answer.
	async carry<M extends Carrier, R extends object>(method: M, params: object, acpd: Meta<M>): Promise<R & { acpd: ResultMeta<M> }> {
		const result = await this.#agent.request(method, { ...params, _meta: { acpd } }) as R & { _meta?: { acpd?: ResultMeta<M> } };

		return { ...result, acpd: result._meta?.acpd as ResultMeta<M> };
	}

	// The patch of all that has changed since the baseline, from the artifact where it is too long for a message.
	async diff(sessionId: string, daemon?: AcpdClient): Promise<Schemas['Diff']> {
		const diff = await this.call('_acpd/workspace/diff', { sessionId });

		if (diff.patch !== undefined || !diff.artifact || !daemon)
			return diff;
		return { ...diff, patch: new TextDecoder().decode(await daemon.artifact(sessionId, diff.artifact.id)) };
	}

	// Records of a session, page by page.
	async usage(sessionId: string): Promise<Schemas['UsageRecord'][]> {
		const all: Schemas['UsageRecord'][] = [];
		let page: Schemas['UsagePage'] = { records: [], last: 0, more: true };

		while (page.more) {
			page = await this.call('_acpd/usage', { sessionId, since: page.last });
			all.push(...page.records);
		}
		return all;
	}
}
