// SPDX-License-Identifier: Apache-2.0
// A button that copies a text, and says that it did or could not.
import { useEffect, useState } from 'preact/hooks';

export interface CopyProps { text: string | (() => string); what?: string }

const SHOWN_MS = 1500;

export function Copy({ text, what = 'text' }: CopyProps) {
	const [said, say] = useState('');

	useEffect(() => {
		if (!said) return undefined;
		const timer = setTimeout(() => say(''), SHOWN_MS);
		return () => clearTimeout(timer);
	}, [said]);
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(typeof text === 'string' ? text : text());
			say('Copied');
		} catch {
			say('Not allowed'); // a page without HTTPS has no clipboard
		}
	};
	return (
		<button type="button" class="button button-quiet" aria-label={`Copy ${what}`} onClick={copy}>
			<span aria-live="polite">{said || 'Copy'}</span>
		</button>
	);
}
