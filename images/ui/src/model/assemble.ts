// SPDX-License-Identifier: Apache-2.0
// Makes rows of events: which row an event begins or changes, and how. It needs no history: begun at the first event of
// a row it makes that row again, with the same id. So pages can be dropped and read anew.
//
// A chunk joins the newest row if that is of its kind, turn and message; a tool call, a question and a plan are found by
// their names. Of those the newest NAMES_MAX are remembered.

import type { RawEvent } from './event.ts';
import type { EndItem, Item, NoteItem } from './items.ts';
import { joinBlock, readBlock } from './blocks.ts';
import { readCheck, readPlan } from './checks.ts';
import { answerQuestion, isAnswer, readQuestion } from './questions.ts';
import { list, num, obj, optNum, optStr, str, time } from './read.ts';
import { changeCall, newCall } from './tools.ts';
import { readBudget, readTokens } from './usage.ts';
import { readError, sayNote } from './words.ts';

const NAMES_MAX = 4096;

/** Which row an event belongs to; fresh: it begins it. */
export interface Place {
	id: number;
	fresh: boolean;
}

type Chunk = 'prompt' | 'message' | 'thought';
const CHUNKS: readonly string[] = ['prompt', 'message', 'thought'];

export class Assembler {
	#newest: { id: number; kind: string; turn: number; message: string } | null = null;
	#names = new Map<string, number>(); // a name of a tool call, question or plan: the id of its row
	#isRow: (id: number) => boolean;

	/** isRow: where the rows are known, whether one begins with that event; events of older rows are then passed over. */
	constructor(isRow: (id: number) => boolean = () => true) {
		this.#isRow = isRow;
	}

	/** null: the event makes no row. Must be asked once for each event, in order. */
	place(e: RawEvent, id: number): Place | null {
		const name = nameOf(e);

		if (CHUNKS.includes(e.kind))
			return this.#placeChunk(e, id);
		if (name)
			return this.#placeNamed(name, e, id);
		if (e.kind === 'usage' || (!e.final && e.event !== 'gap' && isNote(e) && !sayNote(e)))
			return null;
		return this.#begin(e, id, '');
	}

	#begin(e: RawEvent, id: number, message: string): Place | null {
		if (!this.#isRow(id))
			return null;
		this.#newest = { id, kind: e.kind, turn: num(e.turnId), message };
		return { id, fresh: true };
	}

	#placeChunk(e: RawEvent, id: number): Place | null {
		const n = this.#newest;
		const message = str(e.messageId);

		if (n && n.kind === e.kind && n.turn === num(e.turnId) && n.message === message && !e.attempt)
			return { id: n.id, fresh: false };
		return this.#begin(e, id, message);
	}

	#placeNamed(name: string, e: RawEvent, id: number): Place | null {
		const known = this.#names.get(name);

		if (known !== undefined)
			return { id: known, fresh: false };
		const place = this.#begin(e, id, '');
		if (place)
			this.#names.set(name, id);
		if (this.#names.size > NAMES_MAX)
			this.#names.delete(this.#names.keys().next().value!);
		return place;
	}
}

const isNote = (e: RawEvent): boolean => !['artifact', 'check', 'complete'].includes(e.kind);

function nameOf(e: RawEvent): string {
	switch (e.kind) {
	case 'tool_call':
	case 'result':
		return `tool ${num(e.turnId)} ${str(e.toolCallId)}`;
	case 'ask_approval':
		return `ask ${num(e.ask)}`;
	case 'plan':
		return `plan ${num(e.turnId)} ${str(e.planId) || str(obj(e.plan).planId)}`;
	default:
		return '';
	}
}

/** The row with this event in it. old: what it was, null where the event begins it. */
export function applyToRow(old: Item | null, e: RawEvent, id: number): Item {
	const at = time(e.ts);
	const seq = num(e.seq);
	const base = old ? { ...old, last: Math.max(seq, old.last), until: at || old.until }
		: { id, last: seq, turn: num(e.turnId), at, until: at };

	return { ...base, ...contentOf(old, e) } as Item;
}

function contentOf(old: Item | null, e: RawEvent): object {
	switch (e.kind) {
	case 'prompt':
	case 'message':
	case 'thought':
		return chunk(old, e, e.kind);
	case 'tool_call':
	case 'result':
		return { kind: 'tool', call: changeCall(old?.kind === 'tool' ? old.call : newCall(str(e.toolCallId)), e) };
	case 'ask_approval':
		return { kind: 'question', question: question(old, e) };
	case 'plan':
		return { kind: 'plan', plan: readPlan(e) };
	case 'check':
		return { kind: 'check', check: readCheck(e.check) };
	case 'artifact':
		return { kind: 'artifact', artifact: readArtifact(e) };
	default:
		return e.final ? end(e) : other(e);
	}
}

function chunk(old: Item | null, e: RawEvent, kind: Chunk): object {
	const before = old && 'blocks' in old ? old.blocks : [];
	const attempt = attemptOf(e);

	return { kind, blocks: joinBlock(before, readBlock(e.content)), ...(attempt ? { attempt } : {}) };
}

function question(old: Item | null, e: RawEvent) {
	if (old?.kind === 'question')
		return isAnswer(e) ? answerQuestion(old.question, e) : old.question;
	return isAnswer(e) ? answerQuestion(readQuestion(e), e) : readQuestion(e);
}

function attemptOf(e: RawEvent) {
	const o = obj(e.attempt);
	const n = optNum(o.n) ?? optNum(e.attempt);

	return n === undefined ? undefined : { n, of: num(o.of) };
}

export function readArtifact(e: RawEvent) {
	const o = obj(e.artifact);

	return { id: str(o.id), name: str(o.name), type: str(o.type), size: num(o.size), source: str(o.source), turn: optNum(o.turn) };
}

function end(e: RawEvent): Partial<EndItem> {
	const checks = obj(e.checks);
	const ended: Partial<EndItem> = { kind: 'end', checks: list(checks.results).slice(0, 200).map(readCheck) };

	ended.stopReason = optStr(e.stopReason);
	ended.verdict = optStr(checks.verdict);
	ended.stopDetail = readBudget(e.stopDetail);
	ended.attempt = attemptOf(e);
	if (e.usage)
		ended.usage = readTokens(e.usage);
	if (e.error)
		ended.error = readError(e);
	return ended;
}

function other(e: RawEvent): object {
	if (e.event === 'gap')
		return { kind: 'gap', from: num(e.from), to: num(e.to), reason: optStr(e.reason) };
	const said = sayNote(e) ?? { severity: 'info' as const, text: str(e.event) };
	const note: Pick<NoteItem, 'kind' | 'event'> = { kind: 'note', event: str(e.event) };

	return { ...note, ...said };
}
