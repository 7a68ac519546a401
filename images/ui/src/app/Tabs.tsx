// SPDX-License-Identifier: Apache-2.0
// Tabs as the ARIA pattern has them: Tab reaches the chosen one, arrows choose.

import { useRef } from 'preact/hooks';

export interface TabRow {
	id: string;
	name: string;
	count?: number;
	bad?: boolean; // the count is of what is wrong
}

export interface TabsProps {
	rows: TabRow[];
	chosen: string;
	label: string;
	panel: string; // id of what they show
	onChoose: (id: string) => void;
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

export function Tabs({ rows, chosen, label, panel, onChoose }: TabsProps) {
	const box = useRef<HTMLDivElement>(null);
	const onKeyDown = (e: KeyboardEvent): void => {
		const step = STEPS[e.key];
		if (step === undefined)
			return;
		e.preventDefault();
		const at = rows.findIndex((r) => r.id === chosen);
		const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))]!;
		onChoose(next.id);
		box.current?.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
	};

	return (
		<div class="tabs" role="tablist" aria-label={label} ref={box} onKeyDown={onKeyDown}>
			{rows.map((r) => (
				<button key={r.id} type="button" role="tab" class="tab" id={`tab-${r.id}`} aria-selected={r.id === chosen} aria-controls={panel}
					tabIndex={r.id === chosen ? 0 : -1} onClick={() => onChoose(r.id)}>
					{r.name}{r.count ? <span class={`tab-count ${r.bad ? 'tab-bad' : ''}`}>{r.count}</span> : null}
				</button>
			))}
		</div>
	);
}
