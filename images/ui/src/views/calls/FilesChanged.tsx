// SPDX-License-Identifier: Apache-2.0
// The files that the agent has read and changed, those that changed first. A name opens the place where it was last touched.
import { useMemo, useState } from 'preact/hooks';
import type { FileTouch } from '../../model/run.ts';
import { plural } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { Visible } from '../text/Visible.tsx';

export interface FilesChangedProps { files: FileTouch[]; onOpen?: (row: number) => void }

const FIRST = 100;

export function FilesChanged({ files, onOpen }: FilesChangedProps) {
	const [shown, show] = useState(FIRST);
	const [all, setAll] = useState(false);
	const sorted = useMemo(() => [...files].sort((a, b) => (a.how === b.how ? (a.path < b.path ? -1 : 1) : a.how === 'changed' ? -1 : 1)), [files]);
	const changed = sorted.filter((f) => f.how === 'changed').length;
	const list = all || !changed ? sorted : sorted.slice(0, changed);
	if (!files.length) return <p class="fileschanged-note">No file was touched.</p>;
	return (
		<div class="fileschanged">
			<p class="fileschanged-note">
				{plural(changed, 'file')} changed, {files.length - changed} only read
				{changed > 0 && changed < files.length && <button type="button" class="button button-quiet" aria-pressed={all} onClick={() => setAll(!all)}>{all ? 'Only changed ones' : 'Also those read'}</button>}
			</p>
			<ul class="fileschanged-list">
				{list.slice(0, shown).map((f) => (
					<li class={`fileschanged-${f.how}`}>
						<Icon name={f.how === 'changed' ? 'edit' : 'read'} label={f.how} />
						{onOpen ? <button type="button" class="fileschanged-open" onClick={() => onOpen(f.row)}><Visible text={f.path} /></button> : <Visible class="fileschanged-path" text={f.path} />}
						{f.times > 1 && <span class="fileschanged-times">{f.times} times</span>}
					</li>
				))}
			</ul>
			{list.length > shown && <button type="button" class="button" onClick={() => show(shown * 3)}>Show {plural(Math.min(shown * 2, list.length - shown), 'more file')}</button>}
		</div>
	);
}
