// SPDX-License-Identifier: Apache-2.0
// Every component with one hostile text in every place where an agent's text can be: tests/ui/part-xss.mjs calls show(text) for each
// of the corpus. Not part of the viewer.
import { render } from 'preact';
import type { ComponentChildren } from 'preact';
import type { Block as Content, ToolContent } from '../model/content.ts';
import type { ToolCall as Call } from '../model/items.ts';
import type { Span } from '../model/run.ts';
import { Block } from '../views/calls/Block.tsx';
import { Budgets } from '../views/session/Budgets.tsx';
import { Checks } from '../views/turn/Checks.tsx';
import { Diff, TextDiff } from '../views/calls/Diff.tsx';
import { ErrorWords } from '../views/turn/ErrorWords.tsx';
import { FilesChanged } from '../views/calls/FilesChanged.tsx';
import { Image } from '../views/text/Image.tsx';
import { Markdown } from '../views/text/Markdown.tsx';
import { McpServers } from '../views/session/McpServers.tsx';
import { Plan } from '../views/turn/Plan.tsx';
import { Question } from '../views/turn/Question.tsx';
import { Queue } from '../views/turn/Queue.tsx';
import { Replay } from '../views/session/Replay.tsx';
import { Terminal } from '../views/text/Terminal.tsx';
import { Thought } from '../views/turn/Thought.tsx';
import { Timeline } from '../views/session/Timeline.tsx';
import { ToolCall } from '../views/calls/ToolCall.tsx';
import { UsageChart } from '../views/session/UsageChart.tsx';
import { Visible } from '../views/text/Visible.tsx';

const nothing = () => {};

function json(text: string): never {
	try {
		return JSON.parse(text) as never;
	} catch {
		return text as never;
	}
}

const blocks = (t: string): Content[] => [
	{ type: 'text', text: t }, { type: 'image', mimeType: 'image/png', data: t, uri: t }, { type: 'image', mimeType: t, data: 'AAAA' }, { type: 'audio', mimeType: t, bytes: 5 },
	{ type: 'link', uri: t, name: t, title: t, mimeType: t }, { type: 'resource', uri: t, mimeType: t, text: t }, { type: 'other', name: t, value: { [t]: t } }];

const call = (t: string, more: Partial<Call>): Call => ({ id: t, title: t, toolKind: t, status: 'completed', server: t, tool: t, input: json(t), output: { [t]: t }, content: [], locations: [{ path: t, line: 1 }], ...more });

const contents = (t: string): ToolContent[] => [
	...blocks(t).map((block): ToolContent => ({ type: 'block', block })), { type: 'diff', path: t, oldText: `a\n${t}`, newText: `${t}\nb` }, { type: 'terminal', terminalId: t, text: t }, { type: 'terminal', terminalId: t }];

const option = (t: string, kind: string) => ({ optionId: t, name: t, kind });
const answer = (t: string) => ({ text: t, accepted: true, by: t, via: t, rule: t, reason: t, at: 0 });
const schema = (t: string) => ({ type: 'object', required: [t], properties: Object.fromEntries([
	[t, { type: 'string', title: t, description: t, default: t }], [`${t}2`, { type: t, enum: [t, 'x'], enumNames: [t], default: t }], ['n', { type: 'number', title: t, default: t }],
	['m', { type: 'array', title: t, items: { anyOf: [{ const: t, title: t }] } }], ['b', { type: 'boolean', title: t }]]) });

const spans = (t: string): Span[] => (['turn', 'model', 'tool', 'wait', 'check'] as const).map((kind, i) => ({ kind, turn: 1, start: i * 10, end: 1000, label: t, failed: i === 2 }));
const tokens = { inputTokens: 5, outputTokens: 5 };
const cost = (t: string) => ({ amount: 1, currency: t.slice(0, 8) });

// One list for each component, so that one that fails does not hide the others.
const EVERY: readonly ((t: string) => ComponentChildren)[] = [
	(t) => <Visible text={t} />,
	(t) => <Markdown text={t} />,
	(t) => <Thought text={t} open />,
	(t) => <Thought text={t} />,
	(t) => <Terminal text={t} label="Hostile" exitCode={1} />,
	(t) => blocks(t).map((block) => <Block block={block} />),
	(t) => <Image mimeType={t} data={t} alt={t} />,
	(t) => <Image mimeType="image/png" data="AAAA" alt={t} />,
	(t) => <Diff patch={t} view="split" />,
	(t) => <Diff patch={t} view="unified" />,
	(t) => <TextDiff path={t} oldText={t} newText={`${t}x`} />,
	(t) => <TextDiff path={t} oldText={null} newText={t} view="unified" />,
	(t) => <ToolCall open call={call(t, { content: contents(t) })} allowed={answer(t)} />,
	(t) => <ToolCall open call={call(t, { toolKind: 'execute', status: 'failed', input: { command: t }, content: [{ type: 'block', block: { type: 'text', text: t } }] })} />,
	(t) => <ToolCall call={call(t, { status: t as never })} />,
	(t) => <Plan plan={{ entries: [{ content: t, priority: t, status: t }], markdown: t }} />,
	(t) => <Question question={{ ask: 1, id: t, elicitation: false, title: t, options: [option(t, 'allow_once'), option(t, t)], expiresAt: Date.now() + 1e6, otherwise: t }} onAnswer={nothing} error={t} />,
	(t) => <Question question={{ ask: 1, id: t, elicitation: true, title: t, mode: 'form', options: [], schema: schema(t) as never }} onAnswer={nothing} />,
	(t) => <Question question={{ ask: 1, id: t, elicitation: true, title: t, mode: 'form', options: [], schema: json(t) }} onAnswer={nothing} />,
	(t) => <Question question={{ ask: 1, id: t, elicitation: true, title: t, mode: 'url', options: [], url: t }} onAnswer={nothing} />,
	(t) => <Question question={{ ask: 1, id: t, elicitation: false, title: t, options: [option(t, t)], answer: answer(t) }} />,
	(t) => <Budgets budgets={[{ budget: t, scope: t, limit: 5, used: 3 }]} />,
	(t) => <Queue queued={3} prompts={[t, t]} waiting={t} />,
	(t) => <Checks verdict={t} checks={[{ id: t, kind: t, ok: false, signal: t, output: t, offending: [t], error: { reason: t, message: t }, tests: { passed: 1, failed: 1, skipped: 0, failures: [{ suite: t, name: t, message: t }] } }]} />,
	(t) => <McpServers servers={[{ name: t, via: t, tools: [t], error: t }]} />,
	(t) => <ErrorWords error={{ class: t, message: t, reason: t, provider: t, httpStatus: 429, retryable: true }} />,
	(t) => <FilesChanged files={[{ path: t, how: 'changed', times: 2, row: 1 }]} onOpen={nothing} />,
	(t) => <Timeline spans={spans(t)} now={1000} onOpen={nothing} />,
	(t) => <UsageChart turns={[{ n: 1, row: 0, start: 0, end: 1, prompt: t, usage: tokens, cost: cost(t), toolCalls: 0, failedCalls: 0, modelCalls: 1, waitedMs: 0 }]} calls={[]} models={[{ model: t, calls: 1, usage: tokens, cost: cost(t) }]} />,
	(t) => <Replay playing={false} speed={1} position={0} length={1} label={t.slice(0, 100)} onPlay={nothing} onSpeed={nothing} onSeek={nothing} />,
];

const app = document.getElementById('app')!;

// Renders them anew and says how many there are. What is behind a button is opened, too: tables, further parts, folded files.
Object.assign(window, {
	components: EVERY.length,
	spans(count: number) {
		const list = Array.from({ length: count }, (_, i): Span => ({ kind: (['turn', 'model', 'tool', 'wait', 'check'] as const)[i % 5]!, turn: 1, start: i * 100, end: i * 100 + 90, label: `span ${i}` }));
		render(null, app);
		render(<Timeline spans={list} now={0} onOpen={nothing} />, app);
	},
	async show(text: string, at?: number) {
		render(null, app);
		render(<main>{EVERY.slice(at, at === undefined ? undefined : at + 1).map((one) => <section>{one(text)}</section>)}</main>, app);
		for (let round = 0; round < 2; round++) {
			await new Promise((resolve) => { setTimeout(resolve); });
			for (const details of app.querySelectorAll<HTMLDetailsElement>('details:not([open])')) details.open = true;
			for (const button of app.querySelectorAll<HTMLButtonElement>('button')) if (/^(Show as|Show .* more row|By model)/.test(button.textContent ?? '')) button.click();
		}
		await new Promise((resolve) => { setTimeout(resolve); });
	},
});
