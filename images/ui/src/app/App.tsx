// SPDX-License-Identifier: Apache-2.0
// The whole page: the bar, the list, the session; the keyboard; files that are dropped.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { BundleSubject } from './state/bundle-subject.ts';
import { useEmitter } from './state/emitter.ts';
import { Help } from './Help.tsx';
import { handleKey, type KeyRow } from './state/keys.ts';
import { SessionPage, TABS, type SessionHandle } from './SessionPage.tsx';
import { Sessions } from './Sessions.tsx';
import type { PageState } from './state/state.ts';
import { nextTheme, readTheme, setTheme, type Theme } from './state/theme.ts';
import { plain } from '../views/text/visible.ts';
import { Visible } from '../views/text/Visible.tsx';
import { Welcome } from './Welcome.tsx';

export function App({ state }: { state: PageState }) {
	const [theme, chooseTheme] = useState<Theme>(readTheme);
	const [help, setHelp] = useState(false);
	const session = useRef<SessionHandle | null>(null);
	const { subject } = state;

	useEmitter(state);
	useLayoutEffect(() => setTheme(theme), [theme]);
	useTitle(state);
	useDrop((file) => void state.open(file));
	const keys = useMemo(() => keyRows(state, () => session.current, () => setHelp(true), () => chooseTheme((t) => nextTheme(t))), []);
	useLayoutEffect(() => {
		const onKey = (e: KeyboardEvent): void => handleKey(e, keys);
		addEventListener('keydown', onKey);
		return () => removeEventListener('keydown', onKey);
	}, []);
	const listed = state.api !== null && !(subject instanceof BundleSubject);

	return (
		<div class={`app ${listed ? 'app-listed' : ''} ${subject ? 'app-chosen' : ''}`}>
			<Bar state={state} theme={theme} onTheme={() => chooseTheme(nextTheme(theme))} onHelp={() => setHelp(true)} />
			{state.lost && <p class="notice notice-warn" role="status">{state.lost}</p>}
			{state.problem && (state.api || subject) && <p class="notice notice-bad" role="alert">{state.problem}</p>}
			<div class="app-body">
				{listed && (
					<div class="app-list" key="list" {...(subject ? {} : { role: 'main', id: 'main' })}>{!subject && <h1 class="hidden-text">Sessions</h1>}<Sessions key="sessions" sessions={state.sessions}
						chosen={subject?.sessionId ?? ''} loaded={state.loaded} answers={state.rights.drives} onChoose={(id) => state.choose(id)} /></div>
				)}
				{subject ? <SessionPage key={subject.sessionId} subject={subject} onBack={() => state.leave()} handle={(h) => { session.current = h; }} />
					: listed ? <section class="page page-none muted" aria-label="Session"><p>Choose a session.</p></section>
						: <Welcome base={state.base} problem={state.problem} busy={state.busy} onFile={(f) => void state.open(f)}
							onConnect={(base, token, keep) => void state.connect(base, token, keep)} />}
			</div>
			{help && <Help rows={keys} onClose={() => setHelp(false)} />}
		</div>
	);
}

const THEME_WORDS: Record<Theme, string> = { system: 'as the system', light: 'light', dark: 'dark' };

function Bar({ state, theme, onTheme, onHelp }: { state: PageState; theme: Theme; onTheme: () => void; onHelp: () => void }) {
	const bundle = state.subject instanceof BundleSubject ? state.subject : null;

	return (
		<header class="bar">
			<span class="bar-name">acpd</span>
			<Visible class="bar-where" text={bundle ? bundle.name : state.api ? state.base.replace(/^https?:\/\//, '') : ''} max={120} />
			{state.api && !state.rights.drives && <span class="tag">only watching</span>}
			{state.api && state.rights.sessions > 0 && <span class="tag">{state.rights.sessions === 1 ? 'one session only' : `${state.rights.sessions} sessions only`}</span>}
			{state.needsMe > 0 && <span class="tag tag-warn">{state.needsMe} need{state.needsMe === 1 ? 's' : ''} you</span>}
			<span class="bar-space" />
			<button type="button" class="button button-quiet" aria-label={`Theme: ${THEME_WORDS[theme]}`} title="Theme (t)" onClick={onTheme}>{theme === 'dark' ? '●' : theme === 'light' ? '○' : '◐'}</button>
			<button type="button" class="button button-quiet" aria-label="Keys" title="Keys (?)" onClick={onHelp}>?</button>
			{bundle ? <button type="button" class="button button-quiet" onClick={() => state.leave()}>Close the bundle</button>
				: state.api && <button type="button" class="button button-quiet" onClick={() => state.disconnect()}>Disconnect</button>}
		</header>
	);
}

function useTitle(state: PageState): void {
	const name = state.subject?.run.title || state.subject?.info?.title || '';

	useEffect(() => {
		document.title = `${state.needsMe > 0 ? `(${state.needsMe}) ` : ''}${name ? `${plain(name, 120)} – ` : ''}acpd`;
	}, [name, state.needsMe]);
}

function useDrop(take: (file: File) => void): void {
	useLayoutEffect(() => {
		const over = (e: DragEvent): void => { if (e.dataTransfer?.types.includes('Files')) e.preventDefault(); };
		const drop = (e: DragEvent): void => {
			const file = e.dataTransfer?.files[0];
			if (!file)
				return;
			e.preventDefault();
			take(file);
		};
		addEventListener('dragover', over);
		addEventListener('drop', drop);
		return () => { removeEventListener('dragover', over); removeEventListener('drop', drop); };
	}, []);
}

function chooseBy(state: PageState, by: number): void {
	const shown = [...document.querySelectorAll<HTMLElement>('.session')];
	const at = shown.findIndex((el) => el.dataset.session === state.subject?.sessionId || el === document.activeElement);

	shown[Math.max(0, Math.min(shown.length - 1, at + by))]?.focus();
}

function keyRows(state: PageState, session: () => SessionHandle | null, help: () => void, theme: () => void): KeyRow[] {
	const move = (by: number) => (): void => {
		const history = document.activeElement?.closest('.sessions') ? null : session()?.history();
		if (history)
			history.move(by);
		else
			chooseBy(state, by);
	};

	return [
		{ keys: ['j', 'ArrowDown'], shown: 'j ↓', what: 'Next row, or next session in the list', run: move(1) },
		{ keys: ['k', 'ArrowUp'], shown: 'k ↑', what: 'Row or session before', run: move(-1) },
		{ keys: ['Enter', 'o'], shown: 'Enter o', what: 'Unfold or fold the row', run: () => session()?.history()?.unfold() },
		{ keys: ['g', 'Home'], shown: 'g Home', what: 'First row', run: () => session()?.history()?.first() },
		{ keys: ['G', 'End'], shown: 'G End', what: 'Last row', run: () => session()?.history()?.last() },
		{ keys: ['n'], shown: 'n', what: 'The question that waits for you', run: () => session()?.question() },
		{ keys: ['/'], shown: '/', what: 'Filter the sessions', run: () => document.querySelector<HTMLElement>('#filter')?.focus() },
		{ keys: [' '], shown: 'Space', what: 'Pause a replay, or begin one', run: () => { if (session() && !session()!.pause()) state.subject?.startReplay(); } },
		{ keys: ['[', ','], shown: '[ ,', what: 'Replay: 10 s back', run: () => seekBy(state, -10_000) },
		{ keys: [']', '.'], shown: '] .', what: 'Replay: 10 s on', run: () => seekBy(state, 10_000) },
		{ keys: TABS.map((_, i) => String(i + 1)), shown: '1 … 8', what: 'History, timeline and so on', run: (key) => session()?.tab(Number(key) - 1) },
		{ keys: ['t'], shown: 't', what: 'Theme: as the system, light, dark', run: theme },
		{ keys: ['Escape'], shown: 'Esc', what: 'Leave the field, the replay, the session', everywhere: true, run: () => escape(state) },
		{ keys: ['?'], shown: '?', what: 'These keys', run: help },
	];
}

function seekBy(state: PageState, ms: number): void {
	const player = state.subject?.player;

	if (player)
		void state.subject!.seek(player.position + ms);
}

function escape(state: PageState): void {
	const at = document.activeElement;

	if (at instanceof HTMLElement && at.matches('input, textarea, select')) {
		at.blur();
		return;
	}
	if (state.subject?.player)
		state.subject.stopReplay();
	else if (state.subject)
		state.leave();
}
