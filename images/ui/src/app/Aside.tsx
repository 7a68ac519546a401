// SPDX-License-Identifier: Apache-2.0
// What holds for the session now: what it used, its plan, budgets, context and queue.

import type { ComponentChildren } from 'preact';
import type { Run, SessionInfo } from '../model/run.ts';
import { totalOf } from '../model/usage.ts';
import { Budgets } from '../views/session/Budgets.tsx';
import { count, money } from '../views/text/format.ts';
import { Plan } from '../views/turn/Plan.tsx';
import { Queue } from '../views/turn/Queue.tsx';
import { Visible } from '../views/text/Visible.tsx';

export interface AsideProps {
	run: Run;
	info: SessionInfo | null; // null: as of some moment of a replay
	sent: string[]; // prompts of this page that wait
}

export function Aside({ run, info, sent }: AsideProps) {
	const budgets = info?.budgets.length ? info.budgets : run.budgets;
	const plans = run.plans.filter((p) => p.entries.length || p.markdown);

	return (
		<aside class="aside" aria-label="State of the session">
			<Facts run={run} info={info} />
			{plans.map((plan) => <Part key={plan.id} name="Plan"><Plan plan={plan} /></Part>)}
			{budgets.length > 0 && <Part name="Budgets"><Budgets budgets={budgets} /></Part>}
			{info && (info.queued > 0 || info.waiting) && <Part name="Queue"><Queue queued={info.queued} prompts={sent} waiting={info.waiting} /></Part>}
		</aside>
	);
}

function Part({ name, children }: { name: string; children: ComponentChildren }) {
	return <section><h2 class="aside-name">{name}</h2>{children}</section>;
}

function Facts({ run, info }: { run: Run; info: SessionInfo | null }) {
	const cost = run.cost ?? info?.cost ?? run.harnessCost;
	const tokens = totalOf(run.usage);
	const { context } = run;

	return (
		<Part name="So far">
			<dl class="facts">
				<dt>Turns</dt><dd>{run.turns.length + run.turnsLeftOut}</dd>
				{tokens !== undefined && <><dt>Tokens</dt><dd>{count(tokens)}</dd></>}
				{cost && cost.amount > 0 && <><dt>Cost</dt><dd>{money(cost.amount, cost.currency)}</dd></>}
				{context && context.size > 0 && context.used > 0 && <><dt>Context</dt><dd>{count(context.used)} of {count(context.size)}</dd></>}
				{run.mode && <><dt>Mode</dt><dd><Visible text={run.mode} max={60} /></dd></>}
				{run.draft?.on && <><dt>Draft</dt><dd>on</dd></>}
				<dt>Events</dt><dd>{count(run.events)}</dd>
			</dl>
		</Part>
	);
}
