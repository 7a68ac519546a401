// SPDX-License-Identifier: Apache-2.0
// All rows of a session: an index of 32 bytes for each, and the rows themselves in pages, of which only those are kept that are
// near what is seen or that grow. A dropped page is read again by pages.ts.

import type { Item } from './items.ts';
import { PAGE_ROWS, PAGES_BYTES } from './limits.ts';

const PAGE_BYTES = 1024 * 1024; // a page that is larger gets no more rows
const FIRST_ROOM = 1024;

export interface Page {
	no: number;
	first: number; // index of its first row
	count: number;
	bytes: number; // of the events in it, about what it takes in memory
	rows: (Item | null)[] | null; // null: dropped
	lastSeq: number;
}

export class Rows {
	#ids = new Float64Array(FIRST_ROOM);
	#at = new Float64Array(FIRST_ROOM);
	#pageOf = new Uint32Array(FIRST_ROOM);
	#count = 0;
	#pages: Page[] = [];
	#held = 0; // bytes of all pages that are here
	#seen = { from: Infinity, to: Infinity }; // until somebody looks, the end

	get count(): number { return this.#count; }
	get bytes(): number { return this.#held; }
	get pagesHere(): number { return this.#pages.reduce((n, p) => n + (p.rows ? 1 : 0), 0); }

	id(i: number): number { return this.#ids[i]!; }
	at(i: number): number { return this.#at[i]!; }
	page(i: number): Page { return this.#pages[this.#pageOf[i]!]!; }

	/** null: its page was dropped, and has to be read again. */
	get(i: number): Item | null {
		const page = this.page(i);

		return page.rows ? page.rows[i - page.first] ?? null : null;
	}

	/** The row of that id, or -1. */
	find(id: number): number {
		const i = this.#lowest((k) => this.#ids[k]! >= id);

		return i < this.#count && this.#ids[i] === id ? i : -1;
	}

	/** The newest row that began at or before that time; 0 if there is none. */
	findAt(at: number): number {
		return Math.max(0, this.#lowest((k) => this.#at[k]! > at) - 1);
	}

	push(item: Item, bytes: number): number {
		const i = this.#count;
		const page = this.#openPage();

		this.#reserve();
		this.#ids[i] = item.id;
		this.#at[i] = item.at;
		this.#pageOf[i] = page.no;
		this.#count++;
		page.rows!.push(item);
		page.count++;
		this.#grow(page, bytes, item.last);
		return i;
	}

	/** The row is another now. Of a dropped page only its size is noted. */
	set(i: number, item: Item | null, bytes: number, last: number): void {
		const page = this.page(i);

		if (page.rows && item)
			page.rows[i - page.first] = item;
		this.#grow(page, bytes, last);
	}

	/** These rows are looked at: they and their neighbours stay. */
	see(from: number, to: number): void {
		this.#seen = { from, to };
		this.#trim();
	}

	/** A page has been read again. */
	restore(page: Page, rows: (Item | null)[]): void {
		if (page.rows)
			return;
		page.rows = rows;
		this.#held += page.bytes;
		this.#trim();
	}

	#lowest(holds: (k: number) => boolean): number {
		let from = 0;
		let to = this.#count;

		while (from < to) {
			const mid = (from + to) >> 1;
			if (holds(mid))
				to = mid;
			else
				from = mid + 1;
		}
		return from;
	}

	#openPage(): Page {
		const end = this.#pages.at(-1);

		if (end?.rows && end.count < PAGE_ROWS && end.bytes < PAGE_BYTES)
			return end;
		const page: Page = { no: this.#pages.length, first: this.#count, count: 0, bytes: 0, rows: [], lastSeq: 0 };
		this.#pages.push(page);
		return page;
	}

	#grow(page: Page, bytes: number, last: number): void {
		page.bytes += bytes;
		page.lastSeq = Math.max(page.lastSeq, last);
		if (page.rows)
			this.#held += bytes;
		this.#trim();
	}

	#reserve(): void {
		if (this.#count < this.#ids.length)
			return;
		const room = this.#ids.length * 2;
		const ids = new Float64Array(room);
		const at = new Float64Array(room);
		const pageOf = new Uint32Array(room);

		ids.set(this.#ids);
		at.set(this.#at);
		pageOf.set(this.#pageOf);
		[this.#ids, this.#at, this.#pageOf] = [ids, at, pageOf];
	}

	/** Drops pages, the farthest from what is seen first. The newest stays: it grows. */
	#trim(): void {
		if (this.#held <= PAGES_BYTES || this.#count === 0)
			return;
		const from = this.#pageOf[Math.min(this.#seen.from, this.#count - 1)]!;
		const to = this.#pageOf[Math.min(this.#seen.to, this.#count - 1)]!;
		const far = (p: Page) => (p.no < from ? from - p.no : Math.max(0, p.no - to));
		const here = this.#pages.filter((p) => p.rows && far(p) > 1 && p.no < this.#pages.length - 2)
			.sort((a, b) => far(b) - far(a));

		for (const page of here) {
			if (this.#held <= PAGES_BYTES * 0.75)
				break;
			page.rows = null;
			this.#held -= page.bytes;
		}
	}
}
