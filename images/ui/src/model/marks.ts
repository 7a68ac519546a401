// SPDX-License-Identifier: Apache-2.0
// What rows tell of the session: its turns, pieces of time, questions, files, errors, checks and artifacts.

import type { RawEvent } from './event.ts';
import type { EndItem, Item, ToolItem } from './items.ts';
import type { Run, Span, SpanKind, Turn } from './run.ts';
import { plainText } from './blocks.ts';
import { ARTIFACTS_MAX, CHECKS_MAX, ERRORS_MAX, FILES_MAX, PLANS_MAX, PROMPT_LABEL, QUESTIONS_MAX, TURNS_MAX } from './limits.ts';
import { keep, keepSpan, shorten } from './keep.ts';
import { num, oneLine, time } from './read.ts';
import { noteBudget, settleUsage } from './run-calls.ts';
import { pathsOf } from './tools.ts';
import { sayError } from './words.ts';

const LABEL = 100;

export class Marks {
	#run: Run;
	#open = new Map<string, Span>(); // by kind and id of the row
	#files = new Map<string, number>(); // path: its place in run.files
	#turn: Turn | null = null;

	constructor(run: Run) {
		this.#run = run;
	}

	begun(row: number, item: Item, e: RawEvent): void {
		if (item.turn && item.turn !== this.#turn?.n)
			this.#beginTurn(row, item);
		this.#look(row, item, e);
	}

	/** item is null if its page was dropped: then only what the event itself says is known. */
	changed(row: number, id: number, item: Item | null, e: RawEvent): void {
		if (item) {
			this.#look(row, item, e);
			return;
		}
		if (e.kind === 'result')
			this.#endSpan('tool', id, time(e.ts), e.status === 'failed');
		if (e.kind === 'ask_approval')
			this.#answered(id, num(e.ask), time(e.ts));
	}

	#look(row: number, item: Item, e: RawEvent): void {
		switch (item.kind) {
		case 'prompt':
			if (this.#turn && this.#turn.prompt.length < PROMPT_LABEL)
				this.#turn.prompt = oneLine(plainText(item.blocks), PROMPT_LABEL);
			break;
		case 'tool':
			this.#tool(row, item, e);
			break;
		case 'question':
			this.#question(row, item);
			break;
		case 'plan':
			this.#plan(item.plan);
			break;
		case 'check':
			keep(this.#run.checks, { turn: item.turn, at: item.at, row, check: item.check }, CHECKS_MAX);
			this.#span({ kind: 'check', turn: item.turn, start: item.at - num(item.check.durationMs), end: item.at,
				label: item.check.id, failed: !item.check.ok, row });
			break;
		case 'artifact':
			keep(this.#run.artifacts, item.artifact, ARTIFACTS_MAX);
			break;
		case 'note':
			this.#note(row, item, e);
			break;
		case 'end':
			this.#endTurn(row, item);
			break;
		}
	}

	#plan(plan: Run['plans'][0]): void {
		const others = this.#run.plans.filter((p) => p.id !== plan.id);

		this.#run.plans = plan.removed ? others : [...others, plan].slice(-PLANS_MAX);
	}

	#note(row: number, item: Item & { kind: 'note' }, e: RawEvent): void {
		if (e.event === 'budget_warning')
			noteBudget(this.#run, e);
		if (item.severity === 'error')
			keep(this.#run.errors, { at: item.at, turn: item.turn, row, text: item.text }, ERRORS_MAX);
	}

	#beginTurn(row: number, item: Item): void {
		const turn: Turn = { n: item.turn, row, start: item.at, end: 0, prompt: '', usage: {}, cost: null, toolCalls: 0,
			failedCalls: 0, modelCalls: 0, waitedMs: 0 };

		this.#turn = turn;
		this.#run.turns.push(turn);
		this.#run.turnsLeftOut += shorten(this.#run.turns, TURNS_MAX);
		this.#run.open = turn.n;
		this.#open.set(`turn ${turn.n}`, this.#span({ kind: 'turn', turn: turn.n, start: item.at, end: 0,
			label: `Turn ${turn.n}`, row }));
	}

	#endTurn(row: number, item: EndItem): void {
		const turn = this.#turn;

		this.#run.open = 0;
		this.#endSpan('turn', item.turn, item.at, item.error !== undefined);
		if (item.error)
			keep(this.#run.errors, { at: item.at, turn: item.turn, row, text: sayError(item.error), error: item.error }, ERRORS_MAX);
		if (item.stopDetail)
			this.#run.budgets = [...this.#run.budgets.filter((b) => b.budget !== item.stopDetail!.budget ||
				b.scope !== item.stopDetail!.scope), item.stopDetail];
		if (!turn || turn.n !== item.turn)
			return;
		turn.end = item.at;
		turn.stopReason = item.stopReason;
		turn.error = item.error;
		turn.stopDetail = item.stopDetail;
		turn.verdict = item.verdict;
		settleUsage(this.#run, turn, item.usage);
	}

	#tool(row: number, item: ToolItem, e: RawEvent): void {
		const over = item.call.status === 'completed' || item.call.status === 'failed';
		const key = `tool ${item.id}`;
		const label = oneLine(item.call.title || item.call.tool || item.call.toolKind, LABEL);
		let span = this.#open.get(key);

		if (!span && item.last === e.seq && item.id === e.seq) {
			span = this.#span({ kind: 'tool', turn: item.turn, start: item.at, end: 0, label, row });
			this.#open.set(key, span);
			if (this.#turn?.n === item.turn)
				this.#turn.toolCalls++;
		}
		if (!span)
			return;
		span.label = label;
		if (!over)
			return;
		if (item.call.status === 'failed' && this.#turn?.n === item.turn)
			this.#turn.failedCalls++;
		this.#endSpan('tool', item.id, time(e.ts), item.call.status === 'failed');
		for (const { path, changed } of pathsOf(item.call))
			this.#touch(path, changed && item.call.status === 'completed', row);
	}

	#touch(path: string, changed: boolean, row: number): void {
		const at = this.#files.get(path);
		const old = at === undefined ? undefined : this.#run.files[at];

		if (old) {
			old.times++;
			old.row = row;
			if (changed)
				old.how = 'changed';
		} else if (this.#run.files.length < FILES_MAX) {
			this.#files.set(path, this.#run.files.length);
			this.#run.files.push({ path, how: changed ? 'changed' : 'read', times: 1, row });
		}
	}

	#question(row: number, item: Item & { kind: 'question' }): void {
		const { question } = item;
		const answered = question.answer !== undefined;

		if (answered) {
			this.#answered(item.id, question.ask, item.until);
			return;
		}
		keep(this.#run.questions, question, QUESTIONS_MAX);
		this.#open.set(`wait ${item.id}`, this.#span({ kind: 'wait', turn: item.turn, start: item.at, end: 0,
			label: oneLine(question.title, LABEL) || 'Question', row }));
	}

	#answered(id: number, ask: number, at: number): void {
		const span = this.#endSpan('wait', id, at, false);

		this.#run.questions = this.#run.questions.filter((q) => q.ask !== ask);
		if (span && this.#turn?.n === span.turn)
			this.#turn.waitedMs += Math.max(0, span.end - span.start);
	}

	#span(span: Span): Span {
		return keepSpan(this.#run, span);
	}

	#endSpan(kind: SpanKind, id: number, at: number, failed: boolean): Span | undefined {
		const key = `${kind} ${id}`;
		const span = this.#open.get(key);

		this.#open.delete(key);
		if (span) {
			span.end = at;
			if (failed)
				span.failed = true;
		}
		return span;
	}
}
