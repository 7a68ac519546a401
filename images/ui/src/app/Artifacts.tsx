// SPDX-License-Identifier: Apache-2.0
// Files that a session has left besides its history, to be saved.

import { useState } from 'preact/hooks';
import type { Artifact } from '../model/items.ts';
import { sayRefusal } from '../net/refusals.ts';
import { bytes, plural } from '../views/text/format.ts';
import { Visible } from '../views/text/Visible.tsx';
import type { Subject } from './state/subject.ts';

const SHOWN = 100;

export function Artifacts({ subject, list }: { subject: Subject; list: Artifact[] }) {
	const [problem, setProblem] = useState('');
	const save = async (a: Artifact): Promise<void> => {
		try {
			saveAs(await subject.artifact(a), a.name);
			setProblem('');
		} catch (e) {
			setProblem(sayRefusal(e));
		}
	};

	if (!list.length)
		return null;
	return (
		<section>
			<h2 class="aside-name">Artifacts</h2>
			{problem && <p class="notice notice-bad" role="alert">{problem}</p>}
			<ul class="artifacts">
				{list.slice(-SHOWN).toReversed().map((a) => (
					<li key={a.id}>
						<button type="button" class="button" onClick={() => void save(a)}>Save <Visible text={a.name} max={200} /></button>
						<span class="muted">{bytes(a.size)}{a.turn ? `, turn ${a.turn}` : ''}</span>
					</li>
				))}
			</ul>
			{list.length > SHOWN && <p class="muted">{plural(list.length - SHOWN, 'older one')} not listed.</p>}
		</section>
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
