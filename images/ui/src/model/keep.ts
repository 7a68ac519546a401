// SPDX-License-Identifier: Apache-2.0
// Lists that have a greatest length: the oldest go.

import type { Run, Span } from './run.ts';
import { SPANS_MAX } from './limits.ts';

/** Drops the oldest tenth when there are too many; how many that were. */
export function shorten(list: unknown[], max: number): number {
	const gone = list.length > max ? list.length - Math.floor(max * 0.9) : 0;

	list.splice(0, gone);
	return gone;
}

export function keep<T>(to: T[], one: T, max: number): void {
	to.push(one);
	if (to.length > max)
		to.splice(0, to.length - max);
}

/** Spans are in the order of their beginnings. One that is told of late goes to its place, which is near the end. */
export function keepSpan(run: Run, span: Span): Span {
	let at = run.spans.length;

	while (at > 0 && run.spans[at - 1]!.start > span.start)
		at--;
	run.spans.splice(at, 0, span);
	run.spansLeftOut += shorten(run.spans, SPANS_MAX);
	return span;
}
