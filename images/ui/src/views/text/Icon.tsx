// SPDX-License-Identifier: Apache-2.0
// Small pictures for kinds and states: lines in the colour of the text, from a table of paths. A name that the table does not have is a dot.
import { plain } from './visible.ts';

export interface IconProps { name: string; label?: string; class?: string } // without a label it is for the eye alone

const PATHS: ReadonlyMap<string, string> = new Map([
	['read', 'M3 2.5h6l4 4v7H3zM9 2.5v4h4'],
	['edit', 'M3 13l.8-3.2L10.6 3l2.4 2.4-6.8 6.8zM9.4 4.2l2.4 2.4'],
	['delete', 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9'],
	['move', 'M2.5 8h11M10 4.5L13.5 8 10 11.5'],
	['search', 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3L13.5 13.5'],
	['execute', 'M2.5 3h11v10h-11zM5 6.5L7 8 5 9.5M8.5 10h2.5'],
	['think', 'M8 2.5a4 4 0 0 0-2.2 7.3V11.5h4.4V9.8A4 4 0 0 0 8 2.5zM6.5 13.5h3'],
	['fetch', 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM2.5 8h11M8 2.5c3.3 3.3 3.3 7.7 0 11M8 2.5c-3.3 3.3-3.3 7.7 0 11'],
	['switch_mode', 'M3 5.5h9M9.5 3L12 5.5 9.5 8M13 10.5H4M6.5 8L4 10.5 6.5 13'],
	['other', 'M8 3v10M3 8h10'],
	['pending', 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11z'],
	['in_progress', 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5'],
	['completed', 'M3 8.5l3.2 3.2L13 4.5'],
	['failed', 'M4 4l8 8M12 4l-8 8'],
	['question', 'M5.5 6a2.5 2.5 0 1 1 3.7 2.2C8.4 8.7 8 9.2 8 10M8 12.7v.1'],
	['play', 'M5 3l8 5-8 5z'],
	['pause', 'M5 3v10M11 3v10'],
	['warning', 'M8 2.5L14 13.5H2zM8 6.5v3.5M8 11.8v.1'],
]);

export function Icon({ name, label, class: extra }: IconProps) {
	return (
		<svg class={`icon icon-${PATHS.has(name) ? name : 'dot'}${extra ? ` ${extra}` : ''}`} viewBox="0 0 16 16" width="16" height="16" {...(label ? { role: 'img', 'aria-label': plain(label, 60) } : { 'aria-hidden': 'true' })}>
			<path d={PATHS.get(name) ?? 'M8 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z'} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
		</svg>
	);
}
