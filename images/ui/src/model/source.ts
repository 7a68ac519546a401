// SPDX-License-Identifier: Apache-2.0
// Where events come from: a daemon or a bundle. The viewer reads a session from the start, once, and pieces of it again.

import type { RawEvent } from './event.ts';

export interface Batch {
	events: RawEvent[];
	sizes: number[]; // of each, about what it takes in memory
	bad: number; // lines that were no events
}

export interface Range {
	since: number; // events with a greater seq
	until?: number; // up to this one, and no further
	signal: AbortSignal;
}

export interface Source {
	/** Ends with the event that was the newest at the request. */
	read(range: Range): AsyncIterable<Batch>;
}
