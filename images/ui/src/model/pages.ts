// SPDX-License-Identifier: Apache-2.0
// Reads dropped pages again when they are looked at: the events from the first of the page to the last that belongs to it, of
// which only what makes its rows is kept.

import type { Item } from './items.ts';
import type { Page, Rows } from './rows.ts';
import type { Source } from './source.ts';
import { Assembler, applyToRow } from './assemble.ts';
import { num } from './read.ts';

const NEIGHBOURS = 32; // rows before and after what is seen, so that scrolling finds them

export class Pages {
	#rows: Rows;
	#source: Source;
	#changed: () => void;
	#reading: Page | null = null;
	#stop = new AbortController();
	#want = { from: 0, to: 0 };
	error: string | null = null;

	constructor(rows: Rows, source: Source, changed: () => void) {
		this.#rows = rows;
		this.#source = source;
		this.#changed = changed;
	}

	/** These rows are seen. What is missing of them is read, one page at a time. */
	see(from: number, to: number): void {
		const rows = this.#rows;

		if (rows.count === 0)
			return;
		this.#want = { from: Math.max(0, from - NEIGHBOURS), to: Math.min(rows.count - 1, to + NEIGHBOURS) };
		rows.see(this.#want.from, this.#want.to);
		void this.#next();
	}

	retry(): void {
		this.error = null;
		void this.#next();
	}

	close(): void {
		this.#stop.abort();
	}

	#missing(): Page | null {
		const last = this.#rows.page(Math.min(this.#want.to, this.#rows.count - 1)).no;
		let page = this.#rows.page(Math.min(this.#want.from, this.#rows.count - 1));

		for (;;) {
			if (!page.rows)
				return page;
			if (page.no >= last)
				return null;
			page = this.#rows.page(page.first + page.count);
		}
	}

	async #next(): Promise<void> {
		const page = this.#reading || this.error || this.#stop.signal.aborted ? null : this.#missing();

		if (!page)
			return;
		this.#reading = page;
		try {
			await this.#read(page);
		} catch (e) {
			if (!this.#stop.signal.aborted)
				this.error = e instanceof Error ? e.message : String(e);
		}
		this.#reading = null;
		this.#changed();
		void this.#next();
	}

	/** Again, if the page has got more meanwhile. */
	async #read(page: Page): Promise<void> {
		for (let until = -1; until !== page.lastSeq && !this.#stop.signal.aborted;) {
			until = page.lastSeq;
			const rows = await this.#rowsOf(page, until);
			if (until === page.lastSeq && !this.#stop.signal.aborted)
				this.#rows.restore(page, rows);
		}
	}

	async #rowsOf(page: Page, until: number): Promise<(Item | null)[]> {
		const assembler = new Assembler((id) => this.#rows.find(id) >= 0);
		const rows = new Array<Item | null>(page.count).fill(null);
		const since = Math.max(0, Math.ceil(this.#rows.id(page.first)) - 1);

		for await (const batch of this.#source.read({ since, until, signal: this.#stop.signal }))
			for (const e of batch.events) {
				const place = typeof e.seq === 'number' ? assembler.place(e, num(e.seq)) : null;
				const i = place ? this.#rows.find(place.id) - page.first : -1;
				if (place && i >= 0 && i < page.count)
					rows[i] = applyToRow(rows[i] ?? null, e, place.id);
			}
		return rows.map((row, i) => row ?? this.#lost(page, i));
	}

	/** A row that cannot be read again: a gap, or what has been trimmed since. */
	#lost(page: Page, i: number): Item {
		const id = this.#rows.id(page.first + i);
		const at = this.#rows.at(page.first + i);

		return { kind: 'note', id, last: id, turn: 0, at, until: at, event: 'lost', severity: 'warning',
			text: Number.isInteger(id) ? 'This is no longer there' : 'Events are missing here' };
	}
}
