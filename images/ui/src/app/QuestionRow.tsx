// SPDX-License-Identifier: Apache-2.0
// A question in the history, and what becomes of an answer that is given here.

import { useState } from 'preact/hooks';
import type { JsonObject } from '../model/event.ts';
import type { Question as Data } from '../model/items.ts';
import { sayRefusal } from '../net/refusals.ts';
import { Question } from '../views/turn/Question.tsx';

/** Answers a question; undefined: nobody may from here. */
export type OnAnswer = ((id: string, answer: JsonObject) => Promise<void>) | undefined;

export function QuestionRow({ question, onAnswer }: { question: Data; onAnswer: OnAnswer }) {
	const [busy, setBusy] = useState(false);
	const [error, setError] = useState('');
	const answer = (id: string, reply: JsonObject): void => {
		setBusy(true);
		setError('');
		onAnswer!(id, reply).catch((e: unknown) => setError(sayRefusal(e))).finally(() => setBusy(false));
	};

	return <Question question={question} busy={busy} error={error} onAnswer={onAnswer && ((reply) => answer(question.id, reply as JsonObject))} />;
}
