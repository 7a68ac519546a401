// SPDX-License-Identifier: Apache-2.0
// Heights of rows of which most were never drawn: an estimate until a row was measured. Where a row begins, and which row is at a
// height, is found in O(log n) by a tree of sums (Fenwick).

export class Heights {
	#sums = new Float64Array(1024); // 1-based
	#own = new Float32Array(1024);
	#count = 0;
	readonly estimate: number;

	constructor(estimate: number) {
		this.estimate = estimate;
	}

	get count(): number { return this.#count; }
	get total(): number { return this.top(this.#count); }

	resize(count: number): void {
		if (count < this.#count)
			this.#count = 0;
		while (this.#count < count) {
			this.#reserve();
			const k = ++this.#count;
			this.#own[k] = this.estimate;
			this.#sums[k] = this.estimate + this.#between(k - (k & -k), k - 1);
		}
	}

	height(i: number): number { return this.#own[i + 1]!; }

	/** How much higher the row is than it was. */
	set(i: number, height: number): number {
		const change = height - this.#own[i + 1]!;

		this.#own[i + 1] = height;
		for (let k = i + 1; change !== 0 && k <= this.#count; k += k & -k)
			this.#sums[k]! += change;
		return change;
	}

	/** Where row i begins. */
	top(i: number): number {
		let sum = 0;

		for (let k = i; k > 0; k -= k & -k)
			sum += this.#sums[k]!;
		return sum;
	}

	/** The row at this height. */
	at(y: number): number {
		let k = 0;
		let left = y;

		for (let step = 1 << Math.floor(Math.log2(Math.max(1, this.#count))); step; step >>= 1)
			if (k + step <= this.#count && this.#sums[k + step]! <= left) {
				k += step;
				left -= this.#sums[k]!;
			}
		return Math.min(k, Math.max(0, this.#count - 1));
	}

	/** The sum of rows from+1 to to, by what is in the tree already. */
	#between(from: number, to: number): number {
		return this.top(to) - this.top(from);
	}

	#reserve(): void {
		if (this.#count + 1 < this.#sums.length)
			return;
		const sums = new Float64Array(this.#sums.length * 2);
		const own = new Float32Array(this.#own.length * 2);

		sums.set(this.#sums);
		own.set(this.#own);
		[this.#sums, this.#own] = [sums, own];
	}
}
