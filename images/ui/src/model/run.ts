// SPDX-License-Identifier: Apache-2.0
// What is known of a session besides its rows: small, and of bounded size however long the session is. The rows are in
// rows.ts, in pages.

import type { Artifact, BudgetUse, CheckResult, Cost, Plan, Question, Tokens, TurnError } from './items.ts';

export interface Run {
	sessionId: string;
	title: string;
	mode: string; // '' where none was said
	model: string;
	firstAt: number; // Unix ms of the first event; 0: none yet
	lastAt: number;
	lastSeq: number;
	events: number; // how many have been read
	turns: Turn[]; // TURNS_MAX at most
	turnsLeftOut: number;
	open: number; // the turn that runs, 0: none
	spans: Span[]; // for the timeline, oldest first
	spansLeftOut: number; // older ones that were dropped: SPANS_MAX
	questions: Question[]; // those that are open
	plans: Plan[]; // those that stand, the newest last
	context: { used: number; size: number } | null; // tokens in the model's window, as the harness says
	usage: Tokens; // all turns
	cost: Cost | null; // what is known of it by the daemon
	settled: { usage: Tokens; cost: Cost | null }; // of the turns that are over
	harnessCost: Cost | null; // so far, as the harness says
	calls: ModelCall[]; // newest last, CALLS_MAX at most
	models: ModelUse[];
	budgets: BudgetUse[]; // the last that was heard of each
	files: FileTouch[]; // FILES_MAX at most
	errors: RunError[]; // newest last, ERRORS_MAX at most
	checks: { turn: number; at: number; row: number; check: CheckResult }[]; // newest last
	artifacts: Artifact[];
	draft: Draft | null;
	closed: boolean;
	deleted: boolean;
}

export interface Turn {
	n: number;
	row: number; // index of its first row
	start: number; // Unix ms
	end: number; // 0: it runs
	prompt: string; // its first PROMPT_LABEL characters
	stopReason?: string;
	error?: TurnError;
	stopDetail?: BudgetUse;
	verdict?: string;
	usage: Tokens;
	cost: Cost | null;
	toolCalls: number;
	failedCalls: number;
	modelCalls: number;
	waitedMs: number; // for people
	ttftMs?: number; // until the first output
}

export type SpanKind = 'turn' | 'model' | 'tool' | 'wait' | 'check';

/** A piece of time: a turn, a model call, a tool call, waiting for a person, a check. */
export interface Span {
	kind: SpanKind;
	turn: number;
	start: number; // Unix ms
	end: number; // 0: it goes on
	label: string;
	failed?: boolean;
	row?: number; // index of the row to show
}

export interface ModelCall {
	turn: number;
	at: number; // when it ended
	durationMs?: number;
	model: string;
	usage: Tokens;
	cost: Cost | null;
	failed?: boolean;
	via?: string;
	live?: boolean; // from an event: its ledger line has not come
}

export interface ModelUse {
	model: string;
	calls: number;
	usage: Tokens;
	cost: Cost | null;
}

export interface FileTouch {
	path: string;
	how: 'read' | 'changed'; // changed wins
	times: number;
	row: number; // index of the newest row that touched it
}

export interface RunError {
	at: number;
	turn: number;
	row: number;
	text: string; // in words
	error?: TurnError; // a turn that failed by it
}

export interface Draft {
	on: boolean;
	event: string; // what happened last
}

/** What GET /v1/sessions says of one session, as far as the viewer uses it. */
export interface SessionInfo {
	sessionId: string;
	harness: string;
	state: string; // opening, open, busy, checking, closing, closed
	cwd: string;
	title: string;
	model: string;
	seq: number;
	turn: number;
	turns: number;
	queued: number;
	questions: number;
	watchers: number;
	waiting: string;
	cost: Cost | null;
	usage: Tokens;
	budgets: BudgetUse[];
	mcp: McpServer[];
	damaged: boolean;
	draft: DraftState | null;
	imported: boolean; // it came from a bundle: it can only be looked at
	updatedAt: number;
}

export interface McpServer {
	name: string;
	via: string; // acp, http, sse, builtin, hosted, project
	tools?: string[]; // that the harness has got; absent: it has not asked
	error?: string;
}

/** A tree that stands for the workspace until what was changed in it is applied (daemon/protocol/drafts.md). */
export interface DraftState {
	how: string; // overlay, copy
	missing: string; // why it is no overlay
	bytes?: number;
}
