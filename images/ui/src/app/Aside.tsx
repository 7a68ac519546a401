// SPDX-License-Identifier: Apache-2.0
// What holds for the session now: its plan, budgets, context and queue.

import type { BudgetUse } from '../model/items.ts';
import type { SessionInfo, Run } from '../model/run.ts';
import { totalOf } from '../model/usage.ts';
import { budgetName } from '../model/words.ts';
import { count, money, plural } from '../views/format.ts';
import { PlanList } from './PlanRow.tsx';

export interface AsideProps {
	run: Run;
	info: SessionInfo | null;
	live: boolean;
}

export function Aside({ run, info, live }: AsideProps) {
	const budgets = (live && info?.budgets.length ? info.budgets : run.budgets);
	const plans = run.plans.filter((p) => p.entries.length || p.markdown);

	return (
		<aside class="aside" aria-label="State of the session">
			<Facts run={run} info={info} />
			{plans.map((plan) => <section><h3>Plan</h3><PlanList plan={plan} /></section>)}
			{(budgets.length > 0 || run.context) && (
				<section>
					<h3>Budgets</h3>
					{run.context && run.context.size > 0 && <Gauge name="context of the model" used={run.context.used} limit={run.context.size} text={`${count(run.context.used)} of ${count(run.context.size)}`} />}
					{budgets.map((b) => <Gauge name={budgetName(b)} used={b.used} limit={b.limit} text={amounts(b)} />)}
				</section>
			)}
			{live && info && info.queued > 0 && <section><h3>Queue</h3><p>{plural(info.queued, 'prompt waits', 'prompts wait')} for the turn that runs.</p></section>}
		</aside>
	);
}

function amounts(b: BudgetUse): string {
	return b.budget === 'cost' ? `${money(b.used)} of ${money(b.limit)}` : `${count(b.used)} of ${count(b.limit)}`;
}

function Gauge({ name, used, limit, text }: { name: string; used: number; limit: number; text: string }) {
	const part = limit > 0 ? Math.min(1, used / limit) : 0;

	return (
		<div class="gauge">
			<span class="gauge-name">{name}</span><span class="gauge-text">{text}</span>
			<div class={`gauge-bar ${part >= 1 ? 'gauge-full' : part >= 0.8 ? 'gauge-near' : ''}`} role="meter" aria-label={name} aria-valuemin={0}
				aria-valuemax={limit} aria-valuenow={Math.min(used, limit)} aria-valuetext={text}>
				<div style={{ width: `${part * 100}%` }} />
			</div>
		</div>
	);
}

function Facts({ run, info }: { run: Run; info: SessionInfo | null }) {
	const cost = run.cost ?? info?.cost ?? run.harnessCost;
	const tokens = totalOf(run.usage);

	return (
		<section>
			<h3>So far</h3>
			<dl class="facts">
				<dt>Turns</dt><dd>{run.turns.length + run.turnsLeftOut}</dd>
				{tokens !== undefined && <><dt>Tokens</dt><dd>{count(tokens)}</dd></>}
				{cost && cost.amount > 0 && <><dt>Cost</dt><dd>{money(cost.amount, cost.currency)}</dd></>}
				{run.mode && <><dt>Mode</dt><dd>{run.mode}</dd></>}
				<dt>Events</dt><dd>{count(run.events)}</dd>
			</dl>
		</section>
	);
}
