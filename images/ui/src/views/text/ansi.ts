// SPDX-License-Identifier: Apache-2.0
// What a program wrote to a terminal -> lines of text in colours. Colours and letters of SGR are kept; \r, \b, tabs and "erase in line"
// are obeyed, so that a progress bar is one line; all other sequences are removed whole (cursor moves, titles, links, device control).
//
// Hostile text in: a sequence without end takes the rest of its line at most, a line has at most LINE_CHARS, a text LINES lines (the
// newest stay). Colours are chosen so that they can be read: whatever the program asks for, a text has a contrast of 4.5 : 1 on the
// ground that it asks for, which makes hidden text visible, too.

export interface Style { fg?: string; bg?: string; bold?: boolean; dim?: boolean; italic?: boolean; underline?: boolean; strike?: boolean }
export interface Span { text: string; style?: Style }
export type Line = Span[];
export interface Screen { lines: Line[]; dropped: number } // lines before the first

export const LINES = 5000;
export const LINE_CHARS = 4000;
export const TERMINAL_CHARS = 1024 * 1024;
const SPANS = 400; // of one line
const GROUND = '#14171c'; // --term-bg
const TEXT = '#d7dce3'; // --term-fg

const BASIC = [
	'#4a5261', '#ff7b72', '#6fcf7f', '#e3b341', '#79b0ff', '#d2a8ff', '#56d4dd', '#c9d1d9',
	'#8b95a5', '#ffa198', '#8ee6a0', '#f2cc60', '#a5c8ff', '#e2c5ff', '#8be9f0', '#ffffff',
] as const;

type Rgb = readonly [number, number, number];

const hex = (c: Rgb): string => `#${c.map((v) => Math.round(v).toString(16).padStart(2, '0')).join('')}`;
const rgb = (c: string): Rgb => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)) as unknown as Rgb;

function luminance(c: Rgb): number {
	const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as unknown as Rgb;
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
	const [low, high] = [luminance(rgb(a)), luminance(rgb(b))].sort((x, y) => x - y) as [number, number];
	return (high + 0.05) / (low + 0.05);
}

const ENOUGH = 4.5;
const READABLE = new Map<string, string>(); // of pairs; dropped when it grows

// The colour, moved towards white or black until it can be read on that ground.
export function readable(fg: string, bg: string): string {
	const known = READABLE.get(fg + bg);
	if (known) return known;
	const end: Rgb = luminance(rgb(bg)) < 0.18 ? [255, 255, 255] : [0, 0, 0];
	const from = rgb(fg);
	let found = fg;
	for (let part = 0.1; contrast(found, bg) < ENOUGH && part < 1.05; part += 0.1) {
		found = hex(from.map((v, i) => v + (end[i]! - v) * Math.min(1, part)) as unknown as Rgb);
	}
	if (READABLE.size > 2000) READABLE.clear();
	READABLE.set(fg + bg, found);
	return found;
}

// Of the 256 colours: 16 named ones, a cube of 6 × 6 × 6, and 24 greys.
function palette(n: number): string {
	if (n < 16) return BASIC[n]!;
	if (n >= 232) return hex([8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10]);
	const at = (v: number): number => (v ? 55 + v * 40 : 0);
	return hex([at(Math.floor((n - 16) / 36)), at(Math.floor((n - 16) / 6) % 6), at((n - 16) % 6)]);
}

interface Pen { fg?: string; bg?: string; inverse?: boolean; bold?: boolean; dim?: boolean; italic?: boolean; underline?: boolean; strike?: boolean }

// 38;5;N, 38;2;R;G;B, and the same with colons. Returns the colour and how many numbers it took.
function extended(codes: readonly number[], at: number): [string | undefined, number] {
	if (codes[at] === 5) return [codes[at + 1]! >= 0 && codes[at + 1]! < 256 ? palette(codes[at + 1]!) : undefined, 2];
	if (codes[at] !== 2) return [undefined, 1];
	const parts = codes.slice(at + 1, at + 4);
	return [parts.length === 3 && parts.every((v) => v >= 0 && v < 256) ? hex(parts as unknown as Rgb) : undefined, 4];
}

const SWITCHES: ReadonlyMap<number, (pen: Pen) => void> = new Map([
	[1, (p) => { p.bold = true; }], [2, (p) => { p.dim = true; }], [3, (p) => { p.italic = true; }], [4, (p) => { p.underline = true; }],
	[7, (p) => { p.inverse = true; }], [9, (p) => { p.strike = true; }], [21, (p) => { p.underline = true; }],
	[22, (p) => { p.bold = p.dim = false; }], [23, (p) => { p.italic = false; }], [24, (p) => { p.underline = false; }],
	[27, (p) => { p.inverse = false; }], [29, (p) => { p.strike = false; }], [39, (p) => { p.fg = undefined; }], [49, (p) => { p.bg = undefined; }],
]);

function applySgr(pen: Pen, params: string): Pen {
	const codes = params.split(/[;:]/, 64).map((v) => (v === '' ? 0 : Number(v)));
	let next: Pen = { ...pen };
	for (let i = 0; i < codes.length; i++) {
		const code = codes[i]!;
		if (code === 0) next = {};
		else if (code >= 30 && code <= 37) next.fg = BASIC[code - 30];
		else if (code >= 40 && code <= 47) next.bg = BASIC[code - 40];
		else if (code >= 90 && code <= 97) next.fg = BASIC[code - 82];
		else if (code >= 100 && code <= 107) next.bg = BASIC[code - 92];
		else if (code === 38 || code === 48) {
			const [colour, took] = extended(codes, i + 1);
			if (colour) next[code === 38 ? 'fg' : 'bg'] = colour;
			i += took;
		} else SWITCHES.get(code)?.(next);
	}
	return next;
}

function styleOf(pen: Pen): Style | undefined {
	let { fg, bg } = pen;
	if (pen.inverse) [fg, bg] = [bg ?? GROUND, fg ?? TEXT];
	const style: Style = {};
	if (bg) style.bg = bg;
	if (fg || bg) style.fg = readable(fg ?? TEXT, bg ?? GROUND);
	for (const name of ['bold', 'italic', 'underline', 'strike'] as const) if (pen[name]) style[name] = true;
	if (pen.dim && !fg && !bg) style.dim = true; // a dimmed colour could not be read
	return Object.keys(style).length ? style : undefined;
}

// CSI; strings that end with ST or BEL (titles, links, device control); two-character sequences; charsets. Without an end: what there is.
const SEQUENCE = /\u001b(?:\[([0-9:;<=>?]*)[ -/]*([@-~]?)|[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|[ -/]+[0-~]?|[0-Z\\`-~]?)|\u009b([0-9:;<=>?]*)[ -/]*([@-~]?)|[\u0090\u0098\u009d-\u009f][^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?/g;
const ODD = /[\u001b\u0090\u0098\u009b\u009d-\u009f\r\u0008\t]/;

class Row {
	chars: string[] = [];
	styles: (Style | undefined)[] = [];
	at = 0;

	put(text: string, style: Style | undefined): void {
		for (const char of text) {
			if (char === '\r') this.at = 0;
			else if (char === '\b') this.at = Math.max(0, this.at - 1);
			else if (char === '\t') this.put(' '.repeat(8 - (this.at % 8)), style);
			else if (this.at < LINE_CHARS) {
				while (this.chars.length < this.at) this.set(this.chars.length, ' ', undefined);
				this.set(this.at++, char, style);
			}
		}
	}

	private set(at: number, char: string, style: Style | undefined): void {
		this.chars[at] = char;
		this.styles[at] = style;
	}

	erase(how: string): void {
		if (how === '' || how === '0') this.chars.length = Math.min(this.chars.length, this.at);
		else if (how === '1') for (let i = 0; i < Math.min(this.at + 1, this.chars.length); i++) this.set(i, ' ', undefined);
		else if (how === '2') this.chars.length = 0;
		this.styles.length = this.chars.length;
	}

	spans(): Line {
		const out: Span[] = [];
		for (let from = 0, i = 1; from < this.chars.length; i++) {
			if (i < this.chars.length && (this.styles[i] === this.styles[from] || out.length >= SPANS)) continue;
			out.push({ text: this.chars.slice(from, i).join(''), ...(this.styles[from] && { style: this.styles[from] }) });
			from = i;
		}
		return out;
	}
}

function oddLine(line: string, pen: Pen): { spans: Line; pen: Pen } {
	const row = new Row();
	let style = styleOf(pen);
	let from = 0;
	for (const m of line.matchAll(SEQUENCE)) {
		row.put(line.slice(from, m.index), style);
		from = m.index + m[0].length;
		const final = m[2] ?? m[4];
		const params = m[1] ?? m[3] ?? '';
		if (final === 'm' && !/[<=>?]/.test(params)) {
			pen = applySgr(pen, params);
			style = styleOf(pen);
		} else if (final === 'K') row.erase(params);
	}
	row.put(line.slice(from), style);
	return { spans: row.spans(), pen };
}

export function parseTerminal(text: string): Screen {
	let dropped = 0;
	let start = Math.max(0, text.length - TERMINAL_CHARS);
	if (start) {
		start = text.indexOf('\n', start) + 1 || start;
		for (let i = text.indexOf('\n'); i >= 0 && i < start; i = text.indexOf('\n', i + 1)) dropped++;
	}
	const raw = text.slice(start).replaceAll('\r\n', '\n').split('\n');
	if (raw.length > 1 && raw.at(-1) === '') raw.pop();
	let pen: Pen = {};
	const lines: Line[] = [];
	for (const line of raw) {
		if (!ODD.test(line)) {
			const style = styleOf(pen);
			lines.push(line ? [{ text: line.slice(0, LINE_CHARS), ...(style && { style }) }] : []);
			continue;
		}
		const made = oddLine(line.slice(0, LINE_CHARS * 16), pen);
		pen = made.pen;
		lines.push(made.spans);
	}
	const over = Math.max(0, lines.length - LINES);
	return { lines: over ? lines.slice(over) : lines, dropped: dropped + over };
}

// Without any sequence: for a line that stands for the text, or to copy.
export const plainTerminal = (text: string): string => parseTerminal(text).lines.map((l) => l.map((s) => s.text).join('')).join('\n');
