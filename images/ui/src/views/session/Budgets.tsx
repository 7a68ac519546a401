// SPDX-License-Identifier: Apache-2.0
// Budgets as gauges: how much of each is used.
import type { BudgetUse } from '../../model/items.ts';
import { count, duration, money } from '../text/format.ts';
import { plain } from '../text/visible.ts';

export interface BudgetsProps { budgets: BudgetUse[] }

const NAMES: ReadonlyMap<string, [string, (n: number) => string]> = new Map<string, [string, (n: number) => string]>([
	['steps', ['Model calls', count]], ['toolCalls', ['Tool calls', count]], ['seconds', ['Time', (n) => duration(n * 1000)]], ['tokens', ['Tokens', count]], ['cost', ['Cost', (n) => money(n)]],
]);

const WARN = 0.8; // the daemon warns there, too

function Gauge({ budget: b }: { budget: BudgetUse }) {
	const [name, show] = NAMES.get(b.budget) ?? [plain(b.budget), count];
	const part = b.limit > 0 ? Math.min(1, Math.max(0, b.used / b.limit)) : 1;
	const state = b.used >= b.limit ? 'spent' : part >= WARN ? 'near' : 'fine';
	const words = { spent: 'used up', near: 'nearly used up', fine: '' }[state];
	const value = `${show(b.used)} of ${show(b.limit)}${words ? `, ${words}` : ''}`;
	return (
		<div class={`budgets-one budgets-${state}`}>
			<div class="budgets-head"><span>{name} <span class="budgets-scope">of the {plain(b.scope)}</span></span><span class="budgets-value">{show(b.used)} / {show(b.limit)}{words && ` · ${words}`}</span></div>
			<div class="budgets-track" role="meter" aria-label={`${name} of the ${plain(b.scope)}`} aria-valuemin={0} aria-valuemax={Math.max(b.limit, 0)} aria-valuenow={Math.min(b.used, b.limit)} aria-valuetext={value}>
				<div class="budgets-bar" style={{ width: `${part * 100}%` }} />
			</div>
		</div>
	);
}

export function Budgets({ budgets }: BudgetsProps) {
	if (!budgets.length) return <p class="budgets-none">No budget is set.</p>;
	return <div class="budgets">{budgets.map((b) => <Gauge key={`${b.scope} ${b.budget}`} budget={b} />)}</div>;
}
