// SPDX-License-Identifier: Apache-2.0
// How a turn ended: a rule across the history, with words where it failed or was stopped.

import type { EndItem } from '../model/items.ts';
import { sayStop } from '../model/words.ts';
import { totalOf } from '../model/usage.ts';
import { count } from '../views/text/format.ts';
import { ErrorWords } from '../views/turn/ErrorWords.tsx';

const VERDICTS: Record<string, [string, string]> = { verified: ['tag-ok', 'checks passed'], failed: ['tag-bad', 'checks failed'], unchecked: ['', 'not checked'] };

export function TurnEnd({ item }: { item: EndItem }) {
	const tokens = totalOf(item.usage ?? {});
	const [tag, verdict] = VERDICTS[item.verdict ?? ''] ?? ['', ''];
	const { error } = item;

	return (
		<div class="turnend">
			{error && <ErrorWords error={error} />}
			<p class="turnend-line">
				<span class={item.stopDetail || item.stopReason === 'refusal' ? 'turnend-stopped' : ''}>
					Turn {item.turn}{error ? ' failed' : `: ${sayStop(item.stopReason ?? '', item.stopDetail)}`}
				</span>
				{tokens !== undefined && <span>{count(tokens)} tokens</span>}
				{verdict && <span class={`tag ${tag}`}>{verdict}</span>}
				{item.attempt && <span>attempt {item.attempt.n} of {item.attempt.of}</span>}
			</p>
		</div>
	);
}
