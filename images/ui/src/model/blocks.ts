// SPDX-License-Identifier: Apache-2.0
// Content blocks of ACP, and how a chunk joins those that are there.

import type { Block, TextBlock, ToolContent } from './content.ts';
import type { Json } from './event.ts';
import { BLOCKS_MAX, IMAGE_MAX, ROW_MAX, TEXT_MAX } from './limits.ts';
import { cutText, isObject, obj, optNum, optStr, str } from './read.ts';

function resourceBlock(v: Json | undefined): Block {
	const r = obj(v);
	const text = typeof r.text === 'string' ? cutText(r.text, TEXT_MAX) : undefined;

	return { type: 'resource', uri: str(r.uri), mimeType: optStr(r.mimeType), ...text };
}

function imageBlock(data: string, mimeType: string, uri: string | undefined): Block {
	return data.length > IMAGE_MAX
		? { type: 'image', mimeType, uri, data: '', cut: data.length }
		: { type: 'image', mimeType, uri, data };
}

export function readBlock(v: Json | undefined): Block {
	if (!isObject(v))
		return { type: 'other', name: 'content', value: v ?? null };
	switch (v.type) {
	case 'text':
		return { type: 'text', ...cutText(str(v.text), TEXT_MAX) };
	case 'image':
		return imageBlock(str(v.data), str(v.mimeType), optStr(v.uri));
	case 'audio':
		return { type: 'audio', mimeType: str(v.mimeType), bytes: Math.floor(str(v.data).length * 0.75) };
	case 'resource_link':
		return { type: 'link', uri: str(v.uri), name: str(v.name), title: optStr(v.title),
			mimeType: optStr(v.mimeType), size: optNum(v.size) };
	case 'resource':
		return resourceBlock(v.resource);
	default:
		return { type: 'other', name: str(v.type) || 'content', value: boundJson(v) };
	}
}

/** JSON of unknown shape, or its text where that is too long to keep. */
export function boundJson(v: Json | undefined, max = TEXT_MAX): Json {
	const text = JSON.stringify(v ?? null);

	return text.length <= max ? v ?? null : `${text.slice(0, max)}… (${text.length - max} characters more)`;
}

/** Text that goes on is one block. A new array, so that who compares by identity sees the change. */
export function joinBlock(blocks: Block[], more: Block): Block[] {
	const end = blocks.at(-1);

	if (end?.type === 'text' && more.type === 'text')
		return [...blocks.slice(0, -1), joinText(end, more)];
	return blocks.length < BLOCKS_MAX && sizeOf(blocks) + sizeOf([more]) <= ROW_MAX ? [...blocks, more] : cutEnd(blocks, more);
}

function sizeOf(blocks: Block[]): number {
	return blocks.reduce((n, b) => n + 100 + ('text' in b ? b.text?.length ?? 0 : 'data' in b ? b.data.length : 0), 0);
}

/** There is no room for more: the end says how much is missing. */
function cutEnd(blocks: Block[], more: Block): Block[] {
	const end = blocks.at(-1);
	const missing = sizeOf([more]);

	return end?.type === 'text' ? [...blocks.slice(0, -1), { ...end, cut: (end.cut ?? 0) + missing }]
		: [...blocks.slice(0, -1), { type: 'text', text: '', cut: missing }];
}

function joinText(a: TextBlock, b: TextBlock): TextBlock {
	const room = TEXT_MAX - a.text.length;
	const cut = (a.cut ?? 0) + (b.cut ?? 0) + Math.max(0, b.text.length - room);

	return { type: 'text', text: room > 0 ? a.text + b.text.slice(0, room) : a.text, ...(cut ? { cut } : {}) };
}

function diffContent(path: string, oldText: Json | undefined, newText: string): ToolContent {
	const before: { text: string | null; cut?: number } = typeof oldText === 'string' ? cutText(oldText, TEXT_MAX) : { text: null };
	const after = cutText(newText, TEXT_MAX);
	const cut = (before.cut ?? 0) + (after.cut ?? 0);

	return { type: 'diff', path, oldText: before.text, newText: after.text, ...(cut ? { cut } : {}) };
}

export function readToolContent(v: Json | undefined): ToolContent {
	const o = obj(v);

	if (o.type === 'diff')
		return diffContent(str(o.path), o.oldText, str(o.newText));
	if (o.type === 'terminal')
		return { type: 'terminal', terminalId: str(o.terminalId) };
	return { type: 'block', block: readBlock(o.type === 'content' ? o.content : v) };
}

/** As many as there is room for. */
export function readToolContents(v: Json[]): { content: ToolContent[]; cut?: number } {
	const content: ToolContent[] = [];
	let room = ROW_MAX;

	for (const one of v) {
		const c = readToolContent(one);
		room -= 100 + (c.type === 'diff' ? c.newText.length + (c.oldText?.length ?? 0) : c.type === 'block' ? sizeOf([c.block]) : 0);
		if (room < 0 || content.length === BLOCKS_MAX)
			return { content, cut: JSON.stringify(v.slice(content.length)).length };
		content.push(c);
	}
	return { content };
}

export function plainText(blocks: Block[]): string {
	return blocks.map((b) => (b.type === 'text' ? b.text : '')).join('');
}

