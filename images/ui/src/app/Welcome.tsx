// SPDX-License-Identifier: Apache-2.0
// The first thing a person sees who is not connected: where the daemon is, its token, or a bundle file.

import { useRef, useState } from 'preact/hooks';
import { cleanBase } from '../net/start.ts';

export interface WelcomeProps {
	base: string;
	problem: string;
	busy: string; // what goes on, in words
	onConnect: (base: string, token: string, keep: boolean) => void;
	onFile: (file: File) => void;
}

export function Welcome({ base, problem, busy, onConnect, onFile }: WelcomeProps) {
	const [url, setUrl] = useState(base);
	const [token, setToken] = useState('');
	const [keep, setKeep] = useState(false);
	const [wrong, setWrong] = useState('');
	const file = useRef<HTMLInputElement>(null);

	const submit = (e: Event): void => {
		e.preventDefault();
		const clean = cleanBase(url);
		setWrong(clean ? '' : 'This is no http or https address.');
		if (clean)
			onConnect(clean, token.trim(), keep);
	};
	return (
		<main class="welcome" id="main">
			<h1>acpd</h1>
			<p class="welcome-lead">Runs of coding agents: what they said and did, what it cost, and what they wait for.</p>
			{(problem || wrong) && <p class="notice notice-bad" role="alert">{wrong || problem}</p>}
			<div class="welcome-ways">
				<form class="card" onSubmit={submit} aria-labelledby="way-daemon">
					<h2 id="way-daemon">A daemon</h2>
					<label>Address
						<input type="text" inputMode="url" value={url} placeholder="https://host:port" autocomplete="off" spellcheck={false}
							required onInput={(e) => setUrl(e.currentTarget.value)} />
					</label>
					<label>Token
						<input type="password" value={token} autocomplete="off" spellcheck={false} onInput={(e) => setToken(e.currentTarget.value)} />
					</label>
					<label class="check">
						<input type="checkbox" checked={keep} onChange={(e) => setKeep(e.currentTarget.checked)} />
						Keep it until this tab is closed
					</label>
					<button type="submit" class="button button-main" disabled={busy !== ''}>Connect</button>
				</form>
				<section class="card" aria-labelledby="way-bundle">
					<h2 id="way-bundle">A bundle file</h2>
					<p>Drop it anywhere on this page, or choose it. It is read here and sent nowhere.</p>
					<input ref={file} type="file" class="hidden-text" tabIndex={-1} aria-label="Bundle file"
						onChange={(e) => { const f = e.currentTarget.files?.[0]; if (f) onFile(f); }} />
					<button type="button" class="button" disabled={busy !== ''} onClick={() => file.current?.click()}>Choose a file…</button>
				</section>
			</div>
			<p class="muted" role="status">{busy}</p>
		</main>
	);
}
