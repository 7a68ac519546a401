// SPDX-License-Identifier: Apache-2.0
// Usage -> bars of a chart: by turn or by model, of tokens or of money. Of many turns several become one bar.
import type { ModelCall, ModelUse, Turn } from '../../model/run.ts';
import type { Tokens } from '../../model/items.ts';

export type By = 'turn' | 'model';
export type Measure = 'tokens' | 'cost';
export interface Bar { label: string; parts: number[]; total: number } // one part for each series
export interface Chart { series: string[]; bars: Bar[]; currency: string }

export const BARS = 60;
const MODELS = 7; // with a colour of their own; the others together are the eighth
const TOKENS = ['Input', 'Read from cache', 'Written to cache', 'Output', 'Reasoning'];

const n = (v: number | undefined): number => (typeof v === 'number' && Number.isFinite(v) && v > 0 ? v : 0);

// Disjoint parts: input has what was cached in it, and output the reasoning (usage.md).
export function tokenParts(t: Tokens): number[] {
	const [read, written, reasoning] = [n(t.cacheReadTokens), n(t.cacheWriteTokens), n(t.reasoningTokens)];
	return [Math.max(0, n(t.inputTokens) - read - written), read, written, Math.max(0, n(t.outputTokens) - reasoning), reasoning];
}

const add = (a: number[], b: readonly number[]): void => b.forEach((v, i) => { a[i] = (a[i] ?? 0) + v; });

const bar = (label: string, parts: number[]): Bar => ({ label, parts, total: parts.reduce((sum, v) => sum + v, 0) });

// Consecutive bars become one until there are few enough.
function grouped(bars: readonly Bar[]): Bar[] {
	const per = Math.ceil(bars.length / BARS);
	if (per <= 1) return [...bars];
	return Array.from({ length: Math.ceil(bars.length / per) }, (_, i) => {
		const group = bars.slice(i * per, (i + 1) * per);
		const parts: number[] = [];
		for (const b of group) add(parts, b.parts);
		return bar(group.length > 1 ? `${group[0]!.label}–${group.at(-1)!.label}` : group[0]!.label, parts);
	});
}

// Series that are all nothing are left out.
function slim(chart: Chart): Chart {
	const used = chart.series.map((_, i) => chart.bars.some((b) => n(b.parts[i]) > 0));
	return { ...chart, series: chart.series.filter((_, i) => used[i]), bars: chart.bars.map((b) => ({ ...b, parts: used.flatMap((on, i) => (on ? [n(b.parts[i])] : [])) })) };
}

function costByTurn(turns: readonly Turn[], calls: readonly ModelCall[], models: readonly ModelUse[]): Pick<Chart, 'series' | 'bars'> {
	const named = models.slice(0, MODELS).map((m) => m.model);
	const series = [...named, ...(models.length > MODELS ? ['Other models'] : []), 'Not told by model'];
	const rest = series.length - 1;
	const parts = new Map(turns.map((t) => [t.n, series.map(() => 0)]));
	for (const call of calls) {
		const at = named.indexOf(call.model);
		const of = parts.get(call.turn);
		if (of) of[at >= 0 ? at : Math.min(MODELS, rest)]! += n(call.cost?.amount);
	}
	for (const turn of turns) {
		const of = parts.get(turn.n)!;
		of[rest] = n(n(turn.cost?.amount) - of.reduce((sum, v) => sum + v, 0));
		if (of[rest]! < 1e-9) of[rest] = 0;
	}
	return { series, bars: grouped(turns.map((t) => bar(String(t.n), parts.get(t.n)!))) };
}

export function chartOf(by: By, measure: Measure, turns: readonly Turn[], calls: readonly ModelCall[], models: readonly ModelUse[]): Chart {
	const currency = [...turns, ...models].find((t) => t.cost)?.cost?.currency ?? 'USD';
	if (by === 'model') {
		const bars = models.map((m) => bar(m.model, measure === 'cost' ? [n(m.cost?.amount)] : tokenParts(m.usage)));
		return slim({ series: measure === 'cost' ? ['Cost'] : TOKENS, bars: bars.sort((a, b) => b.total - a.total).slice(0, BARS), currency });
	}
	if (measure === 'tokens') return slim({ series: TOKENS, bars: grouped(turns.map((t) => bar(String(t.n), tokenParts(t.usage)))), currency });
	return slim({ ...costByTurn(turns, calls, models), currency });
}

// A round number at or above the highest bar.
export function ceiling(highest: number): number {
	if (!(highest > 0)) return 1;
	const unit = 10 ** Math.floor(Math.log10(highest));
	return ([1, 2, 2.5, 5, 10].find((v) => v * unit >= highest * 0.9999) ?? 10) * unit;
}
