// SPDX-License-Identifier: Apache-2.0
// A tool call: one line that tells what, where and how it went; opened, what went in and what came out, as text, terminal, image or diff.
import { useState } from 'preact/hooks';
import type { Answer, ToolCall as Call } from '../../model/items.ts';
import type { ToolContent } from '../../model/content.ts';
import { answeredBy } from '../turn/answered.ts';
import { Block, Cut } from './Block.tsx';
import type { TextAs } from './Block.tsx';
import { Copy } from '../text/Copy.tsx';
import { TextDiff } from './Diff.tsx';
import { duration, plural, pretty } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { LongText } from '../text/LongText.tsx';
import { Terminal } from '../text/Terminal.tsx';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export interface ToolCallProps { call: Call; ms?: number; allowed?: Answer; open?: boolean } // allowed: what a question about it was answered

const STATUS: ReadonlyMap<string, [string, string]> = new Map([
	['pending', ['waiting', '']], ['in_progress', ['running', 'toolcall-running']], ['completed', ['done', 'toolcall-done']], ['failed', ['failed', 'toolcall-failed']],
]);

const KIND_WORDS: ReadonlyMap<string, string> = new Map([
	['read', 'Read'], ['edit', 'Edit'], ['delete', 'Delete'], ['move', 'Move'], ['search', 'Search'], ['execute', 'Run'], ['think', 'Think'], ['fetch', 'Fetch'], ['switch_mode', 'Mode'],
]);

// Text that a program or a file gave is no Markdown, unless the harness has fenced it.
const PREFORMATTED: ReadonlyMap<string, TextAs> = new Map([['execute', 'terminal'], ['read', 'plain'], ['search', 'plain']]);

function asOf(kind: string, content: ToolContent): TextAs {
	if (content.type !== 'block' || content.block.type !== 'text') return 'markdown';
	if (/^\s*```/.test(content.block.text)) return 'markdown';
	if (content.block.text.includes('\u001b[')) return 'terminal';
	return PREFORMATTED.get(kind) ?? 'markdown';
}

function Content({ content, kind }: { content: ToolContent; kind: string }) {
	if (content.type === 'diff') return <TextDiff path={content.path} oldText={content.oldText} newText={content.newText} cut={content.cut} />;
	if (content.type === 'terminal') return content.text === undefined ? <p class="toolcall-note">Terminal <Visible text={content.terminalId} max={60} /></p> : <Terminal text={content.text} cut={content.cut} />;
	return <Block block={content.block} as={asOf(kind, content)} />;
}

// The command of a call that runs one, as most harnesses name it.
function commandOf(input: unknown): string | undefined {
	const value = input && typeof input === 'object' && !Array.isArray(input) ? (input as Record<string, unknown>)['command'] : undefined;
	if (typeof value === 'string') return value;
	return Array.isArray(value) && value.every((v) => typeof v === 'string') ? value.join(' ') : undefined;
}

function Json({ name, value, open = true }: { name: string; value: unknown; open?: boolean }) {
	const [isOpen, setOpen] = useState(open);
	const text = pretty(value);
	return (
		<details class="toolcall-part" open={isOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary class="toolcall-part-head">{name}</summary>
			{isOpen && <div class="toolcall-json"><Copy text={text} what={name.toLowerCase()} /><LongText class="block-plain" text={text} label={name} first={4096} /></div>}
		</details>
	);
}

function Locations({ list }: { list: Call['locations'] }) {
	const most = 8;
	return (
		<ul class="toolcall-places" aria-label="Places">
			{list.slice(0, most).map((l) => <li><Visible text={l.line === undefined ? l.path : `${l.path}:${l.line}`} max={200} /></li>)}
			{list.length > most && <li>{plural(list.length - most, 'more', 'more')}</li>}
		</ul>
	);
}

function Body({ call, allowed }: { call: Call; allowed?: Answer }) {
	const command = call.toolKind === 'execute' ? commandOf(call.input) : undefined;
	const empty = call.input === undefined && call.output === undefined && !call.content.length;
	return (
		<div class="toolcall-body">
			{call.locations.length > 0 && <Locations list={call.locations} />}
			{command !== undefined && <div class="toolcall-json"><Copy text={command} what="command" /><LongText class="toolcall-command" text={command} label="Command" first={2000} /></div>}
			{call.input !== undefined && <Json name={command === undefined ? 'Input' : 'All of the input'} value={call.input} open={command === undefined && !call.content.some((c) => c.type === 'diff')} />}
			{call.content.map((content) => <Content content={content} kind={call.toolKind} />)}
			{call.output !== undefined && <Json name={call.content.length ? 'Raw output' : 'Output'} value={call.output} open={!call.content.length} />}
			<Cut cut={call.cut} />
			{empty && <p class="toolcall-note">Nothing is known of what went in or came out.</p>}
			{allowed && <p class="toolcall-note">{allowed.accepted ? 'Allowed' : 'Not allowed'}: <Visible text={allowed.text} max={120} />, {answeredBy(allowed)}</p>}
		</div>
	);
}

export function ToolCall({ call, ms, allowed, open = false }: ToolCallProps) {
	const [isOpen, setOpen] = useState(open);
	const [status, name] = STATUS.get(call.status) ?? [plain(call.status, 40), ''];
	const origin = call.server ? `${call.server}${call.tool ? ` / ${call.tool}` : ''}` : '';
	return (
		<details class={`toolcall ${name}`} open={isOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary class="toolcall-head">
				<Icon name={call.toolKind} class="toolcall-kind" />
				<span class="toolcall-word">{KIND_WORDS.get(call.toolKind) ?? 'Tool'}</span>
				<Visible class="toolcall-title" text={call.title || call.id} max={300} />
				{origin && <span class="tag"><Visible text={origin} max={60} /></span>}
				<span class="toolcall-state">
					{ms !== undefined && <span class="toolcall-time">{duration(ms)}</span>}
					<Icon name={call.status} label={status} />
				</span>
			</summary>
			{isOpen && <Body call={call} allowed={allowed} />}
		</details>
	);
}
