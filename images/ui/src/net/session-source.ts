// SPDX-License-Identifier: Apache-2.0
// The events of a session of a daemon: read as a piece, or followed for good. A broken stream is taken up again behind the last
// event that came, with the incarnation that its number is of; the daemon says a gap where that means something else by now.

import type { RawEvent } from '../model/event.ts';
import type { Batch, Range, Source } from '../model/source.ts';
import { addLine, eventsOf, LineSplitter, newBatch } from '../model/lines.ts';
import { Api, ApiError } from './api.ts';

const SILENCE_MS = 40_000; // the daemon says something every 15 s
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;

export type StreamState = 'connecting' | 'live' | 'broken' | 'ended' | 'refused';

export interface Follower {
	batch(batch: Batch): void;
	/** What came before is not the history of this session: begin anew. */
	restart(): void;
	state(state: StreamState, error?: ApiError): void;
}

export class SessionSource implements Source {
	#api: Api;
	#id: string;
	#incarnation = '';

	constructor(api: Api, sessionId: string) {
		this.#api = api;
		this.#id = encodeURIComponent(sessionId);
	}

	async *read({ since, until, signal }: Range): AsyncGenerator<Batch> {
		yield* eventsOf((await this.#open(since, 'ndjson', signal)).body!, until);
	}

	/** Until signal, or until the session is gone. */
	async follow(to: Follower, signal: AbortSignal): Promise<void> {
		let wait = RETRY_MIN_MS;
		let since = 0;

		while (!signal.aborted) {
			to.state('connecting');
			try {
				for await (const batch of this.#stream(since, signal)) {
					const fresh = since > 0 && batch.events.some(isForeign);
					if (fresh)
						to.restart();
					since = batch.events.reduce((n, e) => (typeof e.seq === 'number' ? Math.max(fresh ? 0 : n, e.seq) : n), fresh ? 0 : since);
					to.batch(batch);
					to.state('live');
					wait = RETRY_MIN_MS;
					if (batch.events.some((e) => e.event === 'deleted' && e.seq === undefined)) {
						to.state('ended');
						return;
					}
				}
			} catch (e) {
				if (signal.aborted)
					return;
				if (e instanceof ApiError && e.reason === 'SINCE_AHEAD') {
					since = 0;
					to.restart();
					continue;
				}
				if (e instanceof ApiError && [401, 403, 404].includes(e.status)) {
					to.state('refused', e);
					return;
				}
				to.state('broken', e instanceof ApiError ? e : undefined);
			}
			await sleep(wait, signal);
			wait = Math.min(RETRY_MAX_MS, wait * 2);
		}
	}

	async #open(since: number, format: string, signal: AbortSignal, query = ''): Promise<Response> {
		const incarnation = since > 0 && this.#incarnation ? `&incarnation=${this.#incarnation}` : '';
		const response = await this.#api.open(
			`/v1/sessions/${this.#id}/events?since=${since}&format=${format}${incarnation}${query}`, { signal });

		this.#incarnation = response.headers.get('Acpd-Incarnation') ?? this.#incarnation;
		return response;
	}

	/** As server-sent events, because those have a heartbeat: a connection that is dead is noticed. */
	async *#stream(since: number, signal: AbortSignal): AsyncGenerator<Batch> {
		const stop = new AbortController();
		const response = await this.#open(since, 'sse', AbortSignal.any([signal, stop.signal]), '&follow=true');
		const reader = response.body!.getReader();
		const splitter = new LineSplitter();

		yield newBatch(); // it is open
		try {
			for (;;) {
				const watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
				const { done, value } = await reader.read().finally(() => clearTimeout(watchdog));
				const batch = newBatch();
				for (const line of done ? splitter.end() : splitter.push(value))
					if (line.startsWith('data:'))
						addLine(batch, line.slice(5).trim());
				if (batch.events.length || batch.bad)
					yield batch;
				if (done)
					return;
			}
		} finally {
			stop.abort();
		}
	}
}

const isForeign = (e: RawEvent): boolean => e.event === 'gap' && e.seq === undefined && e.reason === 'incarnation';

function sleep(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((done) => {
		const timer = setTimeout(end, ms);
		function end(): void {
			clearTimeout(timer);
			signal.removeEventListener('abort', end);
			removeEventListener('online', end);
			done();
		}
		signal.addEventListener('abort', end);
		addEventListener('online', end);
	});
}
