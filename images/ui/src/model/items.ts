// SPDX-License-Identifier: Apache-2.0
// The rows of a session's history. A row begins with one event and may be changed by later ones: chunks of a message
// make one row, and so do a tool call and all its updates. `id` is the `seq` of its first event; it never changes, and
// is the same whenever the row is read again.

import type { Block, ToolContent } from './content.ts';
import type { Json, JsonObject } from './event.ts';

export type Item =
	| PromptItem | MessageItem | ThoughtItem | ToolItem | QuestionItem | PlanItem
	| EndItem | CheckItem | ArtifactItem | NoteItem | GapItem;
export type ItemKind = Item['kind'];

interface Base {
	id: number;
	last: number; // seq of the newest event in it
	turn: number; // 0: outside turns
	at: number; // Unix milliseconds
	until: number; // of the newest event in it
}

export interface PromptItem extends Base {
	kind: 'prompt';
	blocks: Block[];
	attempt?: Attempt; // the daemon wrote it: a further attempt after failed checks
}

export interface MessageItem extends Base {
	kind: 'message';
	blocks: Block[];
}

export interface ThoughtItem extends Base {
	kind: 'thought';
	blocks: Block[];
}

export interface ToolItem extends Base {
	kind: 'tool';
	call: ToolCall;
}

export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface ToolCall {
	id: string;
	title: string;
	toolKind: string; // read, edit, delete, move, search, execute, think, fetch, switch_mode, other, or any other word
	status: ToolStatus;
	server?: string; // the MCP server and tool, if the daemon relayed the call
	tool?: string;
	input?: Json;
	output?: Json;
	content: ToolContent[];
	locations: { path: string; line?: number }[];
	cut?: number; // characters of input, output and content that were left out
}

export interface QuestionItem extends Base {
	kind: 'question';
	question: Question;
}

export interface Question {
	ask: number;
	id: string; // SESSION:ASK, as /v1/approvals has it
	elicitation: boolean;
	title: string; // of a permission its tool call, of an elicitation its message
	toolCallId?: string;
	options: { optionId: string; name: string; kind: string }[];
	mode?: string; // of an elicitation: form or url
	schema?: JsonObject;
	url?: string;
	expiresAt?: number;
	otherwise?: string; // the answer when the time is up
	answer?: Answer; // absent: it is open
}

export interface Answer {
	text: string; // in words: the name of the option, or what became of it
	accepted: boolean;
	by: string; // client, human, rule, timeout, default, cancelled, withdrawn
	via?: string;
	rule?: string;
	reason?: string;
	at: number;
}

export interface PlanItem extends Base {
	kind: 'plan';
	plan: Plan;
}

export interface Plan {
	id?: string;
	entries: PlanEntry[];
	markdown?: string; // a plan that is a text
	removed?: boolean;
}

export interface PlanEntry {
	content: string;
	priority?: string; // high, medium, low
	status: string; // pending, in_progress, completed
}

export interface Attempt {
	n: number;
	of: number;
}

export interface EndItem extends Base {
	kind: 'end';
	stopReason?: string;
	error?: TurnError;
	stopDetail?: BudgetUse;
	usage?: Tokens;
	verdict?: string; // verified, failed, unchecked
	checks: CheckResult[];
	attempt?: Attempt;
}

export interface TurnError {
	class: string; // the closed list of errors.md
	message: string;
	reason?: string;
	provider?: string;
	httpStatus?: number;
	retryable?: boolean;
}

export interface Tokens {
	inputTokens?: number;
	outputTokens?: number;
	cacheReadTokens?: number;
	cacheWriteTokens?: number;
	reasoningTokens?: number;
	totalTokens?: number;
}

export interface Cost {
	amount: number;
	currency: string;
}

/** `budget` is steps, toolCalls, seconds, tokens or cost; `scope` prompt, turn or session. */
export interface BudgetUse {
	budget: string;
	scope: string;
	limit: number;
	used: number;
}

export interface CheckItem extends Base {
	kind: 'check';
	check: CheckResult;
}

export interface CheckResult {
	id: string;
	kind: string; // command, tests, paths, diffSize, …
	ok: boolean;
	durationMs?: number;
	exitCode?: number;
	signal?: string;
	output?: string; // the end of what it wrote
	cut?: number;
	tests?: { passed: number; failed: number; skipped: number; failures: { suite?: string; name: string; message?: string }[] };
	offending?: string[];
	error?: { reason: string; message: string };
}

export interface ArtifactItem extends Base {
	kind: 'artifact';
	artifact: Artifact;
}

export interface Artifact {
	id: string;
	name: string;
	type: string;
	size: number;
	source: string; // client, diff, tool
	turn?: number;
}

/** Anything else that happened: `event` is its name, `text` says it in a sentence. */
export interface NoteItem extends Base {
	kind: 'note';
	event: string;
	severity: 'info' | 'warning' | 'error';
	text: string;
	detail?: string;
}

export interface GapItem extends Base {
	kind: 'gap';
	from: number;
	to: number;
	reason?: string; // incarnation, damaged, trimmed
}
