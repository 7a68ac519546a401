// SPDX-License-Identifier: Apache-2.0
// What happened, in words: notes of the history, failed turns, and how turns end.

import type { Json, RawEvent } from './event.ts';
import type { BudgetUse, NoteItem, TurnError } from './items.ts';
import { list, num, obj, oneLine, optNum, optStr, str } from './read.ts';

const TEXT = 2000;

export interface Said {
	severity: NoteItem['severity'];
	text: string;
	detail?: string;
}

const BUDGETS: Record<string, string> = { steps: 'model calls', toolCalls: 'tool calls', seconds: 'seconds', tokens: 'tokens',
	cost: 'cost' };
const SCOPES: Record<string, string> = { prompt: 'this prompt', turn: 'this turn', session: 'the session' };

export function budgetName(b: BudgetUse): string {
	return `${BUDGETS[b.budget] ?? b.budget} of ${SCOPES[b.scope] ?? b.scope}`;
}

const joined = (v: Json | undefined): string => list(v).map((x) => str(x) || str(obj(x).name)).filter(Boolean).slice(0, 20).join(', ');
const info = (text: string, detail?: string): Said => ({ severity: 'info', text, detail });
const warning = (text: string, detail?: string): Said => ({ severity: 'warning', text, detail });

function exited(e: RawEvent): Said {
	const how = optNum(e.exitCode) !== undefined ? `with code ${num(e.exitCode)}` : e.signal ? `by signal ${String(e.signal)}` : '';

	return { severity: 'error', text: `The harness exited ${how}`.trim() };
}

function blocked(e: RawEvent): Said {
	return warning(`The network of the session refused ${str(e.host)}${optNum(e.port) ? `:${num(e.port)}` : ''}`, optStr(e.reason));
}

function toolCalled(e: RawEvent): Said {
	const text = `A client called ${str(e.tool) || 'a tool'} of ${str(e.server)}: ${str(e.outcome).replace(/_/g, ' ')}`;

	return e.outcome === 'failed' ? warning(text, optStr(e.reason)) : info(text);
}

function unknownUpdate(e: RawEvent): Said {
	if (optNum(e.more) !== undefined)
		return info(`Further updates of unknown kinds: ${num(e.more)}`);
	return info(`Update of an unknown kind: ${str(obj(e.update).sessionUpdate) || str(e.sessionUpdate) || 'unnamed'}`,
		e.update === undefined ? `${num(e.bytes)} bytes` : JSON.stringify(e.update));
}

function budgetWarning(e: RawEvent): Said {
	const b = { budget: str(e.budget), scope: str(e.scope), limit: num(e.limit), used: num(e.used) };

	return warning(`80 % of the ${budgetName(b)} are used: ${b.used} of ${b.limit}`);
}

function compaction(e: RawEvent): Said | null {
	const status = str(e.status);

	if (status === 'in_progress')
		return info('The harness compacts its context');
	return status === 'completed' ? info('The context was compacted') : warning(`Compaction: ${status || 'unknown'}`, optStr(e.error));
}

// null: it is no row of its own (it changes the state of the session, or belongs to another row).
const NOTES: Record<string, (e: RawEvent) => Said | null> = {
	available_commands_update: () => null,
	config_option_update: () => null,
	session_info_update: () => null,
	compaction_summary_chunk: () => null,
	current_mode_update: (e) => info(`Mode: ${str(e.currentModeId)}`),
	notice: (e) => ({ severity: e.severity === 'error' ? 'error' : e.severity === 'warning' ? 'warning' : 'info',
		text: str(e.title), detail: optStr(e.description) }),
	compaction_update: compaction,
	subagent_update: (e) => info(`Subagent: ${str(e.title) || str(e.updateSessionId)}`, optStr(e.description) ?? optStr(e.state)),
	harness_exited: exited,
	closed: () => info('The session was closed'),
	deleted: () => warning('The session was deleted'),
	snapshot_failed: (e) => warning('The changes of this turn could not be recorded', optStr(e.message) ?? optStr(e.reason)),
	rule_added: (e) => info(`From now on: ${str(e.policy)}`, JSON.stringify(e.rule ?? null)),
	rule_forgotten: (e) => info(`No longer: ${str(e.policy)}`, JSON.stringify(e.rule ?? null)),
	rule_refused: (e) => warning('The answer held once: no rule could be made of it', optStr(e.reason)),
	draft_on: (e) => info(e.after ? `Draft: changes wait, until ${str(e.after)}` : 'Draft: changes wait until they are applied'),
	draft_off: () => info('The draft is off: changes are made in the workspace'),
	draft_applied: (e) => info('The draft was applied to the workspace', optStr(e.patchDigest)),
	draft_failed: (e) => warning('The draft could not be begun', optStr(e.message) ?? optStr(e.reason)),
	tools_delivered: (e) => info(`Tools of ${str(e.server)}: ${list(e.tools).length}`, joined(e.tools)),
	tool_dry_run: (e) => info(`Dry run: ${str(e.tool)} of ${str(e.server)}`),
	tool_called: toolCalled,
	tool_call_lost: (e) => warning(`A call of ${str(e.tool) || str(e.method)} was lost`, optStr(e.server)),
	text_repaired: (e) => info('Text that is not Unicode was repaired', [e.client && `of the client: ${num(e.client)}`, e.harness && `of the harness: ${num(e.harness)}`].filter(Boolean).join(', ')),
	update_unknown: unknownUpdate,
	update_refused: (e) => warning('An update of the harness was too large and was dropped', `${str(e.update)}: ${num(e.bytes)} bytes`),
	budget_warning: budgetWarning,
	out_of_memory: (e) => ({ severity: 'error', text: `${num(e.killed)} processes were killed for want of memory` }),
	network_blocked: blocked,
	confinement_refused: (e) => warning('The session was refused a system call or a file', optStr(e.path) ?? optStr(e.syscall)),
	unreadable: () => warning('An event could not be read'),
};

export function sayNote(e: RawEvent): Said | null {
	const name = str(e.event);
	const say = Object.hasOwn(NOTES, name) ? NOTES[name] : undefined;
	const said = say ? say(e) : info(name.replace(/_/g, ' ') || e.kind);

	return said && { severity: said.severity, text: oneLine(said.text, TEXT),
		...(said.detail ? { detail: said.detail.slice(0, TEXT) } : {}) };
}

const CLASSES: Record<string, string> = {
	harness_exit: 'The harness ended in the middle of the turn',
	harness_protocol: 'The harness broke its protocol',
	harness_start: 'The harness could not be started',
	harness_error: 'The harness reported an error',
	auth: 'The model provider refused the key',
	rate_limit: 'The model provider allows no more requests for now',
	quota: 'A usage limit was reached at the model provider',
	context_overflow: 'There was more context than the model has',
	provider: 'The model provider failed',
	empty_turn: 'The turn ended without any output',
	out_of_memory: 'The session was at its limit of memory',
	resource: 'The daemon could not write what belongs to the turn',
	shutdown: 'The daemon stopped in the middle of the turn',
};

export function readError(e: RawEvent): TurnError {
	const o = obj(e.error);
	const data = obj(obj(o.data).turn);
	const from = o.class ? o : data;

	return { class: str(from.class), message: oneLine(str(o.message) || str(from.message), TEXT), reason: optStr(from.reason),
		provider: optStr(from.provider), httpStatus: optNum(from.httpStatus),
		...(typeof from.retryable === 'boolean' ? { retryable: from.retryable } : {}) };
}

export function sayError(e: TurnError): string {
	const what = CLASSES[e.class] ?? 'The turn failed';
	const status = e.httpStatus ? ` (HTTP ${e.httpStatus})` : '';

	return e.message ? `${what}${status}: ${e.message}` : `${what}${status}`;
}

const STOPS: Record<string, string> = {
	end_turn: 'Finished', max_tokens: 'Stopped: too many tokens', max_turn_requests: 'Stopped: too many requests',
	refusal: 'The model refused', cancelled: 'Cancelled',
};

export function sayStop(stopReason: string, detail?: BudgetUse): string {
	return detail ? `Stopped: the ${budgetName(detail)} are used up (${detail.used} of ${detail.limit})`
		: STOPS[stopReason] ?? stopReason;
}
