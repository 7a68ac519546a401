// SPDX-License-Identifier: Apache-2.0
// Markdown of an agent -> a small tree of our own, by marked's lexer. No HTML is ever made: what the text has of it stays text. Links
// go to http, https and mailto only, and images are data of four kinds; everything else becomes text.
//
// The text is hostile, so each dimension has a bound: what is read as Markdown (the rest is plain text), how deep it nests, how many
// nodes there are, how long one run of inline text may be, and the time for all of them (marked is quadratic on some texts, and
// recursive on nested blocks). Whatever goes over a bound is shown as the text that it is.
import { Lexer } from 'marked';
import type { Token, Tokens } from 'marked';

export type Md =
	| { t: 'text' | 'codespan'; v: string }
	| { t: 'p' | 'em' | 'strong' | 'del' | 'quote'; c: Md[] }
	| { t: 'h'; level: number; c: Md[] }
	| { t: 'code'; lang: string; v: string }
	| { t: 'list'; start?: number; items: { checked?: boolean; c: Md[] }[] } // start: it is ordered
	| { t: 'table'; align: (string | null)[]; head: Md[][]; rows: Md[][][] }
	| { t: 'link'; href: string; c: Md[] }
	| { t: 'image'; src: string; alt: string }
	| { t: 'hr' | 'br' };

export interface Document { nodes: Md[]; rest: string } // rest: what is left as plain text

export const MARKDOWN_CHARS = 64 * 1024;
const DEPTH = 20; // of blocks and inline marks together
const NODES = 6000;
const INLINE_CHARS = 4096;
const INLINE_MS = 80;
const IMAGE_CHARS = 8 * 1024 * 1024;

// Blocks that open other blocks at the beginning of one line, and more indentation than any text for people has.
const DEEP = new RegExp(`^(?:[ \\t]*(?:>|[-*+]|\\d{1,9}[.)])){${DEPTH},}`, 'm');
const INDENTED = /^[ \t]{48,}(?:[-*+]|\d{1,9}[.)])[ \t]/m;

const ENTITIES: ReadonlyMap<string, string> = new Map([
	['amp', '&'], ['lt', '<'], ['gt', '>'], ['quot', '"'], ['apos', "'"], ['nbsp', '\u00a0'], ['copy', '©'], ['hellip', '…'],
	['mdash', '—'], ['ndash', '–'], ['larr', '←'], ['rarr', '→'], ['times', '×'], ['middot', '·'], ['bull', '•'],
]);

function decoded(text: string): string {
	return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, decimal, hex, name) => {
		if (name) return ENTITIES.get(name) ?? all;
		const point = decimal ? Number(decimal) : parseInt(hex, 16);
		return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd';
	});
}

const PROTOCOLS = new Set(['http:', 'https:', 'mailto:']);

// The address as the browser understands it (it drops line feeds and tabs, and writes foreign hosts in ASCII), or undefined.
export function safeLink(href: string): string | undefined {
	if (href.length > 4096) return undefined;
	try {
		const url = new URL(href);
		return PROTOCOLS.has(url.protocol) && !url.username && !url.password ? url.href : undefined;
	} catch {
		return undefined;
	}
}

// Raster images only: an SVG can hold more than a picture.
export function safeImage(src: string): string | undefined {
	return src.length <= IMAGE_CHARS && /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(src) ? src : undefined;
}

interface Left { nodes: number }

const text = (v: string): Md => ({ t: 'text', v });

function all(tokens: readonly Token[] | undefined, depth: number, left: Left): Md[] {
	const out: Md[] = [];
	for (const token of tokens ?? []) {
		if (--left.nodes < 0) return out;
		const node = depth > DEPTH ? text(token.raw) : one(token as Tokens.Generic, depth + 1, left);
		if (node) out.push(node);
	}
	return out;
}

function linkOf(token: Tokens.Generic, depth: number, left: Left): Md {
	const href = safeLink(token.href);
	return href ? { t: 'link', href, c: all(token.tokens, depth, left) } : text(token.raw);
}

function imageOf(token: Tokens.Generic): Md {
	const src = safeImage(token.href);
	if (src) return { t: 'image', src, alt: decoded(token.text) };
	const href = safeLink(token.href);
	return href ? { t: 'link', href, c: [text(decoded(token.text) || 'image')] } : text(token.raw);
}

function listOf(token: Tokens.Generic, depth: number, left: Left): Md {
	const items = (token as Tokens.List).items.map((item) => ({
		...(item.task && { checked: Boolean(item.checked) }),
		c: all(item.tokens.filter((t) => t.type !== 'checkbox'), depth, left),
	}));
	return { t: 'list', ...(token.ordered && { start: Number(token.start) || 1 }), items };
}

function tableOf(token: Tokens.Generic, depth: number, left: Left): Md {
	const table = token as Tokens.Table;
	const cells = (row: Tokens.TableCell[]): Md[][] => row.map((cell) => all(cell.tokens, depth, left));
	const rows: Md[][][] = [];
	for (const row of table.rows) {
		if (left.nodes <= 0) break;
		left.nodes -= row.length;
		rows.push(cells(row));
	}
	return { t: 'table', align: table.align, head: cells(table.header), rows };
}

type Maker = (token: Tokens.Generic, depth: number, left: Left) => Md | undefined;

const around = (t: 'p' | 'em' | 'strong' | 'del' | 'quote'): Maker => (token, depth, left) => ({ t, c: all(token.tokens, depth, left) });

const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
	['space', () => undefined],
	['def', () => undefined],
	['hr', () => ({ t: 'hr' })],
	['br', () => ({ t: 'br' })],
	['paragraph', around('p')],
	['blockquote', around('quote')],
	['em', around('em')],
	['strong', around('strong')],
	['del', around('del')],
	['heading', (token, depth, left) => ({ t: 'h', level: token.depth, c: all(token.tokens, depth, left) })],
	['code', (token) => ({ t: 'code', lang: String(token.lang ?? '').slice(0, 40), v: token.text })],
	['codespan', (token) => ({ t: 'codespan', v: token.text })],
	['escape', (token) => text(token.text)],
	['html', (token) => text(token.raw)],
	['link', linkOf],
	['image', imageOf],
	['list', listOf],
	['table', tableOf],
	// A tight list item's text has tokens of its own.
	['text', (token, depth, left) => (token.tokens ? { t: 'p', c: all(token.tokens, depth, left) } : text(decoded(token.text)))],
]);

function one(token: Tokens.Generic, depth: number, left: Left): Md | undefined {
	const make = MAKERS.get(token.type);
	return make ? make(token, depth, left) : text(token.raw);
}

// What lexes the blocks first, and then every run of inline text with a bound of its own.
function tokensOf(source: string): Token[] {
	const lexer = new Lexer({ gfm: true });
	const tokens: Token[] = [];
	lexer.blockTokens(source, tokens as never);
	const until = performance.now() + INLINE_MS;
	for (const run of lexer.inlineQueue) {
		if (run.src.length <= INLINE_CHARS && performance.now() < until) lexer.inlineTokens(run.src, run.tokens);
		else run.tokens.push({ type: 'text', raw: run.src, text: run.src, escaped: false } as never);
	}
	return tokens;
}

// Where to stop reading Markdown: at a blank line, so that no paragraph is cut.
function cut(source: string): number {
	if (source.length <= MARKDOWN_CHARS) return source.length;
	const at = source.lastIndexOf('\n\n', MARKDOWN_CHARS);
	return at > MARKDOWN_CHARS / 2 ? at : MARKDOWN_CHARS;
}

export function parseMarkdown(source: string): Document {
	const head = source.slice(0, cut(source)).replace(/\r\n?/g, '\n');
	const deep = DEEP.exec(head) ?? INDENTED.exec(head);
	// What comes before a line that nests too deep is still Markdown.
	const end = deep ? Math.max(head.lastIndexOf('\n\n', deep.index), 0) : head.length;
	const rest = head.slice(end) + source.slice(cut(source));
	try {
		const left = { nodes: NODES };
		const nodes = all(tokensOf(head.slice(0, end)), 0, left);
		return left.nodes < 0 ? { nodes: [], rest: source } : { nodes, rest };
	} catch {
		return { nodes: [], rest: source }; // nothing is known to come here
	}
}
