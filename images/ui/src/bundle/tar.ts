// SPDX-License-Identifier: Apache-2.0
// Reads a tar in pieces: ustar, with the long names of pax. Only regular files and directories are taken; anything else, and
// what is no tar, is refused.

const BLOCK = 512;
const PAX_MAX = 64 * 1024;

export interface TarTarget {
	/** A file begins. */
	begin(path: string, size: number): void;
	data(piece: Uint8Array): void;
	end(): void;
}

export class TarError extends Error {}

export class TarReader {
	#to: TarTarget;
	#rest = new Uint8Array(0);
	#left = 0; // bytes of the member that are to come
	#pad = 0; // bytes after it, up to the next block
	#pax: Uint8Array[] | null = null; // the member describes the next one
	#longPath = '';
	#zeros = 0;

	constructor(to: TarTarget) {
		this.#to = to;
	}

	push(data: Uint8Array): void {
		let b = data;

		if (this.#rest.length) {
			b = new Uint8Array(this.#rest.length + data.length);
			b.set(this.#rest);
			b.set(data, this.#rest.length);
		}
		for (;;) {
			const took = this.#step(b);
			if (took === 0)
				break;
			b = b.subarray(took);
		}
		this.#rest = b.slice();
	}

	/** There is no more. */
	end(): void {
		if (this.#left || this.#zeros < 2)
			throw new TarError('it ends in the middle');
	}

	/** How many bytes were used; 0: more are needed. */
	#step(b: Uint8Array): number {
		if (this.#left > 0)
			return this.#body(b);
		if (this.#pad > 0) {
			const n = Math.min(this.#pad, b.length);
			this.#pad -= n;
			return n;
		}
		if (b.length < BLOCK)
			return 0;
		if (this.#zeros < 2)
			this.#header(b.subarray(0, BLOCK));
		return BLOCK;
	}

	#body(b: Uint8Array): number {
		const n = Math.min(this.#left, b.length);

		this.#left -= n;
		if (this.#pax)
			this.#pax.push(b.slice(0, n));
		else if (n)
			this.#to.data(b.subarray(0, n));
		if (this.#left === 0)
			this.#finish();
		return n;
	}

	#finish(): void {
		if (this.#pax) {
			this.#longPath = paxPath(this.#pax);
			this.#pax = null;
		} else {
			this.#to.end();
		}
	}

	#header(h: Uint8Array): void {
		if (h.every((x) => x === 0)) {
			this.#zeros++;
			return;
		}
		if (this.#zeros || !checksum(h))
			throw new TarError('a header is damaged');
		const size = octal(h, 124, 12);
		const type = String.fromCharCode(h[156]!);
		const path = this.#longPath || nameOf(h);

		this.#pad = (BLOCK - (size % BLOCK)) % BLOCK;
		this.#longPath = '';
		this.#begin(type, path, size);
	}

	#begin(type: string, path: string, size: number): void {
		if (type === '5' && size === 0)
			return;
		if (type === 'x' || type === 'g') {
			if (size > PAX_MAX)
				throw new TarError('a header is too long');
			this.#pax = [];
		} else if (type === '0' || type === '\0') {
			this.#to.begin(path, size);
		} else {
			throw new TarError(`${path} is neither a file nor a directory`);
		}
		this.#left = size;
		if (size === 0)
			this.#finish();
	}
}

const decoder = new TextDecoder();

function text(h: Uint8Array, at: number, n: number): string {
	const end = h.indexOf(0, at);

	return decoder.decode(h.subarray(at, end < 0 || end > at + n ? at + n : end));
}

function nameOf(h: Uint8Array): string {
	const prefix = text(h, 257, 5) === 'ustar' ? text(h, 345, 155) : '';

	return prefix ? `${prefix}/${text(h, 0, 100)}` : text(h, 0, 100);
}

function octal(h: Uint8Array, at: number, n: number): number {
	const digits = text(h, at, n).trim();

	if (!/^[0-7]+$/.test(digits))
		throw new TarError('a header is damaged');
	return parseInt(digits, 8);
}

function checksum(h: Uint8Array): boolean {
	let sum = 0;

	for (let i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? 32 : h[i]!;
	return sum === octal(h, 148, 8);
}

/** The path of a pax header: records of "LENGTH key=value\n". */
function paxPath(pieces: Uint8Array[]): string {
	const b = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
	let at = 0;
	let path = '';

	for (const p of pieces) {
		b.set(p, at);
		at += p.length;
	}
	for (at = 0; at < b.length;) {
		const blank = b.indexOf(32, at);
		const length = parseInt(decoder.decode(b.subarray(at, blank)), 10);
		if (blank < 0 || !(length > 0) || at + length > b.length)
			throw new TarError('a header is damaged');
		const [, key, value] = /^([^=]*)=([^]*)\n$/.exec(decoder.decode(b.subarray(blank + 1, at + length))) ?? [];
		if (key === 'size')
			throw new TarError('a file is too large');
		if (key === 'path')
			path = value!;
		at += length;
	}
	return path;
}
