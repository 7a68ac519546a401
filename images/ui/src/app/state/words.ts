// SPDX-License-Identifier: Apache-2.0
// States of sessions in words and with the tag that stands for them.

import type { SessionInfo } from '../../model/run.ts';
import type { StreamState } from '../../net/session-source.ts';

export interface Said {
	text: string;
	tag: '' | 'tag-ok' | 'tag-warn' | 'tag-bad' | 'tag-info';
}

const STATES: Record<string, Said> = {
	opening: { text: 'opening', tag: 'tag-info' },
	open: { text: 'idle', tag: '' },
	busy: { text: 'working', tag: 'tag-info' },
	checking: { text: 'checking', tag: 'tag-info' },
	closing: { text: 'closing', tag: '' },
	closed: { text: 'closed', tag: '' },
};

/** answers: whoever looks may answer its questions. */
export function sessionState(s: SessionInfo, answers: boolean): Said {
	if (s.damaged)
		return { text: 'damaged', tag: 'tag-bad' };
	if (s.questions > 0)
		return { text: answers ? 'needs you' : 'needs an answer', tag: 'tag-warn' };
	if (s.waiting)
		return { text: `waits for a ${s.waiting}`, tag: 'tag-warn' };
	return STATES[s.state] ?? { text: s.state || 'unknown', tag: '' };
}

const STREAMS: Record<StreamState, Said> = {
	connecting: { text: 'connecting', tag: '' },
	live: { text: 'live', tag: 'tag-ok' },
	broken: { text: 'connection lost, trying again', tag: 'tag-warn' },
	ended: { text: 'ended', tag: '' },
	refused: { text: 'refused', tag: 'tag-bad' },
};

export const streamState = (s: StreamState): Said => STREAMS[s];

/** What a session is called: its title, or the end of its directory. */
export function sessionName(s: { title: string; cwd: string; sessionId: string }): string {
	return s.title || s.cwd.split('/').filter(Boolean).at(-1) || s.sessionId;
}

/** "3 min ago", for lists. */
export function ago(at: number, now: number): string {
	const s = Math.max(0, Math.round((now - at) / 1000));

	if (!at)
		return '';
	if (s < 60)
		return 'now';
	if (s < 3600)
		return `${Math.floor(s / 60)} min`;
	return s < 86_400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}
