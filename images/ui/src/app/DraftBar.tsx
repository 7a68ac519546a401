// SPDX-License-Identifier: Apache-2.0
// A draft: where it stands, and what can be done with it. What is applied is what is shown: its digest goes along.

import { useState } from 'preact/hooks';
import type { Changes } from '../model/changes.ts';
import type { DraftState } from '../model/run.ts';
import { sayRefusal } from '../net/refusals.ts';
import { bytes, plural } from '../views/text/format.ts';
import { Visible } from '../views/text/Visible.tsx';
import { Confirm } from './Confirm.tsx';
import type { LiveSubject } from './state/live-subject.ts';

export interface DraftBarProps {
	subject: LiveSubject;
	draft: DraftState | null;
	changes: Changes | null; // what is shown
	onDone: () => void;
}

interface Act {
	name: string;
	says: string;
	run: () => Promise<void>;
	done: string;
}

function actsOf({ subject, draft, changes }: DraftBarProps): Act[] {
	if (!draft)
		return [{ name: 'Begin a draft', says: 'From now on the session changes nothing of the workspace until that is applied. Its harness starts again.',
			run: () => subject.draft(true), done: 'The draft has begun.' }];
	const n = changes?.pathsTotal ?? 0;
	const apply = { name: 'Apply', says: `${plural(n, 'path')} of the workspace ${n === 1 ? 'is' : 'are'} changed as shown. That cannot be undone here.`,
		run: () => subject.apply(changes!.digest), done: 'Applied to the workspace.' };
	const drop = { name: 'Drop', says: `${plural(n, 'change')} ${n === 1 ? 'is' : 'are'} thrown away, and the draft ends. That cannot be undone.`,
		run: () => subject.draft(false, true), done: 'Dropped. The session works on the workspace itself.' };
	const end = { name: 'End the draft', says: 'The session works on the workspace itself from now on.', run: () => subject.draft(false), done: 'The draft is off.' };

	return n > 0 ? [apply, drop] : changes ? [end] : [];
}

function Status({ draft }: { draft: DraftState }) {
	return (
		<p class="draft-status">
			<span class="tag tag-warn">draft</span> What the session changes waits {draft.how === 'copy' ? 'in a copy' : 'in a layer above the workspace'}
			{draft.bytes !== undefined && `, ${bytes(draft.bytes)}`}.
			{draft.missing && <> <span class="muted"><Visible text={draft.missing} max={300} /></span></>}
		</p>
	);
}

export function DraftBar(p: DraftBarProps) {
	const [chosen, choose] = useState<Act | null>(null);
	const [busy, setBusy] = useState(false);
	const [said, say] = useState<{ text: string; bad: boolean } | null>(null);
	const run = async (act: Act): Promise<void> => {
		choose(null);
		setBusy(true);
		await act.run().then(() => say({ text: act.done, bad: false }), (e: unknown) => say({ text: sayRefusal(e), bad: true }));
		setBusy(false);
		p.onDone();
	};

	return (
		<div class="draft" role="group" aria-label="Draft">
			{p.draft && <Status draft={p.draft} />}
			<p class={`draft-said ${said?.bad ? 'notice notice-bad' : 'muted'}`} role="status">{said?.text}</p>
			{p.subject.mayDrive && !chosen && (
				<div class="draft-acts">
					{actsOf(p).map((act, i) => <button type="button" key={act.name} class={`button ${i === 0 && act.name === 'Apply' ? 'button-main' : ''}`} disabled={busy} onClick={() => choose(act)}>{act.name}…</button>)}
				</div>
			)}
			{chosen && <Confirm label={chosen.name} yes={chosen.name} no="Keep it as it is" onYes={() => void run(chosen)} onNo={() => choose(null)}>
				{chosen.says}{!p.subject.driving && ' This page becomes the driver of the session.'}
			</Confirm>}
		</div>
	);
}
