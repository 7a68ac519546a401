// SPDX-License-Identifier: Apache-2.0
// Two texts -> what a patch would say (Myers' algorithm by lines). Beyond DISTANCE edits, or after so much work, lines that each text has
// once cut it into pieces; what is still too different counts as replaced: always right, only less fine.
import type { FileDiff, Hunk } from './patch.ts';

const CONTEXT = 3;
const DISTANCE = 1000;
const WORK = 20_000_000; // lines looked at
const TEXT_MAX = 8 * 1024 * 1024;

interface Lines { list: string[]; noEol: boolean }

function linesOf(text: string): Lines {
	if (!text) return { list: [], noEol: false };
	const list = text.slice(0, TEXT_MAX).split('\n');
	const noEol = list.at(-1) !== '';
	if (!noEol) list.pop();
	return { list, noEol };
}

// Marks of the lines that go (a) and come (b); undefined: too far apart.
function myers(a: readonly number[], b: readonly number[]): [Uint8Array, Uint8Array] | undefined {
	const [n, m] = [a.length, b.length];
	const most = Math.min(DISTANCE, n + m);
	const v = new Int32Array(2 * most + 3);
	const trace: Int32Array[] = [];
	let work = 0;
	for (let d = 0; d <= most; d++) {
		trace.push(v.slice(most - d, most + d + 3));
		for (let k = -d; k <= d; k += 2) {
			const down = k === -d || (k !== d && v[most + k]! < v[most + k + 2]!);
			let x = down ? v[most + k + 2]! : v[most + k]! + 1;
			while (x < n && x - k < m && a[x] === b[x - k]) x++, work++;
			v[most + k + 1] = x;
			if (x >= n && x - k >= m) return back(trace, n, m);
			if (work > WORK) return undefined;
		}
	}
	return undefined;
}

// The way back through what trace has of each distance: element i of trace[d] is of diagonal i - d - 1.
function back(trace: readonly Int32Array[], n: number, m: number): [Uint8Array, Uint8Array] {
	const [gone, come] = [new Uint8Array(n), new Uint8Array(m)];
	let [x, y] = [n, m];
	for (let d = trace.length - 1; d > 0; d--) {
		const v = trace[d]!;
		const k = x - y;
		const at = (diagonal: number): number => v[diagonal + d + 1]!;
		const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
		const from = down ? k + 1 : k - 1;
		x = at(from);
		y = x - from;
		if (down) come[y] = 1;
		else gone[x] = 1;
	}
	return [gone, come];
}

// Places [of a, of b] of lines that both have exactly once, in the order of both: a longest such chain.
function anchors(a: readonly number[], b: readonly number[]): [number, number][] {
	const once = (list: readonly number[]): Map<number, number> => {
		const at = new Map<number, number>();
		list.forEach((line, i) => at.set(line, at.has(line) ? -1 : i));
		return at;
	};
	const [inA, inB] = [once(a), once(b)];
	const common = a.flatMap((line, i): [number, number][] => (inA.get(line) === i && (inB.get(line) ?? -1) >= 0 ? [[i, inB.get(line)!]] : []));
	const tails: number[] = []; // of chains of each length, the one that ends first: indices into common
	const before = new Int32Array(common.length);
	common.forEach(([, y], i) => {
		let [low, high] = [0, tails.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if (common[tails[middle]!]![1] < y) low = middle + 1;
			else high = middle;
		}
		before[i] = low ? tails[low - 1]! : -1;
		tails[low] = i;
	});
	const out: [number, number][] = [];
	for (let i = tails.at(-1) ?? -1; i >= 0; i = before[i]!) out.push(common[i]!);
	return out.reverse();
}

const PIECE = 200_000; // product of the sides of a piece that is compared; a larger one counts as replaced

function pieces(a: readonly number[], b: readonly number[]): [Uint8Array, Uint8Array] {
	const [gone, come] = [new Uint8Array(a.length).fill(1), new Uint8Array(b.length).fill(1)];
	let [x, y] = [0, 0];
	for (const [toX, toY] of [...anchors(a, b), [a.length, b.length] as const]) {
		const found = (toX - x) * (toY - y) <= PIECE && toX > x && toY > y ? myers(a.slice(x, toX), b.slice(y, toY)) : undefined;
		if (found) {
			gone.set(found[0], x);
			come.set(found[1], y);
		}
		if (toX < a.length && toY < b.length) gone[toX] = come[toY] = 0;
		[x, y] = [toX + 1, toY + 1];
	}
	return [gone, come];
}

function marks(a: readonly string[], b: readonly string[]): [Uint8Array, Uint8Array] {
	const ids = new Map<string, number>();
	const id = (line: string): number => ids.get(line) ?? (ids.set(line, ids.size), ids.size - 1);
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const [midA, midB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
	const [idsA, idsB] = [midA.map(id), midB.map(id)];
	const found = myers(idsA, idsB) ?? pieces(idsA, idsB);
	const whole = (mid: Uint8Array, length: number): Uint8Array => { const out = new Uint8Array(length); out.set(mid, head); return out; };
	return [whole(found[0], a.length), whole(found[1], b.length)];
}

const NO_EOL = '\\ No newline at end of file';

// All lines of both texts in order, with their signs; a change at the very end may be the line feed alone. Where neither
// text ends in one they may be pieces of a file, as harnesses send them: that says nothing of the file's end.
function script(a: Lines, b: Lines): string[] {
	const tag = (l: Lines, other: Lines): string[] => (l.noEol !== other.noEol && l.list.length ? [...l.list.slice(0, -1), `${l.list.at(-1)}${l.noEol ? '\u0000' : ''}`] : l.list);
	const [gone, come] = marks(tag(a, b), tag(b, a));
	const out: string[] = [];
	for (let i = 0, j = 0; i < a.list.length || j < b.list.length;) {
		const last = (l: Lines, at: number): string[] => (l.noEol && a.noEol !== b.noEol && at === l.list.length - 1 ? [NO_EOL] : []);
		if (i < a.list.length && gone[i]) out.push(`-${a.list[i]}`, ...last(a, i++));
		else if (j < b.list.length && come[j]) out.push(`+${b.list[j]}`, ...last(b, j++));
		else {
			out.push(` ${a.list[i] ?? ''}`, ...last(a, i));
			i++;
			j++;
		}
	}
	return out;
}

// Groups of changes with CONTEXT lines around each. A line of '\\' belongs to the line before it.
function hunksOf(lines: readonly string[]): Hunk[] {
	const hunks: Hunk[] = [];
	const changed = (i: number): boolean => lines[i]![0] === '-' || lines[i]![0] === '+';
	let [o, n, end] = [1, 1, 0];
	const pass = (to: number): void => {
		for (; end < to; end++) {
			const sign = lines[end]![0];
			if (sign === ' ' || sign === '-') o++;
			if (sign === ' ' || sign === '+') n++;
		}
	};
	for (let i = 0; i < lines.length; i++) {
		if (!changed(i)) continue;
		pass(Math.max(end, i - CONTEXT));
		const [from, oldStart, newStart] = [end, o, n];
		let last = i;
		for (let j = i; j < lines.length && j - last <= 2 * CONTEXT; j++) if (changed(j)) last = j;
		pass(Math.min(lines.length, last + 1 + CONTEXT));
		if (lines[end]?.[0] === '\\') pass(end + 1);
		hunks.push({ oldStart, newStart, section: '', lines: lines.slice(from, end) });
		i = end - 1;
	}
	return hunks;
}

export function diffTexts(path: string, oldText: string | null, newText: string): FileDiff {
	const [a, b] = [linesOf(oldText ?? ''), linesOf(newText)];
	const lines = script(a, b);
	const sum = (sign: string): number => lines.reduce((n, line) => n + (line[0] === sign ? 1 : 0), 0);
	return { oldPath: path, newPath: path, kind: oldText === null ? 'added' : 'modified', hunks: hunksOf(lines), added: sum('+'), removed: sum('-') };
}
