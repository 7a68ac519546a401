// SPDX-License-Identifier: Apache-2.0
// Tool calls: what an update changes of one. A member that is absent or null leaves what was there.

import type { ToolContent } from './content.ts';
import type { JsonObject, RawEvent } from './event.ts';
import type { ToolCall, ToolStatus } from './items.ts';
import { boundJson, readToolContents } from './blocks.ts';
import { BLOCKS_MAX, TEXT_MAX } from './limits.ts';
import { list, obj, optNum, optStr, str } from './read.ts';

const STATUSES: readonly string[] = ['pending', 'in_progress', 'completed', 'failed'];

function statusOf(e: RawEvent, before: ToolStatus): ToolStatus {
	const s = str(e.status);

	return STATUSES.includes(s) ? (s as ToolStatus) : before;
}

export function newCall(id: string): ToolCall {
	return { id, title: '', toolKind: 'other', status: 'pending', content: [], locations: [] };
}

/** Harnesses that run terminals themselves send their output beside the update. */
function terminalOutput(meta: JsonObject): { id: string; text: string } | null {
	const o = obj(meta.terminal_output);
	const text = str(o.data);

	return text ? { id: str(o.terminal_id), text } : null;
}

function appendTerminal(content: ToolContent[], out: { id: string; text: string }): ToolContent[] {
	const at = content.findIndex((c) => c.type === 'terminal' && (!out.id || c.terminalId === out.id));
	const old = content[at];
	const before = old?.type === 'terminal' ? old.text ?? '' : '';
	const room = Math.max(0, TEXT_MAX - before.length);
	const cut = (old?.type === 'terminal' ? old.cut ?? 0 : 0) + Math.max(0, out.text.length - room);
	const next: ToolContent = { type: 'terminal', terminalId: out.id, text: before + out.text.slice(0, room),
		...(cut ? { cut } : {}) };

	return at < 0 ? [...content, next] : content.with(at, next);
}

export function changeCall(old: ToolCall, e: RawEvent): ToolCall {
	const call = { ...old, status: statusOf(e, old.status) };
	const meta = obj(e._meta);
	const acpd = obj(meta.acpd);
	const out = terminalOutput(meta);

	call.title = optStr(e.title) ?? call.title;
	call.toolKind = optStr(e.toolKind) ?? call.toolKind;
	call.server = optStr(acpd.server) ?? call.server;
	call.tool = optStr(acpd.tool) ?? optStr(e.name) ?? call.tool;
	if (e.rawInput != null)
		call.input = boundJson(e.rawInput);
	if (e.rawOutput != null)
		call.output = boundJson(e.rawOutput);
	if (Array.isArray(e.content))
		Object.assign(call, { cut: undefined }, readToolContents(e.content));
	if (Array.isArray(e.locations))
		call.locations = locationsOf(e);
	if (out)
		call.content = appendTerminal(call.content, out);
	return call;
}

function locationsOf(e: RawEvent): ToolCall['locations'] {
	return list(e.locations).slice(0, BLOCKS_MAX).map((l) => ({ path: str(obj(l).path), line: optNum(obj(l).line) }))
		.filter((l) => l.path);
}

/** Paths that a call has changed or read, for the list of files. */
export function pathsOf(call: ToolCall): { path: string; changed: boolean }[] {
	const changes = new Set(call.content.flatMap((c) => (c.type === 'diff' && c.path ? [c.path] : [])));
	const edits = ['edit', 'delete', 'move'].includes(call.toolKind);
	const paths = new Map<string, boolean>();

	for (const path of changes)
		paths.set(path, true);
	for (const { path } of call.locations)
		if (!paths.has(path))
			paths.set(path, edits && changes.size === 0);
	return [...paths].map(([path, changed]) => ({ path, changed }));
}
