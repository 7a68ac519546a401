// SPDX-License-Identifier: Apache-2.0
// The keyboard: one table, from which the help is made too. A key that is typed into a field, or given to a control that uses it
// itself, is left alone.

export interface KeyRow {
	keys: string[]; // as KeyboardEvent.key has them
	shown: string;
	what: string;
	run: (key: string) => void;
	everywhere?: boolean; // also from fields and controls
}

const FIELDS = 'input, textarea, select, [contenteditable]';
const OWN: Record<string, string> = { Enter: 'button, a, summary, input, textarea, select', ' ': 'button, summary, input, textarea, select',
	ArrowUp: '[role=tab], [role=slider], [role=option], pre', ArrowDown: '[role=tab], [role=slider], [role=option], pre' };

export function handleKey(e: KeyboardEvent, rows: KeyRow[]): void {
	const target = e.target instanceof Element ? e.target : null;

	if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.defaultPrevented || target?.closest('dialog'))
		return;
	const row = rows.find((r) => r.keys.includes(e.key));
	if (!row)
		return;
	if (!row.everywhere && (target?.matches(FIELDS) || target?.matches(OWN[e.key] ?? ':not(*)')))
		return;
	e.preventDefault();
	row.run(e.key);
}
