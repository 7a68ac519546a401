// SPDX-License-Identifier: Apache-2.0
// What a daemon refuses, in words for people.

import { ApiError } from './api.ts';

const SCOPES: Record<string, string> = {
	observe: 'looking at sessions', drive: 'prompting, answering and changing', usage: 'reading the usage', admin: 'all', model: 'taking model calls',
	tools: 'using tools',
};

const WORDS: Record<string, string> = {
	UNAUTHORIZED: 'The token is not one of this daemon, or it is over.',
	UNCLAIMED: 'This daemon has not been claimed yet: it has no token.',
	ORIGIN_NOT_ALLOWED: 'The daemon does not allow pages of this origin (--allow-origin).',
	NO_BASELINE: 'There is nothing to compare with: the workspace came from no archive, and no baseline was asked for (workspace.baseline). '
		+ 'What the agent said that it has changed stands above.',
	SESSION_IMPORTED: 'This session came from a bundle: it can be looked at, and nothing else.',
	SESSION_NOT_ACTIVE: 'Another connection drives the session now.',
	SESSION_BUSY: 'A turn runs. Wait for its end, or cancel it.',
	PATCH_DIGEST_MISMATCH: 'The draft has changed since this was shown. Look at it again.',
	DRAFT_CONFLICT: 'Others have changed the same files of the workspace meanwhile. Nothing was applied.',
	DRAFT_NOT_EMPTY: 'The draft has changes: apply or drop them first.',
	DRAFT_TOO_LARGE: 'The draft takes more room than it may (--draft-max).',
	NO_DRAFT: 'There is no draft any more.',
	APPROVAL_ANSWERED: 'Somebody else has answered already.',
	APPROVAL_UNKNOWN: 'The question is not open any more.',
};

function needs(scope: string): string {
	return scope ? `This token may not do that: it needs the scope ${scope}${SCOPES[scope] ? `, which is for ${SCOPES[scope]}` : ''}.`
		: 'This token may not do that: it is limited to some sessions.';
}

export function sayRefusal(e: unknown): string {
	if (!(e instanceof ApiError))
		return e instanceof Error ? e.message : String(e);
	if (e.reason === 'SCOPE_REQUIRED')
		return needs(e.scope);
	return WORDS[e.reason] ?? `${e.message.slice(0, 1).toUpperCase()}${e.message.slice(1)} (${e.reason})`;
}
