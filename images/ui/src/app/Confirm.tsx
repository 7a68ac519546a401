// SPDX-License-Identifier: Apache-2.0
// A question to whoever is about to do something that cannot be undone. The focus goes into it, and to what follows when it is over.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface ConfirmProps {
	label: string;
	yes: string;
	no: string;
	onYes: () => void;
	onNo: () => void;
	children: ComponentChildren;
}

export function Confirm({ label, yes, no, onYes, onNo, children }: ConfirmProps) {
	const first = useRef<HTMLButtonElement>(null);

	useLayoutEffect(() => first.current?.focus(), []);
	return (
		<div class="composer-ask" role="alertdialog" aria-label={label} onKeyDown={(e) => { if (e.key === 'Escape') { e.stopPropagation(); onNo(); } }}>
			<span>{children}</span>
			<button type="button" class="button button-main" ref={first} onClick={onYes}>{yes}</button>
			<button type="button" class="button" onClick={onNo}>{no}</button>
		</div>
	);
}
