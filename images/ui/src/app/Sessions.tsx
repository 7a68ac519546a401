// SPDX-License-Identifier: Apache-2.0
// The sessions of a daemon. Those that wait for a person stand first.

import type { SessionInfo } from '../model/run.ts';
import { useMemo, useState } from 'preact/hooks';
import { count, money } from '../views/text/format.ts';
import { totalOf } from '../model/usage.ts';
import { Visible } from '../views/text/Visible.tsx';
import { ago, sessionName, sessionState } from './state/words.ts';

const SHOWN = 200; // rows at a time

export interface SessionsProps {
	sessions: SessionInfo[];
	chosen: string;
	loaded: boolean;
	answers: boolean; // whoever looks may answer questions
	onChoose: (id: string) => void;
}

function matches(s: SessionInfo, words: string[]): boolean {
	const text = `${s.title} ${s.cwd} ${s.sessionId} ${s.harness} ${s.model} ${s.state}`.toLowerCase();

	return words.every((w) => text.includes(w));
}

export function Sessions({ sessions, chosen, loaded, answers, onChoose }: SessionsProps) {
	const [filter, setFilter] = useState('');
	const [shown, setShown] = useState(SHOWN);
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	const list = useMemo(() => sessions.filter((s) => matches(s, words))
		.sort((a, b) => Number(b.questions > 0) - Number(a.questions > 0)), [sessions, filter]);
	const now = Date.now();

	return (
		<nav class="sessions" aria-label="Sessions">
			<div class="sessions-search">
				<input id="filter" type="search" value={filter} placeholder="Filter sessions" aria-label="Filter sessions" spellcheck={false}
					onInput={(e) => { setFilter(e.currentTarget.value); setShown(SHOWN); }} />
			</div>
			{list.length === 0 && <p class="sessions-none muted">{!loaded ? 'Loading…' : filter ? 'None fits the filter.' : 'There are no sessions yet.'}</p>}
			<ul class="sessions-list">
				{list.slice(0, shown).map((s) => <Entry key={s.sessionId} s={s} now={now} chosen={s.sessionId === chosen} answers={answers} onChoose={onChoose} />)}
			</ul>
			{list.length > shown && <button type="button" class="button" onClick={() => setShown(shown + SHOWN)}>{list.length - shown} more</button>}
		</nav>
	);
}

function Entry({ s, now, chosen, answers, onChoose }: { s: SessionInfo; now: number; chosen: boolean; answers: boolean; onChoose: (id: string) => void }) {
	const state = sessionState(s, answers);
	const tokens = totalOf(s.usage);

	return (
		<li>
			<button type="button" class="session" aria-current={chosen ? 'page' : undefined} data-session={s.sessionId} onClick={() => onChoose(s.sessionId)}>
				<span class="session-line">
					<span class={`dot dot-${s.questions > 0 ? 'needs' : s.damaged ? 'damaged' : s.state}`} aria-hidden="true" />
					<Visible class="session-name" text={sessionName(s)} max={120} />
					<span class="session-when">{ago(s.updatedAt, now)}</span>
				</span>
				<span class="session-line session-facts">
					<Visible text={[s.harness, s.model].filter(Boolean).join(' · ')} max={80} />
					<span class="session-cost">{s.cost ? money(s.cost.amount, s.cost.currency) : tokens !== undefined ? `${count(tokens)} tok` : ''}</span>
					<span class={`tag ${state.tag}`}>{state.text}</span>
				</span>
			</button>
		</li>
	);
}
