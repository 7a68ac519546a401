// SPDX-License-Identifier: Apache-2.0
// What messages and tool calls contain. Texts are cut at TEXT_MAX of limits.ts; `cut` says how many characters are
// missing then, and the view has to say so.

import type { Json } from './event.ts';

export type Block = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock | OtherBlock;

export interface TextBlock {
	type: 'text';
	text: string;
	cut?: number;
}

/** `data` is base64 and may be anything; `mimeType` is what the agent says. Show only types that are known. */
export interface ImageBlock {
	type: 'image';
	mimeType: string;
	data: string;
	uri?: string;
	cut?: number; // it was too large and is not here: `data` is empty
}

export interface AudioBlock {
	type: 'audio';
	mimeType: string;
	bytes: number;
}

export interface LinkBlock {
	type: 'link';
	uri: string;
	name: string;
	title?: string;
	mimeType?: string;
	size?: number;
}

export interface ResourceBlock {
	type: 'resource';
	uri: string;
	mimeType?: string;
	text?: string; // absent: it is binary
	cut?: number;
}

export interface OtherBlock {
	type: 'other';
	name: string;
	value: Json;
}

/** What a tool call shows of its work. */
export type ToolContent =
	| { type: 'block'; block: Block }
	| { type: 'diff'; path: string; oldText: string | null; newText: string; cut?: number }
	| { type: 'terminal'; terminalId: string; text?: string; cut?: number };
