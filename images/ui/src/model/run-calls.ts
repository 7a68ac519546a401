// SPDX-License-Identifier: Apache-2.0
// Model calls, tokens and money of a run: from its events while it runs, and from the lines of the ledger (daemon/protocol/usage.md),
// which know more: how long a call took, which model answered, what it cost. Lines of a turn take the place of its events.

import type { JsonObject, RawEvent } from './event.ts';
import type { Tokens } from './items.ts';
import type { ModelCall, ModelUse, Run, Turn } from './run.ts';
import { keep, keepSpan } from './keep.ts';
import { CALLS_MAX, MODELS_MAX } from './limits.ts';
import { num, obj, optNum, optStr, str, time } from './read.ts';
import { addCost, addTokens, readBudget, readCost, readTokens } from './usage.ts';

export function newRun(sessionId: string): Run {
	return {
		sessionId, title: '', mode: '', model: '', firstAt: 0, lastAt: 0, lastSeq: 0, events: 0, turns: [], turnsLeftOut: 0, open: 0,
		spans: [], spansLeftOut: 0, questions: [], plans: [], context: null, usage: {}, cost: null, settled: { usage: {}, cost: null },
		harnessCost: null, calls: [], models: [],
		budgets: [], files: [], errors: [], checks: [], artifacts: [], draft: null, closed: false, deleted: false,
	};
}

const turnOf = (run: Run, n: number): Turn | undefined => run.turns.findLast((t) => t.n === n);

/** An event of kind usage: a model call that the harness reported. */
export function addCall(run: Run, e: RawEvent): void {
	const usage = readTokens(e.usage);
	const cost = readCost(e.cost);
	const turn = turnOf(run, num(e.turnId));

	keep(run.calls, { turn: num(e.turnId), at: time(e.ts), model: str(e.model) || run.model, usage, cost, live: true }, CALLS_MAX);
	if (!turn)
		return;
	turn.modelCalls++;
	turn.usage = addTokens(turn.usage, usage);
	turn.cost = addCost(turn.cost, cost);
	run.usage = addTokens(run.settled.usage, turn.usage);
	run.cost = addCost(run.settled.cost, turn.cost);
}

/** The turn is over. usage: that of all of it. */
export function settleUsage(run: Run, turn: Turn, usage: Tokens | undefined): void {
	if (usage)
		turn.usage = usage;
	run.settled = { usage: addTokens(run.settled.usage, turn.usage), cost: addCost(run.settled.cost, turn.cost) };
	run.usage = run.settled.usage;
	run.cost = run.settled.cost;
}

/** A line of the ledger. */
export function applyRecord(run: Run, r: JsonObject): void {
	if (r.type === 'model_call')
		recordCall(run, r);
	else if (r.type === 'turn')
		recordTurn(run, r);
}

function recordCall(run: Run, r: JsonObject): void {
	const n = num(r.turn);
	const call: ModelCall = { turn: n, at: time(r.ts), durationMs: optNum(r.durationMs), model: str(r.model) || str(r.modelAsked),
		usage: readTokens(r.usage), cost: readCost(r.cost), via: optStr(r.via),
		...(r.error ? { failed: true } : {}) };

	if (run.calls.at(-1)?.live)
		run.calls = run.calls.filter((c) => !(c.live && c.turn === n));
	keep(run.calls, call, CALLS_MAX);
	spanOfCall(run, call);
	countModel(run.models, call);
}

/** A call that took a known time has its place in the timeline: that is, one that the daemon or its client made. */
function spanOfCall(run: Run, call: ModelCall): void {
	if (call.at && call.durationMs !== undefined)
		keepSpan(run, { kind: 'model', turn: call.turn, start: call.at - call.durationMs, end: call.at, label: call.model || 'model',
			failed: call.failed ?? false, row: turnOf(run, call.turn)?.row });
}

function recordTurn(run: Run, r: JsonObject): void {
	const turn = turnOf(run, num(r.turn));
	const total = obj(r.cumulative);

	run.model = str(r.model) || run.model;
	if (turn) {
		turn.usage = readTokens(r.usage);
		turn.cost = readCost(r.cost);
		turn.modelCalls = optNum(r.modelCalls) ?? turn.modelCalls;
		turn.ttftMs = optNum(r.ttftMs);
	}
	run.settled = { usage: readTokens(total.usage), cost: readCost(total.cost) };
	run.usage = run.settled.usage;
	run.cost = run.settled.cost;
}

function countModel(models: ModelUse[], call: ModelCall): void {
	const use = models.find((m) => m.model === call.model);

	if (use) {
		use.calls++;
		use.usage = addTokens(use.usage, call.usage);
		use.cost = addCost(use.cost, call.cost);
	} else if (models.length < MODELS_MAX) {
		models.push({ model: call.model, calls: 1, usage: call.usage, cost: call.cost });
	}
}

export function noteBudget(run: Run, e: RawEvent): void {
	const b = readBudget(e);

	if (b)
		run.budgets = [...run.budgets.filter((o) => o.budget !== b.budget || o.scope !== b.scope), b];
}
