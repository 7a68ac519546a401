// SPDX-License-Identifier: Apache-2.0
// What waits behind the turn that runs.
import { plural } from '../text/format.ts';
import { Visible } from '../text/Visible.tsx';

export interface QueueProps { queued: number; prompts?: string[]; waiting?: string } // prompts: those that are known, in order; waiting: what for

const WAITING: ReadonlyMap<string, string> = new Map([['harness', 'for a place to start the harness in']]);

export function Queue({ queued, prompts = [], waiting = '' }: QueueProps) {
	if (!queued && !waiting) return <p class="queue-note">Nothing waits.</p>;
	return (
		<div class="queue">
			{waiting && <p class="queue-note">The session waits {WAITING.get(waiting) ?? <>for <Visible text={waiting} max={60} /></>}.</p>}
			{queued > 0 && <p class="queue-note">{plural(queued, 'prompt')} {queued === 1 ? 'waits' : 'wait'}, in this order:</p>}
			{queued > 0 && (
				<ol class="queue-list">
					{prompts.slice(0, 64).map((text) => <li><Visible text={text.replace(/\s+/g, ' ').trim()} max={160} /></li>)}
					{prompts.length < queued && <li class="queue-note">{plural(queued - prompts.length, 'prompt')} of other clients</li>}
				</ol>
			)}
		</div>
	);
}
