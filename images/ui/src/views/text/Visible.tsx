// SPDX-License-Identifier: Apache-2.0
// Text of an agent in which nothing hides (visible.ts). A <bdi> keeps its direction to itself.
import type { ComponentChildren } from 'preact';
import { pieces, shorten } from './visible.ts';

export function marked(text: string, prose = false): ComponentChildren {
	const list = pieces(text, prose);
	if (list.length === 1 && !list[0]!.mark) return text;
	return list.map((p) => (p.mark ? <span class="visible-mark" title={`hidden character ${p.mark}`}>{p.mark}</span> : p.text));
}

export interface VisibleProps { text: string; max?: number; class?: string }

export function Visible({ text, max = 400, class: name }: VisibleProps) {
	return <bdi class={name}>{marked(shorten(String(text), max))}</bdi>;
}
