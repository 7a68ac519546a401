// SPDX-License-Identifier: Apache-2.0
// A hook: how wide the place of an element is, now and whenever that changes.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export function useWidth(first: number): [RefObject<HTMLDivElement | null>, number] {
	const box = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(first);
	useLayoutEffect(() => {
		if (!box.current) return undefined;
		const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(120, Math.floor(entry.contentRect.width))));
		setWidth(Math.max(120, box.current.clientWidth));
		observer.observe(box.current);
		return () => observer.disconnect();
	}, []);
	return [box, width];
}
