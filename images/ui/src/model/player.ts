// SPDX-License-Identifier: Apache-2.0
// Replay: feeds a model with the events of a source as fast as they came, or at another speed. Positions are Unix milliseconds of
// the run. The caller's clock drives it (tick); going back begins anew, so what is shown is always what was known then.

import type { Batch, Source } from './source.ts';
import { Model } from './reduce.ts';
import { time } from './read.ts';

const SKIP_AFTER = 2000; // ms of silence of the run, after which waiting is passed over
const YIELD_EVENTS = 2000; // so many at once, then the page may do something else

export class Player {
	model: Model;
	position: number;
	speed: number = 1;
	playing = false;
	skipWaits = true;
	ended = false;
	readonly from: number;
	readonly to: number;
	#source: Source;
	#stop = new AbortController();
	#batches: AsyncIterator<Batch> | null = null;
	#batch: Batch | null = null;
	#at = 0; // the next event in it
	#busy: Promise<void> | null = null;
	#target = 0;
	#fed = 0; // the time of the newest event in the model

	/** from, to: the times of the first and the last event. */
	constructor(sessionId: string, source: Source, from: number, to: number) {
		this.model = new Model(sessionId);
		this.#source = source;
		this.from = from;
		this.to = to;
		this.position = from;
	}

	/** So much of the caller's time has passed. */
	tick(ms: number): Promise<void> {
		if (!this.playing || this.#busy)
			return this.#busy ?? Promise.resolve();
		let to = Math.min(this.to, this.position + ms * this.speed);
		const next = this.#peek();

		if (this.skipWaits && next > to + SKIP_AFTER * Math.max(1, this.speed / 10))
			to = Math.min(this.to, next);
		return this.#go(to);
	}

	seek(position: number): Promise<void> {
		const to = Math.max(this.from, Math.min(this.to, position));

		if (to < Math.max(this.position, this.#fed)) // it may be on its way to a later one
			this.#rewind();
		return this.#go(to);
	}

	play(): void {
		if (this.position >= this.to)
			this.#rewind();
		this.playing = true;
	}

	pause(): void {
		this.playing = false;
	}

	close(): void {
		this.playing = false;
		this.#stop.abort();
	}

	#rewind(): void {
		this.#stop.abort();
		this.#stop = new AbortController();
		this.#batches = null;
		this.#batch = null;
		this.#at = 0;
		this.#busy = null;
		this.ended = false;
		this.position = this.from;
		this.#fed = 0;
		this.model = new Model(this.model.run.sessionId);
	}

	/** One feeding at a time; a later call moves its end. */
	#go(to: number): Promise<void> {
		this.#target = to;
		if (this.#busy)
			return this.#busy;
		const feeding = this.#feed(this.#stop.signal).finally(() => {
			if (this.#busy === feeding)
				this.#busy = null;
		});
		return (this.#busy = feeding);
	}

	async #feed(signal: AbortSignal): Promise<void> {
		const { model } = this;
		let left = YIELD_EVENTS;

		while (!signal.aborted) {
			if (!(await this.#fill(signal)) || signal.aborted || this.#peek() > this.#target)
				break;
			this.#fed = Math.max(this.#fed, this.#peek());
			model.apply(this.#batch!.events[this.#at]!, this.#batch!.sizes[this.#at]!);
			this.#at++;
			if (--left === 0) {
				left = YIELD_EVENTS;
				await new Promise((done) => setTimeout(done, 0));
			}
		}
		if (signal.aborted)
			return;
		this.position = this.#target;
		if (this.position >= this.to)
			this.playing = false;
	}

	/** false: there are no more events. */
	async #fill(signal: AbortSignal): Promise<boolean> {
		while (!this.#batch || this.#at >= this.#batch.events.length) {
			this.#batches ??= this.#source.read({ since: 0, signal })[Symbol.asyncIterator]();
			const next = await this.#batches.next().catch((e: unknown) => {
				if (signal.aborted) return null; // nobody waits for it any more
				throw e;
			});
			if (!next || signal.aborted || next.done) {
				this.ended = !signal.aborted;
				return false;
			}
			this.#batch = next.value;
			this.#at = 0;
		}
		return true;
	}

	/** When the next event is due. One without a time comes with the one before it. */
	#peek(): number {
		const e = this.#batch?.events[this.#at];

		return e ? time(e.ts) : 0;
	}
}
