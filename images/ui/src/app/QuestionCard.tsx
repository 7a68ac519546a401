// SPDX-License-Identifier: Apache-2.0
// What a session asks people, with buttons; answered, it says by whom.

import { useState } from 'preact/hooks';
import type { JsonObject } from '../model/event.ts';
import type { Question } from '../model/items.ts';
import { Visible } from '../views/Visible.tsx';
import { ElicitationForm } from './ElicitationForm.tsx';

export interface Answering {
	mayAnswer: boolean;
	onAnswer: (id: string, answer: JsonObject) => Promise<void>;
}

const BY: Record<string, string> = { human: 'by a person', rule: 'by a rule', timeout: 'because the time was up', default: 'by the daemon',
	cancelled: 'with the turn', withdrawn: 'withdrawn by who asked' };

export function QuestionCard({ question: q, mayAnswer, onAnswer }: { question: Question } & Answering) {
	const [sent, setSent] = useState(false);
	const answer = (a: JsonObject): void => {
		setSent(true);
		void onAnswer(q.id, a).finally(() => setSent(false));
	};

	if (q.answer)
		return (
			<div class="question question-over">
				<span class="muted">Asked</span> <Visible text={q.title || 'a question'} max={300} />
				<span class={`tag ${q.answer.accepted ? 'tag-ok' : ''}`}><Visible text={q.answer.text} max={80} /></span>
				<span class="muted">{BY[q.answer.by] ?? q.answer.by}{q.answer.rule ? ` (${q.answer.rule})` : ''}</span>
			</div>
		);
	return (
		<section class="question question-open" aria-label="Question">
			<p class="question-title"><span class="tag tag-warn">needs you</span> <Visible text={q.title || 'A question'} max={2000} /></p>
			{q.elicitation ? <ElicitationForm question={q} disabled={!mayAnswer || sent} onAnswer={answer} /> : (
				<div class="question-options">
					{q.options.map((o) => (
						<button type="button" class={`button ${o.kind === 'allow_once' ? 'button-main' : ''}`} disabled={!mayAnswer || sent}
							onClick={() => answer({ optionId: o.optionId })}>
							<Visible text={o.name} max={120} />
						</button>
					))}
				</div>
			)}
			{q.expiresAt !== undefined && <p class="muted">Until {new Date(q.expiresAt).toLocaleTimeString()}, then: {q.otherwise ?? 'reject'}</p>}
		</section>
	);
}
