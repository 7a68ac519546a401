// SPDX-License-Identifier: Apache-2.0
// The events of a bundle: a Blob, which the browser keeps outside the page's memory, and where in it every STEP-th line begins.

import type { Batch, Range, Source } from '../model/source.ts';
import { eventsOf } from '../model/lines.ts';

const STEP = 256;
const HEAD = 48; // bytes of a line in which its seq stands
const NEWLINE = 10;

export class EventsFile implements Source {
	#blob = new Blob([]);
	#offsets: { seq: number; at: number }[] = [{ seq: 0, at: 0 }];

	/** blob: all of it. index: made while it was read. */
	constructor(blob: Blob, index: LineIndex) {
		this.#blob = blob;
		this.#offsets = index.offsets;
	}

	async *read({ since, until, signal }: Range): AsyncGenerator<Batch> {
		const start = this.#offsets.findLast((o) => o.seq <= since + 1) ?? this.#offsets[0]!;

		for await (const batch of eventsOf(this.#blob.slice(start.at).stream(), until)) {
			signal.throwIfAborted();
			const first = batch.events.findIndex((e) => typeof e.seq !== 'number' || e.seq > since);
			const from = first < 0 ? batch.events.length : first;
			yield { events: batch.events.slice(from), sizes: batch.sizes.slice(from), bad: batch.bad };
		}
	}
}

/** Is given the bytes of the file in pieces. */
export class LineIndex {
	offsets: { seq: number; at: number }[] = [{ seq: 0, at: 0 }];
	lines = 0;
	#at = 0;
	#head: number[] | null = null;
	#headAt = 0;

	push(b: Uint8Array): void {
		for (let i = 0; i < b.length;) {
			if (this.#head) {
				i = this.#takeHead(b, i);
				continue;
			}
			const end = b.indexOf(NEWLINE, i);
			if (end < 0)
				break;
			i = end + 1;
			if (++this.lines % STEP === 0) {
				this.#head = [];
				this.#headAt = this.#at + i;
			}
		}
		this.#at += b.length;
	}

	#takeHead(b: Uint8Array, i: number): number {
		const head = this.#head!;

		while (i < b.length && head.length < HEAD && b[i] !== NEWLINE)
			head.push(b[i++]!);
		if (i < b.length || head.length === HEAD) {
			const seq = Number(/^\{"seq":(\d+)/.exec(String.fromCharCode(...head))?.[1] ?? NaN);
			if (Number.isFinite(seq) && seq > this.offsets.at(-1)!.seq)
				this.offsets.push({ seq, at: this.#headAt });
			this.#head = null;
		}
		return i;
	}
}
