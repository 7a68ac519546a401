// SPDX-License-Identifier: Apache-2.0
// A patch as git writes it -> files, hunks and rows to show. A hunk is read by the counts in its header, so a removed line that looks like
// a header is a line. What cannot be read is left to be shown as text (`rest`); nothing throws and nothing is more than linear.

export type FileKind = 'modified' | 'added' | 'deleted' | 'renamed' | 'copied';

export interface Hunk { oldStart: number; newStart: number; section: string; lines: string[] } // lines: with ' ', '-', '+' or '\' before each

export interface FileDiff {
	oldPath: string;
	newPath: string;
	kind: FileKind;
	oldMode?: string;
	newMode?: string;
	similarity?: number;
	binary?: boolean;
	hunks: Hunk[];
	added: number;
	removed: number;
}

export interface Patch { files: FileDiff[]; rest: string }

const ESCAPES: ReadonlyMap<string, number> = new Map([['n', 10], ['t', 9], ['r', 13], ['a', 7], ['b', 8], ['f', 12], ['v', 11], ['"', 34], ['\\', 92]]);

// A name as git quotes it: "a/\303\244.txt"
export function unquote(name: string): string {
	if (!/^".*"$/s.test(name) || name.length < 2) return name;
	const out: number[] = [];
	const inner = name.slice(1, -1);
	const encoder = new TextEncoder();
	for (const m of inner.matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
		if (m[1]) out.push(parseInt(m[1], 8) & 255);
		else if (m[2]) out.push(ESCAPES.get(m[2]) ?? m[2].charCodeAt(0));
		else for (const byte of encoder.encode(m[3])) out.push(byte);
	}
	return new TextDecoder().decode(new Uint8Array(out));
}

const side = (name: string): string => {
	const path = unquote(name.replace(/\t$/, ''));
	return path === '/dev/null' ? '' : path.replace(/^[abciow]\//, '');
};

// The two names of "diff --git": equal halves, since names may have blanks; only a rename has two, and says them again below.
function names(header: string): [string, string] {
	const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*")$/.exec(header) ?? /^("(?:[^"\\]|\\.)*") (.+)$/.exec(header);
	if (quoted) return [side(quoted[1]!), side(quoted[2]!)];
	const half = (header.length - 1) / 2;
	const [a, b] = [header.slice(0, half), header.slice(half + 1)];
	if (Number.isInteger(half) && header[half] === ' ' && a.slice(2) === b.slice(2)) return [side(a), side(b)];
	const at = header.indexOf(' b/');
	return at < 0 ? [side(header), side(header)] : [side(header.slice(0, at)), side(header.slice(at + 1))];
}

type Setter = (file: FileDiff, value: string) => void;

const HEADERS: readonly [string, Setter][] = [
	['--- ', (f, v) => { if (side(v)) f.oldPath = side(v); }],
	['+++ ', (f, v) => { if (side(v)) f.newPath = side(v); }],
	['old mode ', (f, v) => { f.oldMode = v; }],
	['new mode ', (f, v) => { f.newMode = v; }],
	['deleted file mode ', (f, v) => { f.kind = 'deleted'; f.oldMode = v; }],
	['new file mode ', (f, v) => { f.kind = 'added'; f.newMode = v; }],
	['rename from ', (f, v) => { f.kind = 'renamed'; f.oldPath = unquote(v); }],
	['rename to ', (f, v) => { f.kind = 'renamed'; f.newPath = unquote(v); }],
	['copy from ', (f, v) => { f.kind = 'copied'; f.oldPath = unquote(v); }],
	['copy to ', (f, v) => { f.kind = 'copied'; f.newPath = unquote(v); }],
	['similarity index ', (f, v) => { f.similarity = Number.parseInt(v, 10); }],
	['dissimilarity index ', () => {}],
	['index ', () => {}],
	['Binary files ', (f) => { f.binary = true; }],
	['GIT binary patch', (f) => { f.binary = true; }],
];

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)$/s;

class Reader {
	readonly files: FileDiff[] = [];
	readonly rest: string[] = [];
	private readonly lines: string[];
	private at = 0;

	constructor(text: string) {
		this.lines = text.split('\n');
		if (this.lines.at(-1) === '') this.lines.pop();
	}

	read(): Patch {
		while (this.at < this.lines.length) {
			const line = this.lines[this.at]!;
			if (line.startsWith('diff --git ')) this.file(names(line.slice(11)), 1);
			else if (line.startsWith('--- ') && this.lines[this.at + 1]?.startsWith('+++ ')) this.file([side(line.slice(4)), side(this.lines[this.at + 1]!.slice(4))], 0);
			else this.rest.push(this.lines[this.at++]!);
		}
		return { files: this.files, rest: this.rest.join('\n').trim() };
	}

	private file([oldPath, newPath]: [string, string], skip: number): void {
		const file: FileDiff = { oldPath: oldPath || newPath, newPath: newPath || oldPath, kind: oldPath ? newPath ? 'modified' : 'deleted' : 'added', hunks: [], added: 0, removed: 0 };
		this.files.push(file);
		this.at += skip;
		for (; this.at < this.lines.length; this.at++) {
			const line = this.lines[this.at]!;
			const header = HEADERS.find(([word]) => line.startsWith(word));
			if (!header) break;
			header[1](file, line.slice(header[0].length));
		}
		if (file.binary) this.binary();
		while (this.hunk(file)) { /* all of them */ }
	}

	// The data of a binary patch is not shown.
	private binary(): void {
		while (this.at < this.lines.length && !this.lines[this.at]!.startsWith('diff --git ')) this.at++;
	}

	private hunk(file: FileDiff): boolean {
		const m = HUNK.exec(this.lines[this.at] ?? '');
		if (!m) return false;
		const hunk: Hunk = { oldStart: Number(m[1]), newStart: Number(m[3]), section: m[5]!, lines: [] };
		let [old, fresh] = [Number(m[2] ?? 1), Number(m[4] ?? 1)];
		file.hunks.push(hunk);
		this.at++;
		for (; this.at < this.lines.length; this.at++) {
			const line = this.lines[this.at]!;
			const sign = line[0] ?? ' '; // some programs drop the blank of an empty line
			if (sign === '\\') { hunk.lines.push(line); continue; }
			if (old + fresh <= 0 || !' -+'.includes(sign)) break;
			if (sign !== '+') old--;
			if (sign !== '-') fresh--;
			if (sign === '+') file.added++;
			if (sign === '-') file.removed++;
			hunk.lines.push(line || ' ');
		}
		return true;
	}
}

export const parsePatch = (text: string): Patch => new Reader(text).read();

// --- rows ---------------------------------------------------------------------------------------------------

export interface Side { no: number; text: string; noEol?: boolean }
export interface Row { hunk?: string; old?: Side; fresh?: Side; same?: boolean } // hunk: a line between hunks; same: both sides are the context

const PAIRED_MAX = 40; // lines of a side that are compared with each other

// How alike two lines are: the part of their words that both have, of the words' letters.
function likeness(a: string, b: string): number {
	const have = new Set(words(a));
	const both = words(b).reduce((n, word) => n + (have.has(word) ? word.trim().length : 0), 0);
	return both / Math.max(1, a.trim().length, b.trim().length);
}

// Which lines stand beside each other: the first with the first where there are as many of both, else those that are most alike, in order.
function paired(olds: readonly Side[], news: readonly Side[]): [Side | undefined, Side | undefined][] {
	const [n, m] = [olds.length, news.length];
	if (n === m || !n || !m || n > PAIRED_MAX || m > PAIRED_MAX) return Array.from({ length: Math.max(n, m) }, (_, i) => [olds[i], news[i]]);
	const like = olds.map((o) => news.map((f) => { const part = o.text.length + f.text.length > LINE_MAX ? 0 : likeness(o.text, f.text); return part > 0.4 ? part : 0; }));
	const best = Array.from({ length: n + 1 }, () => new Float64Array(m + 1)); // of olds from i and news from j on
	for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i]![j] = Math.max(best[i + 1]![j]!, best[i]![j + 1]!, like[i]![j]! && like[i]![j]! + best[i + 1]![j + 1]!);
	const out: [Side | undefined, Side | undefined][] = [];
	let [i, j] = [0, 0];
	// Between two pairs that are alike, what is left stands side by side from the top.
	const until = (x: number, y: number): void => {
		while (i < x || j < y) out.push([i < x ? olds[i++] : undefined, j < y ? news[j++] : undefined]);
	};
	for (let x = 0, y = 0; x < n && y < m;) {
		if (like[x]![y]! && best[x]![y] === like[x]![y]! + best[x + 1]![y + 1]!) {
			until(x, y);
			out.push([olds[i++], news[j++]]);
			x++;
			y++;
		} else if (best[x]![y] === best[x + 1]![y]) x++;
		else y++;
	}
	until(n, m);
	return out;
}

class Rows {
	readonly out: Row[] = [];
	private olds: Side[] = [];
	private news: Side[] = [];
	private last: Side[] = [];

	private readonly split: boolean; // else one side after the other

	constructor(split: boolean) {
		this.split = split;
	}

	private flush(): void {
		const { olds, news } = this;
		if (this.split) {
			for (const [old, fresh] of paired(olds, news)) this.out.push({ ...(old && { old }), ...(fresh && { fresh }) });
		} else {
			for (const old of olds) this.out.push({ old });
			for (const fresh of news) this.out.push({ fresh });
		}
		this.olds = [];
		this.news = [];
	}

	hunk(hunk: Hunk, before: number): void {
		this.flush();
		if (before > 0 || hunk.section) this.out.push({ hunk: [before > 0 ? `${before} unchanged line${before === 1 ? '' : 's'}` : '', hunk.section].filter(Boolean).join('   ') });
		let [o, n] = [hunk.oldStart, hunk.newStart];
		for (const line of hunk.lines) {
			const text = line.slice(1);
			if (line[0] === '\\') { for (const s of this.last) s.noEol = true; continue; }
			if (line[0] === '-') { this.last = [{ no: o++, text }]; this.olds.push(this.last[0]!); continue; }
			if (line[0] === '+') { this.last = [{ no: n++, text }]; this.news.push(this.last[0]!); continue; }
			this.flush();
			this.last = [{ no: o++, text }, { no: n++, text }];
			this.out.push({ same: true, old: this.last[0]!, fresh: this.last[1]! });
		}
		this.flush();
	}
}

export function makeRows(file: FileDiff, split: boolean): Row[] {
	const rows = new Rows(split);
	let next = 1;
	for (const hunk of file.hunks) {
		rows.hunk(hunk, hunk.oldStart - next);
		next = hunk.oldStart + hunk.lines.reduce((n, line) => n + (line[0] === ' ' || line[0] === '-' ? 1 : 0), 0);
	}
	return rows.out;
}

// --- marks within a line ------------------------------------------------------------------------------------

export interface Part { text: string; changed: boolean }

const LINE_MAX = 2000; // longer lines are marked as a whole
const WORDS_MAX = 160;

const words = (line: string): string[] => line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

function joined(list: readonly string[], changed: readonly boolean[]): Part[] {
	const out: Part[] = [];
	list.forEach((text, i) => {
		const last = out.at(-1);
		if (last?.changed === changed[i]) last!.text += text;
		else out.push({ text, changed: changed[i]! });
	});
	return out;
}

// Which words of the two lists are not in a longest common subsequence of both.
function lcs(a: readonly string[], b: readonly string[]): [boolean[], boolean[]] {
	const width = b.length + 1;
	const table = new Uint16Array((a.length + 1) * width);
	for (let i = a.length - 1; i >= 0; i--) {
		for (let j = b.length - 1; j >= 0; j--) {
			table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
		}
	}
	const [inA, inB] = [a.map(() => true), b.map(() => true)];
	for (let i = 0, j = 0; i < a.length && j < b.length;) {
		if (a[i] === b[j]) inA[i++] = inB[j++] = false;
		else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
		else j++;
	}
	return [inA, inB];
}

// What differs between two lines, word by word; undefined: they have so little in common that marks would only be noise.
export function markLines(old: string, fresh: string): [Part[], Part[]] | undefined {
	if (old.length > LINE_MAX || fresh.length > LINE_MAX) return undefined;
	const [a, b] = [words(old), words(fresh)];
	let head = 0;
	while (head < a.length && head < b.length && a[head] === b[head]) head++;
	let tail = 0;
	while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
	const [midA, midB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
	const [inA, inB] = midA.length > WORDS_MAX || midB.length > WORDS_MAX ? [midA.map(() => true), midB.map(() => true)] : lcs(midA, midB);
	const around = (mid: boolean[]): boolean[] => [...Array<boolean>(head).fill(false), ...mid, ...Array<boolean>(tail).fill(false)];
	const result: [Part[], Part[]] = [joined(a, around(inA)), joined(b, around(inB))];
	const kept = result[0].reduce((n, p) => n + (p.changed ? 0 : p.text.trim().length), 0);
	return kept * 4 >= Math.max(old.trim().length, fresh.trim().length) ? result : undefined;
}
