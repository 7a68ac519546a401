// SPDX-License-Identifier: Apache-2.0
// An error in words: what happened, what the other side said, and what to do.
import type { TurnError } from '../../model/items.ts';
import { statusWords, wordsOf } from './errors.ts';
import { Icon } from '../text/Icon.tsx';
import { LongText } from '../text/LongText.tsx';
import { Visible } from '../text/Visible.tsx';

export interface ErrorWordsProps { error: TurnError }

export function ErrorWords({ error }: ErrorWordsProps) {
	const { title, advice } = wordsOf(error.class);
	return (
		<div role="group" class="errorwords" aria-label="Error">
			<p class="errorwords-title"><Icon name="warning" /> {title}</p>
			{error.message && <LongText class="errorwords-message" text={error.message} label="Message" first={2000} />}
			<p class="errorwords-advice">{advice}{error.retryable !== undefined && (error.retryable ? ' The same prompt may work if it is sent again.' : ' The same prompt would fail again.')}</p>
			<p class="errorwords-tags">
				<span class="tag tag-bad"><Visible text={error.class} max={60} /></span>
				{error.reason && <span class="tag"><Visible text={error.reason} max={60} /></span>}
				{error.httpStatus !== undefined && <span class="tag">{statusWords(error.httpStatus)}</span>}
				{error.provider && <span class="tag"><Visible text={error.provider} max={60} /></span>}
				{error.retryable !== undefined && <span class="tag">{error.retryable ? 'can be tried again' : 'not to be tried again'}</span>}
			</p>
		</div>
	);
}
