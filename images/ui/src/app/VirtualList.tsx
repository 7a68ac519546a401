// SPDX-License-Identifier: Apache-2.0
// A list of any length of which only what is seen, and a little around it, is in the page: ROWS_MAX at most. It keeps its place while
// heights become known, and its end while it grows, if the end was seen.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Heights } from '../model/heights.ts';

const ROWS_MAX = 240;
const AROUND = 6; // rows before and behind what is seen
const ESTIMATE = 64; // px
const NEAR_END = 48; // px

export interface ListHandle {
	show(i: number): void; // brings a row into sight
	end(): void;
	focus(i: number): void; // shows it and gives it the focus
}

export interface VirtualListProps {
	count: number;
	label: string;
	busy: boolean;
	follow: boolean; // begins at the end
	cursor: number; // the row that Tab reaches
	row: (i: number) => ComponentChildren;
	onSee: (from: number, to: number) => void;
	onEnd: (atEnd: boolean) => void;
	onCursor: (i: number) => void;
	handle: (h: ListHandle) => void;
}

interface Window {
	from: number;
	to: number; // behind the last
}

export function VirtualList(p: VirtualListProps) {
	const box = useRef<HTMLDivElement>(null);
	const heights = useMemo(() => new Heights(ESTIMATE), []);
	const sticky = useRef(p.follow);
	const wanted = useRef<number | null>(null); // to be focused once it is in the page
	const [seen, setSeen] = useState<Window>({ from: 0, to: 0 });

	heights.resize(p.count);
	const win = around(seen, p.count);
	const look = (): void => {
		const el = box.current;
		if (!el)
			return;
		const from = heights.at(el.scrollTop);
		const to = Math.min(p.count, heights.at(el.scrollTop + el.clientHeight) + 1);
		setSeen((old) => (old.from === from && old.to === to ? old : { from, to }));
	};
	const observer = useRowObserver(box, heights, sticky, look);

	useLayoutEffect(() => {
		const el = box.current!;
		if (sticky.current)
			el.scrollTop = el.scrollHeight;
		look();
	}, [p.count]);
	useEffect(() => p.onSee(seen.from, Math.max(seen.from, seen.to - 1)), [seen.from, seen.to, p.count]);
	useLayoutEffect(() => p.handle(handleOf(box, heights, sticky, wanted, look)), []);
	useEffect(() => focusWanted(box, wanted));
	const lastTop = useRef(0);
	const onScroll = (): void => {
		const el = box.current;
		if (!el) // the event was on its way when the list left the page
			return;
		const atEnd = el.scrollTop + el.clientHeight >= el.scrollHeight - NEAR_END;
		// Only who scrolls up leaves the end: it also moves away below us while the list grows.
		const sticks = atEnd || (sticky.current && el.scrollTop >= lastTop.current);
		lastTop.current = el.scrollTop;
		if (sticks !== sticky.current)
			p.onEnd(sticks);
		sticky.current = sticks;
		look();
	};
	const rows = [];

	for (let i = win.from; i < win.to; i++)
		rows.push(
			<div key={i} class="list-row" role="article" data-row={i} ref={observer} tabIndex={i === p.cursor ? 0 : -1}
				aria-posinset={i + 1} aria-setsize={p.count} onFocus={() => p.onCursor(i)}>
				{p.row(i)}
			</div>);
	return (
		<div class="list" ref={box} role="feed" aria-label={p.label} aria-busy={p.busy} onScroll={onScroll} tabIndex={p.count ? -1 : 0}>
			<div style={{ height: `${heights.top(win.from)}px` }} />
			{rows}
			<div style={{ height: `${Math.max(0, heights.total - heights.top(win.to))}px` }} />
		</div>
	);
}

function around(seen: Window, count: number): Window {
	const from = Math.max(0, Math.min(seen.from, count) - AROUND);

	return { from, to: Math.min(count, Math.max(seen.to, seen.from + 1) + AROUND, from + ROWS_MAX) };
}

/** Measures the rows of the page. A ref for them. */
function useRowObserver(box: { current: HTMLDivElement | null }, heights: Heights, sticky: { current: boolean }, look: () => void) {
	const latest = useRef(look);

	latest.current = look;
	const observer = useMemo(() => new ResizeObserver((entries) => {
		const el = box.current;
		if (!el)
			return;
		const top = heights.at(el.scrollTop);
		let moved = 0;
		for (const { target } of entries) {
			const i = Number((target as HTMLElement).dataset.row);
			if (!target.isConnected || i >= heights.count)
				continue;
			const change = heights.set(i, (target as HTMLElement).offsetHeight);
			if (i < top)
				moved += change;
		}
		if (sticky.current)
			el.scrollTop = el.scrollHeight;
		else if (moved)
			el.scrollTop += moved;
		latest.current();
	}), []);

	useEffect(() => () => observer.disconnect(), []);
	return useMemo(() => {
		const held = new Set<Element>();
		return (el: HTMLDivElement | null): void => {
			for (const old of held)
				if (!old.isConnected) {
					observer.unobserve(old);
					held.delete(old);
				}
			if (el) {
				held.add(el);
				observer.observe(el);
			}
		};
	}, []);
}

function handleOf(box: { current: HTMLDivElement | null }, heights: Heights, sticky: { current: boolean },
	wanted: { current: number | null }, look: () => void): ListHandle {
	const show = (i: number): void => {
		const el = box.current;
		if (!el)
			return;
		const top = heights.top(i);
		const bottom = top + heights.height(i);
		sticky.current = false;
		if (top < el.scrollTop)
			el.scrollTop = top;
		else if (bottom > el.scrollTop + el.clientHeight)
			el.scrollTop = Math.min(top, bottom - el.clientHeight);
		look();
	};

	return {
		show,
		end() {
			sticky.current = true;
			box.current!.scrollTop = box.current!.scrollHeight;
		},
		focus(i) {
			show(i);
			wanted.current = i;
			focusWanted(box, wanted);
		},
	};
}

function focusWanted(box: { current: HTMLDivElement | null }, wanted: { current: number | null }): void {
	const row = wanted.current === null ? null : box.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"]`);

	if (!row)
		return;
	wanted.current = null;
	row.focus({ preventScroll: true });
	row.scrollIntoView({ block: 'nearest' });
}
