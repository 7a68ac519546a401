// SPDX-License-Identifier: Apache-2.0
// Preformatted text of any length: so much is shown, and more of it each time it is asked for. Layout of a huge text would stop the page.
import { useState } from 'preact/hooks';
import { bytes } from './format.ts';
import { marked } from './Visible.tsx';

export interface LongTextProps { text: string; label: string; class?: string; prose?: boolean; first?: number }

const FIRST = 16 * 1024;
const MOST = 512 * 1024; // of one text in the page; the copy button has all of it

export function LongText({ text, label, class: name, prose = false, first = FIRST }: LongTextProps) {
	const [shown, show] = useState(first);
	const left = text.length - shown;
	return (
		<>
			<pre class={name} tabIndex={0} role="group" aria-label={label}>{marked(left > 0 ? text.slice(0, shown) : text, prose)}</pre>
			{left > 0 && (
				<div class="longtext-more">
					<span>{bytes(left)} more</span>
					{shown < MOST && <button type="button" class="button" onClick={() => show(Math.min(MOST, shown * 4))}>Show more</button>}
				</div>
			)}
		</>
	);
}
