// SPDX-License-Identifier: Apache-2.0
// What differs in the workspace: read when it is looked at, and again when a turn has ended. With a draft it is what the draft would
// change, to be applied or dropped.

import { useEffect, useState } from 'preact/hooks';
import type { Changes as Data } from '../model/changes.ts';
import { sayRefusal } from '../net/refusals.ts';
import { Diff } from '../views/calls/Diff.tsx';
import { plural } from '../views/text/format.ts';
import { Visible } from '../views/text/Visible.tsx';
import { DraftBar } from './DraftBar.tsx';
import { LiveSubject } from './state/live-subject.ts';
import type { Subject } from './state/subject.ts';

const SHOWN = 200;

interface Reading {
	data: Data | null;
	problem: string;
	again: () => void;
}

function useChanges(subject: Subject, wanted: boolean): Reading {
	const [read, setRead] = useState<Omit<Reading, 'again'>>({ data: null, problem: '' });
	const [times, setTimes] = useState(0);
	const ended = subject.whole.turns.length - (subject.whole.open ? 1 : 0);
	const draft = subject.info?.draft?.how ?? '';

	useEffect(() => {
		let gone = false;
		if (wanted)
			subject.changes().then((data) => { if (!gone) setRead({ data, problem: '' }); },
				(e: unknown) => { if (!gone) setRead({ data: null, problem: sayRefusal(e) }); });
		return () => { gone = true; };
	}, [subject, ended, draft, times, wanted]);
	return { ...read, again: () => setTimes((n) => n + 1) };
}

export function Changes({ subject }: { subject: Subject }) {
	const [asked, ask] = useState(false);
	const wanted = asked || !subject.farChanges;
	const { data, problem, again } = useChanges(subject, wanted);
	const live = subject instanceof LiveSubject ? subject : null;
	const draft = live?.info?.draft ?? null;

	return (
		<section class="changes">
			<h2 class="aside-name">{draft ? 'Changes of the draft' : 'Changes of the workspace'}</h2>
			{live && (draft || live.mayDrive) && <DraftBar subject={live} draft={draft} changes={data} onDone={again} />}
			{!wanted && <p class="muted">{subject.farChanges} <button type="button" class="button" onClick={() => ask(true)}>Fetch it</button></p>}
			{wanted && !data && <p class="muted" role="status">{problem || 'Loading…'}</p>}
			{data && <Shown data={data} />}
		</section>
	);
}

const HOW: Record<string, string> = { new: 'new', gone: 'removed', changed: 'changed' };

function Shown({ data }: { data: Data }) {
	return (
		<>
			{data.conflictsTotal > 0 && (
				<div class="notice notice-warn">
					<p>{plural(data.conflictsTotal, 'path')} changed in the workspace itself since the draft began:</p>
					<ul>{data.conflicts.slice(0, SHOWN).map((path) => <li><Visible text={path} /></li>)}</ul>
				</div>
			)}
			{data.patch ? <Diff patch={data.patch} /> : <p class="muted">{data.pathsTotal ? 'No text differs.' : 'Nothing has changed since the session began.'}</p>}
			{data.pathsTotal > 0 && (
				<details class="changes-paths">
					<summary>{plural(data.pathsTotal, 'path')} in all</summary>
					<ul>{data.paths.slice(0, SHOWN).map((p) => <li><span class="tag">{HOW[p.how]}</span> <Visible text={p.path} /> <span class="muted">{p.type === 'file' ? '' : p.type}</span></li>)}</ul>
					{data.pathsTotal > SHOWN && <p class="muted">{plural(data.pathsTotal - SHOWN, 'more path')} not listed.</p>}
				</details>
			)}
			{data.omittedTotal > 0 && (
				<details class="changes-paths">
					<summary>{plural(data.omittedTotal, 'path')} not in the patch</summary>
					<ul>{data.omitted.slice(0, SHOWN).map((o) => <li><Visible text={o.path} /> <span class="muted">{o.reason}</span></li>)}</ul>
				</details>
			)}
		</>
	);
}
