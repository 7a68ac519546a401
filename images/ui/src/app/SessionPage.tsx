// SPDX-License-Identifier: Apache-2.0
// One session: what it is, its history, and its other sides in tabs.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../model/event.ts';
import { money } from '../views/text/format.ts';
import { Visible } from '../views/text/Visible.tsx';
import { Aside } from './Aside.tsx';
import { Composer } from './Composer.tsx';
import { useEmitter } from './state/emitter.ts';
import { History, type HistoryHandle } from './History.tsx';
import { LiveSubject } from './state/live-subject.ts';
import { McpServers } from '../views/session/McpServers.tsx';
import { UsageChart } from '../views/session/UsageChart.tsx';
import { ChecksPane, ErrorsPane, FilesPane } from './panes.tsx';
import type { Subject } from './state/subject.ts';
import { Tabs, type TabRow } from './Tabs.tsx';
import { TimelinePane } from './TimelinePane.tsx';
import { Transport } from './Transport.tsx';
import { useNarrow } from './narrow.ts';
import { sessionName, sessionState, streamState } from './state/words.ts';

export const TABS = ['history', 'timeline', 'usage', 'files', 'checks', 'servers', 'errors', 'state'] as const;
export type Tab = (typeof TABS)[number];

export interface SessionHandle {
	history(): HistoryHandle | null;
	tab(i: number): void;
	question(): void; // the next that is open
	pause(): boolean; // of a replay; false: there is none
}

export interface SessionPageProps {
	subject: Subject;
	onBack: () => void;
	handle: (h: SessionHandle | null) => void;
}

export function SessionPage({ subject, onBack, handle }: SessionPageProps) {
	const narrow = useNarrow();
	const [wished, setTab] = useState<Tab>('history');
	const tab = wished === 'state' && !narrow ? 'history' : wished;
	const history = useRef<HistoryHandle | null>(null);
	const wanted = useRef<number | null>(null); // the row that another tab wants to show
	const { run } = subject;

	useEmitter(subject);
	useLayoutEffect(() => {
		handle({
			history: () => (history.current),
			tab: (i) => setTab(TABS[i] ?? 'history'),
			question: () => { const q = subject.model.run.spans.find((s) => s.kind === 'wait' && !s.end); if (q?.row !== undefined) show(q.row); },
			pause: () => pauseReplay(subject),
		});
		return () => handle(null);
	}, [subject]);
	const show = (row: number): void => {
		wanted.current = row;
		setTab('history');
		history.current?.show(row);
	};
	const live = subject instanceof LiveSubject ? subject : null;
	const aside = <Aside run={run} info={subject.player ? null : subject.info} sent={live?.sent ?? []} />;
	const answer = live?.mayDrive && !subject.player ? (id: string, a: JsonObject): Promise<void> => live.answer(id, a) : undefined;

	return (
		<main class="page" id="main" aria-label="Session">
			<Head subject={subject} onBack={onBack} />
			{subject.problem && <p class="notice notice-bad page-problem" role="alert">{subject.problem}</p>}
			<Tabs rows={rowsOf(subject, narrow)} chosen={tab} onChoose={(t) => setTab(t as Tab)} label="Sides of the session" panel="side" />
			<div class="page-body">
				<div class="page-main" role="tabpanel" id="side" aria-labelledby={`tab-${tab}`}>
					{tab === 'history' && (
						<History subject={subject} onAnswer={answer} handle={(h) => {
							history.current = h;
							if (wanted.current !== null)
								setTimeout(() => { h.show(wanted.current ?? 0); wanted.current = null; }, 0);
						}} />
					)}
					{tab !== 'history' && <div class="pane">{tab === 'state' ? aside : paneOf(tab, subject, show)}</div>}
				</div>
				{!narrow && aside}
			</div>
			{subject.player ? (
				<Transport player={subject.player} turns={subject.whole.turns.at(-1)?.n ?? 0} onChange={() => subject.changed()}
					onSeek={(at) => void subject.seek(at)} onEnd={() => subject.stopReplay()} />
			) : live && !run.deleted && <Composer subject={live} />}
		</main>
	);
}

function pauseReplay(subject: Subject): boolean {
	const { player } = subject;

	if (!player)
		return false;
	if (player.playing)
		player.pause();
	else
		player.play();
	subject.changed();
	return true;
}

function rowsOf(subject: Subject, narrow: boolean): TabRow[] {
	const { run, info } = subject;
	const failed = run.checks.filter((c) => !c.check.ok).length;

	return [
		{ id: 'history', name: 'History' }, { id: 'timeline', name: 'Timeline' }, { id: 'usage', name: 'Usage' },
		{ id: 'files', name: 'Files', count: run.files.filter((f) => f.how === 'changed').length },
		{ id: 'checks', name: 'Checks', count: failed, bad: true }, { id: 'servers', name: 'Servers', count: info?.mcp.length ?? 0 },
		{ id: 'errors', name: 'Errors', count: run.errors.length, bad: true },
		...(narrow ? [{ id: 'state', name: 'State' }] : []), // where there is no room for it beside the history
	];
}

function paneOf(tab: Tab, subject: Subject, show: (row: number) => void) {
	switch (tab) {
	case 'timeline': return <TimelinePane subject={subject} onShow={show} />;
	case 'usage': return <UsageChart turns={subject.run.turns} calls={subject.run.calls} models={subject.run.models} />;
	case 'files': return <FilesPane subject={subject} onShow={show} />;
	case 'checks': return <ChecksPane run={subject.run} onShow={show} />;
	case 'servers': return <McpServers servers={subject.info?.mcp ?? []} />;
	default: return <ErrorsPane run={subject.run} onShow={show} />;
	}
}

function Head({ subject, onBack }: { subject: Subject; onBack: () => void }) {
	const { run, info } = subject;
	const state = info && subject.isLive ? sessionState(info, subject instanceof LiveSubject && subject.mayDrive) : null;
	const stream = streamState(subject.state);
	const cost = run.cost ?? run.harnessCost;
	const name = run.title || (info ? sessionName(info) : run.sessionId);

	return (
		<header class="page-head">
			{subject.isLive && <button type="button" class="button button-quiet page-back" aria-label="Back to the sessions" onClick={onBack}>‹</button>}
			<div class="page-title">
				<h1><Visible text={name} max={200} /></h1>
				<p class="page-facts">
					{state && <span class={`tag ${state.tag}`}>{state.text}</span>}
					{subject.isLive && <span class={`tag ${stream.tag}`} role="status">{stream.text}</span>}
					<Visible text={[info?.harness, run.model || info?.model].filter(Boolean).join(' · ')} max={120} />
					{cost && cost.amount > 0 && <span>{money(cost.amount, cost.currency)}</span>}
					{info?.imported && <span class="tag">from a bundle</span>}
					{info?.draft && subject.isLive && <span class="tag tag-warn">draft</span>}
					{info?.cwd && <Visible class="page-cwd" text={info.cwd} max={200} />}
				</p>
			</div>
			{!subject.player && <button type="button" class="button" disabled={!run.events} onClick={() => subject.startReplay()}>Replay</button>}
		</header>
	);
}
