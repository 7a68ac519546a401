// SPDX-License-Identifier: Apache-2.0
// Questions of a session: an event that asks, and a later one of the same number that answers.

import type { Json, RawEvent } from './event.ts';
import type { Answer, Question } from './items.ts';
import { boundJson } from './blocks.ts';
import { isObject, list, num, obj, oneLine, optStr, str, time } from './read.ts';

const OPTIONS_MAX = 64;

export function readQuestion(e: RawEvent): Question {
	const q: Question = {
		ask: num(e.ask), id: `${str(e.sessionId)}:${num(e.ask)}`, elicitation: e.elicitation === true,
		title: oneLine(str(e.title) || str(e.message), 2000), toolCallId: optStr(e.toolCallId),
		options: list(e.options).slice(0, OPTIONS_MAX).map((o) => ({ optionId: str(obj(o).optionId),
			name: str(obj(o).name) || str(obj(o).optionId), kind: str(obj(o).kind) })),
		mode: optStr(e.mode), url: optStr(e.url), otherwise: optStr(e.default),
	};

	if (isObject(e.requestedSchema)) {
		const schema = boundJson(e.requestedSchema);
		q.schema = isObject(schema) ? schema : undefined;
	}
	if (time(e.expiresAt))
		q.expiresAt = time(e.expiresAt);
	return q;
}

const OUTCOMES: Record<string, string> = { accept: 'Accepted', decline: 'Declined', cancel: 'Cancelled', cancelled: 'Cancelled' };

function textOf(q: Question, answer: Json | undefined): { text: string; accepted: boolean } {
	const a = obj(answer);
	const outcome = obj(a.outcome);
	const chosen = q.options.find((o) => o.optionId === outcome.optionId);
	const word = str(a.action) || str(outcome.outcome);

	if (chosen)
		return { text: chosen.name, accepted: chosen.kind.startsWith('allow') };
	return { text: OUTCOMES[word] ?? (str(outcome.optionId) || word || 'Answered'), accepted: word === 'accept' };
}

export function answerQuestion(q: Question, e: RawEvent): Question {
	const answer: Answer = { ...textOf(q, e.answer), by: str(e.by), via: optStr(e.via), rule: optStr(e.rule),
		reason: optStr(e.reason), at: time(e.ts) };

	return { ...q, answer };
}

export const isAnswer = (e: RawEvent): boolean => e.answer !== undefined;
