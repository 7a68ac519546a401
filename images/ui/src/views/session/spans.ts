// SPDX-License-Identifier: Apache-2.0
// The geometry of the timeline: spans in lanes, and of those what a window of time shows. Spans that would be closer than a few pixels
// become one mark with a count, so the number of marks depends on the width alone, not on the run.
import type { Span, SpanKind } from '../../model/run.ts';

export interface Range { from: number; to: number } // Unix ms
export interface Placed { start: number; end: number; index: number; reach: number } // index into the spans; reach: the last end so far in its row
export interface Lane { kind: SpanKind; rows: Placed[][] }
export interface Mark { x: number; width: number; count: number; failed: boolean; index: number } // index: of its first span

export const KINDS: readonly SpanKind[] = ['turn', 'model', 'tool', 'wait', 'check'];
export const MARKS = 1200; // in the picture, of all lanes together
const ROWS = 3; // of one lane: calls at the same time
const LEAST = 2; // pixels

export const endOf = (span: Span, now: number): number => Math.max(span.start, span.end || now);

export function rangeOf(spans: readonly Span[], now: number): Range {
	let [from, to] = [Infinity, -Infinity];
	for (const span of spans) {
		from = Math.min(from, span.start);
		to = Math.max(to, endOf(span, now));
	}
	return from <= to ? { from, to: Math.max(to, from + 1) } : { from: 0, to: 1 };
}

// Into the first row that is free; what fits in none is laid over the last one.
export function lanesOf(spans: readonly Span[], now: number): Lane[] {
	const order = spans.map((_, i) => i).sort((a, b) => spans[a]!.start - spans[b]!.start);
	return KINDS.map((kind) => {
		const rows: Placed[][] = [];
		for (const index of order) {
			const span = spans[index]!;
			if (span.kind !== kind) continue;
			let row = rows.find((r) => r.at(-1)!.reach <= span.start);
			if (!row && rows.length < ROWS) rows.push(row = []);
			row ??= rows.at(-1)!;
			const end = endOf(span, now);
			row.push({ start: span.start, end, index, reach: Math.max(end, row.at(-1)?.reach ?? 0) });
		}
		return { kind, rows };
	}).filter((lane) => lane.rows.length);
}

// The first that can be seen. Spans of a row may overlap, and a long one may begin far to the left.
function firstAt(row: readonly Placed[], from: number): number {
	let [low, high] = [0, row.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (row[middle]!.reach < from) low = middle + 1;
		else high = middle;
	}
	return low;
}

function marksOf(row: readonly Placed[], spans: readonly Span[], range: Range, width: number, apart: number): Mark[] {
	const scale = width / (range.to - range.from);
	const out: Mark[] = [];
	for (let i = firstAt(row, range.from); i < row.length && row[i]!.start <= range.to; i++) {
		const { start, end, index } = row[i]!;
		if (end < range.from) continue;
		const x = Math.max(0, (start - range.from) * scale);
		const right = Math.max(Math.min(width, (end - range.from) * scale), x + LEAST);
		const last = out.at(-1);
		const failed = Boolean(spans[index]!.failed);
		if (last && x < last.x + apart) {
			last.width = Math.max(last.width, right - last.x);
			last.count++;
			last.failed ||= failed;
		} else out.push({ x, width: right - x, count: 1, failed, index });
	}
	return out;
}

// The marks of each row of each lane.
export function picture(lanes: readonly Lane[], spans: readonly Span[], range: Range, width: number): Mark[][][] {
	for (let apart = LEAST + 1; ; apart *= 2) {
		const marks = lanes.map((lane) => lane.rows.map((row) => marksOf(row, spans, range, width, apart)));
		if (marks.flat(2).length <= MARKS || apart > width) return marks;
	}
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000];

// Times to write under the picture, counted from zero.
export function ticks(range: Range, zero: number, width: number): { at: number; step: number }[] {
	const wanted = (range.to - range.from) / Math.max(1, Math.floor(width / 90));
	const step = STEPS.find((s) => s >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
	const out: { at: number; step: number }[] = [];
	for (let at = zero + Math.ceil((range.from - zero) / step) * step; at <= range.to && out.length < 60; at += step) out.push({ at, step });
	return out;
}

// The window made smaller or larger around a time, never beyond the whole and never below 10 ms.
export function zoomed(range: Range, whole: Range, factor: number, around: number): Range {
	const length = Math.min(whole.to - whole.from, Math.max(10, (range.to - range.from) * factor));
	const part = (around - range.from) / (range.to - range.from);
	return held({ from: around - length * part, to: around + length * (1 - part) }, whole);
}

export function held(range: Range, whole: Range): Range {
	const length = Math.min(range.to - range.from, whole.to - whole.from);
	const from = Math.min(Math.max(range.from, whole.from), whole.to - length);
	return { from, to: from + length };
}

export const seekStep = (length: number): number => Math.max(1, Math.round(length / 1000));

// The place that a slider means. Its last step may be a short one, which it cannot reach: its end is the end.
export const seekPlace = (at: number, length: number): number => (at + seekStep(length) > length ? length : at);
