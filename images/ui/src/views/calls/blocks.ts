// SPDX-License-Identifier: Apache-2.0
// A hook for a long table: which of its blocks of rows to have in the page, and how high those are that are not. Heights are measured
// once a block has been there; until then they are guessed. Whatever scrolls around the table is noticed.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

export interface Window { from: number; to: number; before: number; after: number } // blocks [from, to), and pixels of those left out

const MARGIN = 500; // pixels above and below what is seen

export function windowOf(heights: readonly number[], top: number, bottom: number): Window {
	let [from, before, at] = [0, 0, 0];
	while (from < heights.length - 1 && before + heights[from]! <= top) before += heights[from++]!;
	let to = from;
	for (at = before; to < heights.length && (at < bottom || to === from); to++) at += heights[to]!;
	let after = 0;
	for (let i = to; i < heights.length; i++) after += heights[i]!;
	return { from, to, before, after };
}

export function useBlocks(box: RefObject<HTMLElement | null>, sizes: readonly number[], rowHeight: number, selector: string): Window {
	const heights = useRef<{ of: readonly number[]; list: number[] }>({ of: [], list: [] });
	if (heights.current.of !== sizes) heights.current = { of: sizes, list: sizes.map((n) => n * rowHeight) };
	const [shown, show] = useState<Window>(() => windowOf(heights.current.list, 0, 1500));
	const update = () => {
		const top = box.current?.getBoundingClientRect().top ?? 0;
		const next = windowOf(heights.current.list, -top - MARGIN, -top + innerHeight + MARGIN);
		show((old) => (old.from === next.from && old.to === next.to && old.before === next.before && old.after === next.after ? old : next));
	};

	useLayoutEffect(() => {
		let frame = 0;
		const later = () => { frame ||= requestAnimationFrame(() => { frame = 0; update(); }); };

		document.addEventListener('scroll', later, { capture: true, passive: true });
		addEventListener('resize', later);
		later();
		return () => {
			cancelAnimationFrame(frame);
			document.removeEventListener('scroll', later, { capture: true });
			removeEventListener('resize', later);
		};
	}, [sizes]);
	useLayoutEffect(() => {
		let changed = false;
		box.current?.querySelectorAll<HTMLElement>(selector).forEach((element, i) => {
			const height = element.offsetHeight;
			if (height && heights.current.list[shown.from + i] !== height) {
				heights.current.list[shown.from + i] = height;
				changed = true;
			}
		});
		if (changed) update();
	});
	return shown.to <= sizes.length ? shown : windowOf(heights.current.list, 0, 1500);
}
