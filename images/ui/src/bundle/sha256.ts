// SPDX-License-Identifier: Apache-2.0
// SHA-256 in pieces. crypto.subtle takes a file only as a whole, and is not there at all on a page that came over plain HTTP.

const fraction = (x: number): number => Math.floor((x - Math.floor(x)) * 2 ** 32);

/** The first n primes. */
function primes(n: number): number[] {
	const found: number[] = [];

	for (let k = 2; found.length < n; k++)
		if (found.every((p) => k % p !== 0))
			found.push(k);
	return found;
}

const K = Uint32Array.from(primes(64), (p) => fraction(Math.cbrt(p)));
const START = primes(8).map((p) => fraction(Math.sqrt(p)));
const BLOCK = 64;

export class Sha256 {
	#h = Uint32Array.from(START);
	#w = new Uint32Array(64);
	#rest = new Uint8Array(BLOCK);
	#held = 0;
	#length = 0;

	update(data: Uint8Array): void {
		let at = 0;

		this.#length += data.length;
		if (this.#held) {
			at = Math.min(BLOCK - this.#held, data.length);
			this.#rest.set(data.subarray(0, at), this.#held);
			this.#held += at;
			if (this.#held < BLOCK)
				return;
			this.#block(this.#rest, 0);
			this.#held = 0;
		}
		for (; at + BLOCK <= data.length; at += BLOCK)
			this.#block(data, at);
		this.#rest.set(data.subarray(at));
		this.#held = data.length - at;
	}

	hex(): string {
		const bits = this.#length * 8;
		const end = new Uint8Array((this.#held < 56 ? BLOCK : 2 * BLOCK) - this.#held);
		const view = new DataView(end.buffer);

		end[0] = 0x80;
		view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
		view.setUint32(end.length - 4, bits >>> 0);
		this.update(end);
		return [...this.#h].map((x) => x.toString(16).padStart(8, '0')).join('');
	}

	#block(b: Uint8Array, at: number): void {
		const w = this.#w;
		const h = this.#h;
		let [s0, s1, s2, s3, s4, s5, s6, s7] = h as unknown as [number, number, number, number, number, number, number, number];

		for (let i = 0; i < 16; i++, at += 4)
			w[i] = (b[at]! << 24) | (b[at + 1]! << 16) | (b[at + 2]! << 8) | b[at + 3]!;
		for (let i = 16; i < 64; i++) {
			const x = w[i - 15]!;
			const y = w[i - 2]!;
			w[i] = w[i - 16]! + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[i - 7]! + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
		}
		for (let i = 0; i < 64; i++) {
			const t1 = (s7 + (turn(s4, 6) ^ turn(s4, 11) ^ turn(s4, 25)) + ((s4 & s5) ^ (~s4 & s6)) + K[i]! + w[i]!) | 0;
			const t2 = ((turn(s0, 2) ^ turn(s0, 13) ^ turn(s0, 22)) + ((s0 & s1) ^ (s0 & s2) ^ (s1 & s2))) | 0;
			[s7, s6, s5, s4, s3, s2, s1, s0] = [s6, s5, s4, (s3 + t1) | 0, s2, s1, s0, (t1 + t2) | 0];
		}
		[s0, s1, s2, s3, s4, s5, s6, s7].forEach((s, i) => { h[i] = h[i]! + s; });
	}
}

const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));
