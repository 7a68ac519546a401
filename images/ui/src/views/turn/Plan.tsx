// SPDX-License-Identifier: Apache-2.0
// The agent's plan: what is done, what it is at, what is to come.
import type { Plan as Data } from '../../model/items.ts';
import { plural } from '../text/format.ts';
import { Icon } from '../text/Icon.tsx';
import { Markdown } from '../text/Markdown.tsx';
import { Visible } from '../text/Visible.tsx';

export interface PlanProps { plan: Data }

const STATUS: ReadonlyMap<string, string> = new Map([['pending', 'to do'], ['in_progress', 'at work'], ['completed', 'done']]);

export function Plan({ plan }: PlanProps) {
	if (plan.removed) return <p class="plan-note">The plan was taken back.</p>;
	const done = plan.entries.filter((e) => e.status === 'completed').length;
	return (
		<div class="plan">
			{plan.markdown && <Markdown text={plan.markdown} />}
			{plan.entries.length > 0 && (
				<>
					<p class="plan-note">{done} of {plural(plan.entries.length, 'step')} done</p>
					<ol class="plan-list">
						{plan.entries.map((entry) => (
							<li class={`plan-entry plan-${STATUS.has(entry.status) ? entry.status : 'pending'}`}>
								<Icon name={entry.status === 'in_progress' ? 'play' : entry.status} label={STATUS.get(entry.status) ?? entry.status} />
								<Visible class="plan-text" text={entry.content} max={2000} />
								{entry.priority === 'high' && entry.status !== 'completed' && <span class="tag tag-warn">high</span>}
							</li>
						))}
					</ol>
				</>
			)}
			{!plan.markdown && !plan.entries.length && <p class="plan-note">The plan is empty.</p>}
		</div>
	);
}
