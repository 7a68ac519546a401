// SPDX-License-Identifier: Apache-2.0
// Where the time went: turns, model calls, tool calls, waiting for people, checks.

import type { Subject } from './subject.ts';
import { duration } from '../views/format.ts';
import { Visible } from '../views/Visible.tsx';
import { None } from './panes.tsx';

const SHOWN = 200;

export function TimelinePane({ subject, onShow }: { subject: Subject; onShow: (row: number) => void }) {
	const { run } = subject;

	if (!run.spans.length)
		return <None>No turn has begun.</None>;
	return (
		<ul class="pane-files">
			{run.spans.slice(-SHOWN).map((s) => (
				<li>
					<button type="button" class="button button-quiet" onClick={() => onShow(s.row ?? 0)}>{s.kind} <Visible text={s.label} max={100} /></button>
					<span class="muted">{s.end ? duration(s.end - s.start) : 'goes on'}</span>
				</li>
			))}
		</ul>
	);
}
