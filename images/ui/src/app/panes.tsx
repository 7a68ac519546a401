// SPDX-License-Identifier: Apache-2.0
// The other sides of a session: what changed, servers, errors, checks, artifacts. Each takes data and says so when there is none.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Artifact } from '../model/items.ts';
import type { McpServer, Run } from '../model/run.ts';
import { bytes, clock, plural } from '../views/format.ts';
import { Diff } from '../views/Diff.tsx';
import { Visible } from '../views/Visible.tsx';
import { Check } from './Check.tsx';
import type { Subject } from './subject.ts';

export function None({ children }: { children: ComponentChildren }) {
	return <p class="pane-none muted">{children}</p>;
}

const SERVER_TAGS: Record<string, string> = { ready: 'tag-ok', connected: 'tag-ok', running: 'tag-ok', failed: 'tag-bad' };

export function ServersPane({ servers }: { servers: McpServer[] }) {
	if (!servers.length)
		return <None>This session has no MCP servers.</None>;
	return (
		<ul class="pane-list">
			{servers.map((s) => (
				<li>
					<strong><Visible text={s.name} max={120} /></strong> {s.type && <span class="muted">{s.type}</span>}
					<span class={`tag ${SERVER_TAGS[s.state] ?? ''}`}>{s.state || 'unknown'}</span>
					{s.tools !== undefined && <span class="muted">{plural(s.tools, 'tool')}</span>}
					{s.error && <p class="notice notice-bad"><Visible text={s.error} max={1000} /></p>}
				</li>
			))}
		</ul>
	);
}

export function ErrorsPane({ run, onShow }: { run: Run; onShow: (row: number) => void }) {
	if (!run.errors.length)
		return <None>Nothing has gone wrong.</None>;
	return (
		<ul class="pane-list">
			{run.errors.toReversed().map((e) => (
				<li>
					<button type="button" class="button button-quiet" onClick={() => onShow(e.row)}>Turn {e.turn}</button>
					<span class="muted">{clock(e.at - run.firstAt)}</span>
					<p class="notice notice-bad"><Visible text={e.text} max={2000} /></p>
					{e.retryable && <span class="muted">It may work when it is tried again.</span>}
				</li>
			))}
		</ul>
	);
}

export function ChecksPane({ run, onShow }: { run: Run; onShow: (row: number) => void }) {
	if (!run.checks.length)
		return <None>No checks have run.</None>;
	return (
		<ul class="pane-list">
			{run.checks.toReversed().map((c) => (
				<li key={c.row}>
					<button type="button" class="button button-quiet" onClick={() => onShow(c.row)}>{c.turn ? `Turn ${c.turn}` : 'By hand'}</button>
					<Check check={c.check} />
				</li>
			))}
		</ul>
	);
}

export function FilesPane({ subject, onShow }: { subject: Subject; onShow: (row: number) => void }) {
	const [patch, setPatch] = useState<string | null>(null);
	const [problem, setProblem] = useState('');
	const { run } = subject;
	const changed = run.files.filter((f) => f.how === 'changed');
	const ended = subject.whole.turns.length - (subject.whole.open ? 1 : 0);

	useEffect(() => {
		let gone = false;
		subject.patch().then((p) => { if (!gone) { setPatch(p); setProblem(''); } },
			(e: unknown) => { if (!gone) setProblem(e instanceof Error ? e.message : String(e)); });
		return () => { gone = true; };
	}, [subject, ended]);
	return (
		<div class="files">
			{patch ? <Diff patch={patch} /> : <None>{problem || (patch === '' ? 'Nothing has changed since the session began.' : 'Loading the changes…')}</None>}
			{changed.length > 0 && <h3>Changed by tools</h3>}
			<FileList files={changed} onShow={onShow} />
			{run.files.length > changed.length && <h3>Read</h3>}
			<FileList files={run.files.filter((f) => f.how === 'read')} onShow={onShow} />
			<Artifacts subject={subject} list={run.artifacts} />
		</div>
	);
}

const FILES_SHOWN = 200;

function FileList({ files, onShow }: { files: Run['files']; onShow: (row: number) => void }) {
	return (
		<ul class="pane-files">
			{files.slice(0, FILES_SHOWN).map((f) => (
				<li key={f.path}>
					<button type="button" class="button button-quiet" onClick={() => onShow(f.row)}><Visible text={f.path} max={300} /></button>
					<span class="muted">{f.times > 1 ? `${f.times} times` : ''}</span>
				</li>
			))}
			{files.length > FILES_SHOWN && <li class="muted">{plural(files.length - FILES_SHOWN, 'more file')}</li>}
		</ul>
	);
}

function Artifacts({ subject, list }: { subject: Subject; list: Artifact[] }) {
	const [problem, setProblem] = useState('');
	const save = async (a: Artifact): Promise<void> => {
		try {
			saveAs(await subject.artifact(a), a.name);
			setProblem('');
		} catch (e) {
			setProblem(e instanceof Error ? e.message : String(e));
		}
	};

	if (!list.length)
		return null;
	return (
		<>
			<h3>Artifacts</h3>
			{problem && <p class="notice notice-bad" role="alert">{problem}</p>}
			<ul class="pane-files">
				{list.slice(-FILES_SHOWN).toReversed().map((a) => (
					<li key={a.id}>
						<button type="button" class="button button-quiet" onClick={() => void save(a)}>Save <Visible text={a.name} max={200} /></button>
						<span class="muted">{bytes(a.size)} · {a.source}</span>
					</li>
				))}
			</ul>
		</>
	);
}

/** As a file without a type: nothing of it is opened by the browser. */
function saveAs(blob: Blob, name: string): void {
	const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
	const a = document.createElement('a');

	a.href = url;
	a.download = name.replace(/[^\w.-]+/g, '_').slice(-120) || 'artifact';
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
