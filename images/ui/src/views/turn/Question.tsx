// SPDX-License-Identifier: Apache-2.0
// A question of the agent: what it wants, and the answers as buttons or as a form; how long there is for it, and in the end who gave it.
import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Question as Data } from '../../model/items.ts';
import { answeredBy } from './answered.ts';
import { Form } from './Form.tsx';
import { clock, spoken } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { Markdown } from '../text/Markdown.tsx';
import { safeLink } from '../text/markdown.ts';
import { plain } from '../text/visible.ts';
import { Visible } from '../text/Visible.tsx';

export type Reply = { optionId: string } | { action: 'accept'; content?: Record<string, unknown> } | { action: 'decline' | 'cancel' };

// children: what it is about, as the tool call. Without onAnswer it can only be read. error: why the last answer was not taken.
export interface QuestionProps { question: Data; onAnswer?: (reply: Reply) => void; busy?: boolean; error?: string; children?: ComponentChildren }

function useNow(on: boolean): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		if (!on) return undefined;
		const timer = setInterval(() => setNow(Date.now()), 1000);
		return () => clearInterval(timer);
	}, [on]);
	return now;
}

const OTHERWISE: ReadonlyMap<string, string> = new Map([['reject', 'it is refused'], ['allow', 'it is allowed'], ['cancel', 'it is cancelled']]);

function TimeLeft({ question }: { question: Data }) {
	const now = useNow(question.expiresAt !== undefined);
	if (question.expiresAt === undefined) return null;
	const left = Math.max(0, question.expiresAt - now);
	const then = OTHERWISE.get(question.otherwise ?? '') ?? 'it is refused';
	return (
		<span class={`question-time${left < 30_000 ? ' question-soon' : ''}`} role="timer" aria-label={left ? `${spoken(left)} left, then ${then}` : 'the time is up'}>
			{left ? `${clock(left)} left, then ${then}` : 'the time is up'}
		</span>
	);
}

// Refusals look quiet, and what allows for always does not stand first.
const STYLE: ReadonlyMap<string, string> = new Map([['allow_once', 'button button-main'], ['allow_always', 'button'], ['reject_once', 'button'], ['reject_always', 'button']]);

function Options({ question, busy, onAnswer }: { question: Data; busy: boolean; onAnswer: (r: Reply) => void }) {
	return (
		<div class="question-options" role="group" aria-label="Answers">
			{question.options.slice(0, 32).map((o) => (
				<button type="button" class={STYLE.get(o.kind) ?? 'button'} disabled={busy} onClick={() => onAnswer({ optionId: o.optionId })}>
					<Visible text={o.name || o.optionId} max={120} />
					{o.kind.endsWith('_always') && !/always/i.test(o.name) && <span class="question-always"> (always)</span>}
				</button>
			))}
		</div>
	);
}

function Url({ question, busy, onAnswer }: { question: Data; busy: boolean; onAnswer: (r: Reply) => void }) {
	const href = safeLink(question.url ?? '');
	return (
		<>
			<p class="question-url">
				{href ? <a class="markdown-link" href={href} target="_blank" rel="noopener noreferrer nofollow">{plain(href, 4096)}</a> : <Visible text={question.url ?? 'no address'} />}
			</p>
			<div class="question-options">
				<button type="button" class="button button-main" disabled={busy} onClick={() => onAnswer({ action: 'accept' })}>Done</button>
				<button type="button" class="button" disabled={busy} onClick={() => onAnswer({ action: 'decline' })}>Decline</button>
			</div>
		</>
	);
}

function Open({ question, busy, onAnswer }: { question: Data; busy: boolean; onAnswer: (r: Reply) => void }) {
	if (!question.elicitation) return <Options question={question} busy={busy} onAnswer={onAnswer} />;
	if (question.mode === 'url') return <Url question={question} busy={busy} onAnswer={onAnswer} />;
	return <Form schema={question.schema} busy={busy} onSubmit={(content) => onAnswer({ action: 'accept', content })} onDecline={() => onAnswer({ action: 'decline' })} />;
}

export function Question({ question, onAnswer, busy = false, error, children }: QuestionProps) {
	const { answer } = question;
	return (
		<div role="group" class={`question ${answer ? 'question-over' : 'question-open'}`} aria-label={answer ? 'Answered question' : 'Open question'}>
			<div class="question-head">
				<Icon name="question" />
				<strong>{question.elicitation ? 'The agent asks' : 'The agent asks for permission'}</strong>
				{!answer && <TimeLeft question={question} />}
			</div>
			<div class="question-text">{question.elicitation ? <Markdown text={question.title} /> : <Visible text={question.title} max={1000} />}</div>
			{children}
			{!answer && onAnswer && <Open question={question} busy={busy} onAnswer={onAnswer} />}
			{!answer && !onAnswer && !question.elicitation && <p class="question-by">Possible answers: {question.options.slice(0, 32).map((o, i) => <>{i > 0 && ', '}<Visible text={o.name} max={80} /></>)}</p>}
			{error && <p class="question-error" role="alert"><Visible text={error} /></p>}
			{answer && (
				<p class="question-by">
					<Icon name={answer.accepted ? 'completed' : 'failed'} label={answer.accepted ? 'yes' : 'no'} class={answer.accepted ? 'question-yes' : 'question-no'} />{' '}
					<Visible text={answer.text} max={200} />, {answeredBy(answer)}
				</p>
			)}
		</div>
	);
}
