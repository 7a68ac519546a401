// SPDX-License-Identifier: Apache-2.0
// Prompting and cancelling. Only the driver of a session may, so a person takes it over first, and is told what that means.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Confirm } from './Confirm.tsx';
import { Visible } from '../views/text/Visible.tsx';
import type { LiveSubject } from './state/live-subject.ts';

export function Composer({ subject }: { subject: LiveSubject }) {
	const [text, setText] = useState('');
	const [asking, setAsking] = useState(false);
	const taken = useRef(false);
	const field = useRef<HTMLTextAreaElement>(null);
	const { info } = subject;
	const running = info !== null && info.turn > 0;
	const send = (e: Event): void => {
		e.preventDefault();
		if (!text.trim())
			return;
		void subject.prompt(text);
		setText('');
	};

	useEffect(() => {
		if (subject.driving && taken.current)
			field.current?.focus();
		taken.current = false;
	}, [subject.driving]);
	return (
		<section class="composer" aria-label="Act in this session">
			{subject.acting && <p class="notice notice-bad" role="alert"><Visible text={subject.acting} max={1000} /></p>}
			{subject.driving ? (
				<form class="composer-form" onSubmit={send}>
					<textarea rows={2} ref={field} value={text} aria-label="Prompt" placeholder="What is to be done?" onInput={(e) => setText(e.currentTarget.value)}
						onKeyDown={(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) send(e); }} />
					<button type="submit" class="button button-main" disabled={!text.trim()}>{running ? 'Queue' : 'Send'}</button>
					<button type="button" class="button" disabled={!running} onClick={() => void subject.cancel()}>Cancel turn</button>
				</form>
			) : !subject.mayDrive ? (
				<p class="composer-ask muted">{whyNot(subject)}</p>
			) : asking ? (
				<Confirm label="Take over" yes="Take over" no="Keep watching" onYes={() => { setAsking(false); taken.current = true; void subject.takeOver(); }} onNo={() => setAsking(false)}>
					This page becomes the driver. {info && info.watchers > 0 ? 'Whoever drives the session now can no longer prompt in it.' : 'A closed session is opened again.'}
				</Confirm>
			) : (
				<div class="composer-ask">
					<span class="muted">You are watching.</span>
					<button type="button" class="button" onClick={() => setAsking(true)}>Prompt…</button>
				</div>
			)}
		</section>
	);
}

function whyNot({ info, rights }: LiveSubject): string {
	return info?.imported ? 'This session came from a bundle: it can be looked at, and nothing else.'
		: `You are watching. Prompting and answering need a token of the scope drive; this one has ${rights.scope || 'none'}.`;
}
