// SPDX-License-Identifier: Apache-2.0
// The other sides of a session: what changed, errors, checks. Each says so when there is nothing.

import { useMemo } from 'preact/hooks';
import type { Run } from '../model/run.ts';
import { Checks } from '../views/turn/Checks.tsx';
import { ErrorWords } from '../views/turn/ErrorWords.tsx';
import { FilesChanged } from '../views/calls/FilesChanged.tsx';
import { clock } from '../views/text/format.ts';
import { Visible } from '../views/text/Visible.tsx';
import { Artifacts } from './Artifacts.tsx';
import { Changes } from './Changes.tsx';
import type { Subject } from './state/subject.ts';

const SHOWN = 100;

export function ErrorsPane({ run, onShow }: { run: Run; onShow: (row: number) => void }) {
	if (!run.errors.length)
		return <p class="muted">Nothing has gone wrong.</p>;
	return (
		<ol class="pane-list">
			{run.errors.slice(-SHOWN).toReversed().map((e) => (
				<li key={e.row}>
					<p><button type="button" class="button button-quiet" onClick={() => onShow(e.row)}>Turn {e.turn}</button> <span class="muted">{clock(e.at - run.firstAt)}</span></p>
					{e.error ? <ErrorWords error={e.error} /> : <p class="notice notice-bad"><Visible text={e.text} max={2000} /></p>}
				</li>
			))}
		</ol>
	);
}

export function ChecksPane({ run, onShow }: { run: Run; onShow: (row: number) => void }) {
	const turns = [...new Set(run.checks.map((c) => c.turn))].slice(-SHOWN).reverse();

	if (!turns.length)
		return <p class="muted">No check has run.</p>;
	return (
		<ol class="pane-list">
			{turns.map((n) => {
				const of = run.checks.filter((c) => c.turn === n);
				const turn = run.turns.find((t) => t.n === n);
				return (
					<li key={n}>
						<p><button type="button" class="button button-quiet" onClick={() => onShow(of[0]!.row)}>{n ? `Turn ${n}` : 'Outside turns'}</button></p>
						<Checks checks={of.map((c) => c.check)} verdict={turn?.verdict} />
					</li>
				);
			})}
		</ol>
	);
}

export function FilesPane({ subject, onShow }: { subject: Subject; onShow: (row: number) => void }) {
	const { run } = subject;
	const cwd = `${subject.info?.cwd ?? ''}/`;
	const files = useMemo(() => run.files.map((f) => (f.path.startsWith(cwd) ? { ...f, path: f.path.slice(cwd.length) } : f)), [run.files.length, run.events, cwd]);

	return (
		<div class="files">
			<FilesChanged files={files} onOpen={onShow} />
			{!subject.player && <Changes subject={subject} />}
			<Artifacts subject={subject} list={run.artifacts} />
		</div>
	);
}
