// SPDX-License-Identifier: Apache-2.0
// Numbers of tokens and money. Absent never means 0: a sum has a number only if one of its parts had it.

import type { BudgetUse, Cost, Tokens } from './items.ts';
import type { Json } from './event.ts';
import { num, obj, optNum, str } from './read.ts';

const NAMES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens', 'totalTokens'] as const;
// What ACP calls them in the answer to a prompt.
const ACP_NAMES: Record<string, string> = { cacheReadTokens: 'cachedReadTokens', cacheWriteTokens: 'cachedWriteTokens',
	reasoningTokens: 'thoughtTokens' };

export function readTokens(v: Json | undefined): Tokens {
	const o = obj(v);
	const t: Tokens = {};

	for (const name of NAMES) {
		const n = optNum(o[name]) ?? optNum(o[ACP_NAMES[name] ?? '']);
		if (n !== undefined)
			t[name] = n;
	}
	return t;
}

export function readCost(v: Json | undefined): Cost | null {
	const o = obj(v);
	const amount = optNum(o.amount);

	return amount === undefined || typeof o.currency !== 'string' ? null : { amount, currency: o.currency };
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
	const sum: Tokens = {};

	for (const name of NAMES)
		if (a[name] !== undefined || b[name] !== undefined)
			sum[name] = (a[name] ?? 0) + (b[name] ?? 0);
	return sum;
}

/** Of different currencies there is no sum: the first stays. */
export function addCost(a: Cost | null, b: Cost | null): Cost | null {
	if (!a || !b)
		return a ?? b;
	return a.currency === b.currency ? { amount: a.amount + b.amount, currency: a.currency } : a;
}

export function totalOf(t: Tokens): number | undefined {
	if (t.totalTokens !== undefined)
		return t.totalTokens;
	return t.inputTokens === undefined && t.outputTokens === undefined ? undefined : (t.inputTokens ?? 0) + (t.outputTokens ?? 0);
}

export function readBudget(v: Json | undefined): BudgetUse | undefined {
	const o = obj(v);
	const limit = optNum(o.limit);

	return limit === undefined || !o.budget ? undefined
		: { budget: str(o.budget), scope: str(o.scope), limit, used: num(o.used) };
}
