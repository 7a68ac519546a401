// SPDX-License-Identifier: Apache-2.0
// A plan: its entries and how far they are.

import type { Plan } from '../model/items.ts';
import { Markdown } from '../views/Markdown.tsx';
import { Visible } from '../views/Visible.tsx';

const MARKS: Record<string, string> = { completed: '✓', in_progress: '▸', pending: '○' };
const WORDS: Record<string, string> = { completed: 'done', in_progress: 'in progress', pending: 'to do' };

export function PlanList({ plan }: { plan: Plan }) {
	if (plan.markdown)
		return <Markdown text={plan.markdown} />;
	return (
		<ol class="plan">
			{plan.entries.map((e) => (
				<li class={`plan-entry plan-${e.status}`}>
					<span aria-hidden="true" class="plan-mark">{MARKS[e.status] ?? '○'}</span>
					<span class="hidden-text">{WORDS[e.status] ?? e.status}: </span>
					<Visible text={e.content} max={500} />
				</li>
			))}
		</ol>
	);
}

export function PlanRow({ plan }: { plan: Plan }) {
	const done = plan.entries.filter((e) => e.status === 'completed').length;

	if (plan.removed)
		return <div class="note">The plan was removed</div>;
	return (
		<div class="plan-row">
			<p class="plan-head">Plan{plan.entries.length > 0 && <span class="muted"> {done} of {plan.entries.length}</span>}</p>
			<PlanList plan={plan} />
		</div>
	);
}
