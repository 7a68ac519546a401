// SPDX-License-Identifier: Apache-2.0
// What a model thought: folded, with its beginning as the line that stands for it. Its text is rendered only while it is open.
import { useState } from 'preact/hooks';
import { duration } from '../text/format.ts';
import { Markdown } from '../text/Markdown.tsx';
import { Visible } from '../text/Visible.tsx';

export interface ThoughtProps { text: string; ms?: number; open?: boolean; running?: boolean }

// The first words without the marks of Markdown.
const gist = (text: string): string => text.slice(0, 400).replace(/[*_`#>]+/g, '').replace(/\s+/g, ' ').trim().slice(0, 140);

export function Thought({ text, ms, open = false, running = false }: ThoughtProps) {
	const [isOpen, setOpen] = useState(open);
	return (
		<details class="thought" open={isOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
			<summary class="thought-head">
				<span class="thought-name">{running ? 'Thinking' : 'Thought'}{ms !== undefined && ` for ${duration(ms)}`}</span>
				{!isOpen && <Visible class="thought-gist" text={gist(text)} />}
			</summary>
			{isOpen && <div class="thought-text"><Markdown text={text} /></div>}
		</details>
	);
}
