// SPDX-License-Identifier: Apache-2.0
// A session of a daemon, followed. Its state is asked for while it is looked at; its ledger after each turn.

import type { JsonObject } from '../../model/event.ts';
import { readBundle } from '../../bundle/bundle.ts';
import { unzstd } from '../../bundle/zstd.ts';
import { readChanges, type Changes } from '../../model/changes.ts';
import type { Artifact } from '../../model/items.ts';
import type { Batch } from '../../model/source.ts';
import { num, str } from '../../model/read.ts';
import { Acp } from '../../net/acp.ts';
import { ApiError, type Api } from '../../net/api.ts';
import { sayRefusal } from '../../net/refusals.ts';
import type { Rights } from '../../net/rights.ts';
import { SessionSource } from '../../net/session-source.ts';
import { answerApproval, getRecords, getSession } from '../../net/sessions.ts';
import { changesOf } from './bundle-subject.ts';
import { Subject } from './subject.ts';

const POLL_MS = 2000;
const RECORDS_MAX = 10_000;
const PATCH_MAX = 64 * 1024 * 1024;

export class LiveSubject extends Subject {
	readonly isLive = true;
	readonly rights: Rights;
	driving = false; // this page is the driver
	sent: string[] = []; // prompts of this page that wait for their turn
	acting = ''; // what failed of what a person asked for
	#api: Api;
	#acp: Promise<Acp> | null = null; // one, even if two ask for it while it opens
	#stop = new AbortController();
	#since = 0; // of the ledger
	#records: JsonObject[] = []; // that came before their turns had
	#reading = false;
	#again = false;
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(api: Api, sessionId: string, rights: Rights) {
		super(sessionId, new SessionSource(api, sessionId));
		this.#api = api;
		this.rights = rights;
		void (this.source as SessionSource).follow({
			batch: (b) => this.#batch(b),
			restart: () => { this.#since = 0; this.beginAnew(); },
			state: (state, error) => {
				this.state = state;
				this.problem = state === 'refused' ? sayRefusal(error) : '';
				this.changed();
			},
		}, this.#stop.signal);
		void this.#poll();
	}

	override close(): void {
		super.close();
		this.#stop.abort();
		clearTimeout(this.#timer);
		void this.#acp?.then((acp) => acp.close(), () => {});
	}

	get mayDrive(): boolean {
		return this.rights.drives && this.info?.imported !== true;
	}

	get farChanges(): string {
		return this.info?.imported ? 'This session came from a bundle. Its changes are in there: it has to be fetched for them.' : '';
	}

	async changes(): Promise<Changes> {
		if (this.info?.imported)
			return this.#bundled();
		const answer = await (await this.#connection()).call('_acpd/workspace/diff', { sessionId: this.sessionId });

		if (typeof answer.patch === 'string')
			return readChanges(answer, answer.patch);
		const blob = await this.#bytes(str((answer.artifact as JsonObject | undefined)?.id));
		if (blob.size > PATCH_MAX)
			throw new Error(`The patch has ${blob.size} bytes: that is more than is shown here. It is among the artifacts.`);
		return readChanges(answer, await blob.text());
	}

	async #bundled(): Promise<Changes> {
		const response = await this.#api.open(`/v1/sessions/${encodeURIComponent(this.sessionId)}/bundle`, { signal: this.#stop.signal });

		return changesOf(await readBundle(await response.blob(), unzstd));
	}

	/** Begins a draft, or ends one that is empty; discard: what it has changed is thrown away. */
	draft(on: boolean, discard = false): Promise<void> {
		return this.#drive('_acpd/session/draft', { on, ...(discard ? { discard } : {}) });
	}

	/** What was shown under that digest. */
	apply(patchDigest: string): Promise<void> {
		return this.#drive('_acpd/workspace/apply', { patchDigest });
	}

	/** What only the driver may: this page becomes it, if it is not. */
	async #drive(method: string, params: JsonObject): Promise<void> {
		const acp = await this.#driver();

		await acp.call(method, { sessionId: this.sessionId, ...params });
		await this.#info();
	}

	async #driver(): Promise<Acp> {
		const acp = await this.#connection();

		if (!this.driving)
			await acp.call('session/resume', { sessionId: this.sessionId, cwd: this.info?.cwd ?? '' });
		this.driving = true;
		return acp;
	}

	artifact(a: Artifact): Promise<Blob> {
		return this.#bytes(a.id);
	}

	async answer(id: string, answer: JsonObject): Promise<void> {
		await answerApproval(this.#api, id, answer);
		void this.#info();
	}

	/** This page becomes the driver: another one loses the session. */
	async takeOver(): Promise<void> {
		await this.#try(async () => { await this.#driver(); });
	}

	async prompt(text: string): Promise<void> {
		await this.#try(async () => {
			const acp = await this.#connection();
			this.sent = [...this.sent, text];
			acp.call('session/prompt', { sessionId: this.sessionId, prompt: [{ type: 'text', text }] })
				.catch((e: unknown) => this.#promptFailed(e)).finally(() => this.#begun(text));
		});
	}

	async cancel(): Promise<void> {
		await this.#try(async () => (await this.#connection()).notify('session/cancel', { sessionId: this.sessionId }));
	}

	async #bytes(id: string): Promise<Blob> {
		const response = await this.#api.open(`/v1/sessions/${encodeURIComponent(this.sessionId)}/artifacts/${encodeURIComponent(id)}`);

		return response.blob();
	}

	#connection(): Promise<Acp> {
		this.#acp ??= this.#open().catch((e: unknown) => {
			this.#acp = null;
			throw e;
		});
		return this.#acp;
	}

	async #open(): Promise<Acp> {
		const acp = await Acp.open(this.#api);

		acp.onclose = () => {
			this.#acp = null;
			this.driving = false;
			this.changed();
		};
		acp.onnotice = (method, params) => {
			if (method !== '_acpd/detached' || params.sessionId !== this.sessionId)
				return;
			this.driving = false;
			this.changed();
		};
		return acp;
	}

	async #try(act: () => Promise<void>): Promise<void> {
		this.acting = '';
		try {
			await act();
		} catch (e) {
			this.acting = sayRefusal(e);
		}
		this.changed();
		void this.#info();
	}

	/** A turn that failed is in the history; what was refused before it began is not. */
	#promptFailed(e: unknown): void {
		if (e instanceof ApiError && ['TURN_FAILED', 'CANCELLED'].includes(e.reason))
			return;
		this.acting = sayRefusal(e);
		this.changed();
	}

	/** A prompt of this page does not wait any more. */
	#begun(text: string): void {
		const at = this.sent.indexOf(text);

		if (at >= 0)
			this.sent = this.sent.toSpliced(at, 1);
	}

	#batch(b: Batch): void {
		this.take(b);
		for (const e of b.events)
			if (e.kind === 'prompt' && this.sent.length)
				this.#begun(str((e.content as JsonObject | undefined)?.text));
		if (b.events.some((e) => e.final === true))
			void this.#ledger();
	}

	async #poll(): Promise<void> {
		await this.#info();
		if (!this.#stop.signal.aborted)
			this.#timer = setTimeout(() => void this.#poll(), document.hidden ? POLL_MS * 5 : POLL_MS);
	}

	async #info(): Promise<void> {
		try {
			this.info = await getSession(this.#api, this.sessionId, this.#stop.signal);
			this.changed();
		} catch { /* the stream says what is wrong with the connection */ }
	}

	/** A line of a turn that has not been read as an event yet waits for it. */
	async #ledger(): Promise<void> {
		this.#again = true;
		if (this.#reading)
			return;
		this.#reading = true;
		while (this.#again) {
			this.#again = false;
			await this.#readLedger();
		}
		this.#reading = false;
	}

	async #readLedger(): Promise<void> {
		const has = (r: JsonObject): boolean => num(r.turn) <= (this.whole.turns.at(-1)?.n ?? 0);

		try {
			this.takeRecords(this.#records.filter(has));
			this.#records = this.#records.filter((r) => !has(r));
			for await (const r of getRecords(this.#api, this.sessionId, this.#since, this.#stop.signal)) {
				this.#since = Math.max(this.#since, num(r.n));
				if (has(r))
					this.takeRecords([r]);
				else if (this.#records.length < RECORDS_MAX)
					this.#records.push(r);
			}
		} catch { /* a token may not be for the ledger: the events say less, but enough */ }
	}
}
