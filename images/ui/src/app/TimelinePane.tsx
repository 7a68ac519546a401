// SPDX-License-Identifier: Apache-2.0
// Where the time went.

import type { Span } from '../model/run.ts';
import type { Subject } from './state/subject.ts';
import { Timeline } from '../views/session/Timeline.tsx';

export function TimelinePane({ subject, onShow }: { subject: Subject; onShow: (row: number) => void }) {
	const { run } = subject;
	const open = (span: Span): void => { if (span.row !== undefined) onShow(span.row); };

	return <Timeline spans={spansOf(subject)} now={nowOf(subject)} leftOut={run.spansLeftOut} at={subject.player?.position} onOpen={open} />;
}

/** What goes on goes on until now, or until the end of what is known. */
function nowOf(subject: Subject): number {
	if (subject.player)
		return subject.player.position;
	return subject.isLive && subject.run.open ? Math.max(Date.now(), subject.run.lastAt) : subject.run.lastAt;
}

/** The ledger is of the whole run: a replay takes from it the model calls that had begun by then. */
function spansOf({ run, whole, player }: Subject): Span[] {
	if (!player)
		return run.spans;
	const calls = whole.spans.filter((s) => s.kind === 'model' && s.start <= player.position);

	return [...run.spans, ...calls.map((s) => (s.end > player.position ? { ...s, end: 0, failed: false } : s))];
}
