// SPDX-License-Identifier: Apache-2.0
// From bytes to lines to events. A line of more than LINE_MAX is left out, and so is one that is no JSON object with a kind.

import type { RawEvent } from './event.ts';
import type { Batch } from './source.ts';
import { isObject } from './read.ts';

const LINE_MAX = 48 * 1024 * 1024; // the daemon sends none above 32 MiB and a little

/** Splits UTF-8 text into lines; half a line waits for the rest. */
export class LineSplitter {
	#decoder = new TextDecoder();
	#rest: string[] = [];
	#length = 0;
	#skipping = false;

	push(bytes: Uint8Array): string[] {
		return this.#take(this.#decoder.decode(bytes, { stream: true }));
	}

	/** What is left when there is no more. */
	end(): string[] {
		const lines = this.#take(`${this.#decoder.decode()}\n`);

		return lines.filter((l) => l !== '');
	}

	#take(text: string): string[] {
		const lines = text.split('\n');
		const rest = lines.pop()!;

		if (lines.length > 0) {
			lines[0] = this.#skipping ? '' : this.#rest.join('') + lines[0];
			this.#rest = [];
			this.#length = 0;
			this.#skipping = false;
		}
		this.#length += rest.length;
		if (this.#length > LINE_MAX) {
			this.#rest = [];
			this.#skipping = true;
		} else if (rest) {
			this.#rest.push(rest);
		}
		return lines;
	}
}

export function parseEvent(line: string): RawEvent | null {
	try {
		const v: unknown = JSON.parse(line);

		return isObject(v) && typeof v.kind === 'string' ? (v as RawEvent) : null;
	} catch {
		return null;
	}
}

export function newBatch(): Batch {
	return { events: [], sizes: [], bad: 0 };
}

export function addLine(batch: Batch, line: string): void {
	const e = line ? parseEvent(line) : null;

	if (e) {
		batch.events.push(e);
		batch.sizes.push(line.length + 200); // strings of one byte a character, and the objects around them
	} else if (line.trim()) {
		batch.bad++;
	}
}

/** Events of an ndjson stream, up to the number `until`. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>, until = Infinity): AsyncGenerator<Batch> {
	const reader = stream.getReader();
	const splitter = new LineSplitter();

	try {
		for (;;) {
			const { done, value } = await reader.read();
			const batch = newBatch();

			for (const line of done ? splitter.end() : splitter.push(value))
				addLine(batch, line);
			const over = batch.events.findIndex((e) => typeof e.seq === 'number' && e.seq > until);
			if (over >= 0) {
				yield { ...batch, events: batch.events.slice(0, over), sizes: batch.sizes.slice(0, over) };
				return;
			}
			yield batch;
			if (done || lastSeq(batch) >= until)
				return;
		}
	} finally {
		reader.cancel().catch(() => {}); // whoever reads a piece does not wait for the rest
	}
}

function lastSeq(batch: Batch): number {
	const seq = batch.events.at(-1)?.seq;

	return typeof seq === 'number' ? seq : 0;
}
