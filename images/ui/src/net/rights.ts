// SPDX-License-Identifier: Apache-2.0
// What the token of this page may (daemon/protocol/tokens.md). The daemon holds everybody to it; the page only offers what would do.

import type { JsonObject } from '../model/event.ts';
import { list, obj, str } from '../model/read.ts';
import type { Api } from './api.ts';
import type { Described } from './described.ts';

export interface Rights {
	scope: string;
	drives: boolean; // it may prompt, answer, change
	sessions: number; // that it is limited to; 0: it is not
}

/** Without a word of it the token may all: that of the claim is not told of. */
export async function getRights(api: Api, signal?: AbortSignal): Promise<Rights> {
	const info = await api.get('/v1/info', signal) as Described<'Info'>;

	return readRights(info.token === undefined ? { scope: 'admin' } : obj(info.token));
}

function readRights(o: Described<'OwnToken'> | JsonObject): Rights {
	const scope = str(o.scope);

	return { scope, drives: scope === 'admin' || scope === 'drive', sessions: list(o.sessions).length };
}
