// SPDX-License-Identifier: Apache-2.0
// What differs in a workspace: from its baseline, or of a draft from the real directory (_acpd/workspace/diff).

import type { JsonObject } from './event.ts';
import { list, num, obj, optStr, str } from './read.ts';

const PATHS_MAX = 1000; // the daemon tells no more either

export interface PathChange {
	path: string;
	how: 'new' | 'gone' | 'changed';
	type: string; // file, directory, link
}

export interface Changes {
	patch: string; // what of it git can say
	files: number;
	omitted: { path: string; reason: string }[];
	omittedTotal: number;
	digest: string; // of a draft: it is applied under this name
	paths: PathChange[]; // of a draft: all of it, as far as it is told
	pathsTotal: number;
	conflicts: string[]; // paths that others have changed in the real directory
	conflictsTotal: number;
}

function readPath(v: unknown): PathChange {
	const o = obj(v);
	const type = optStr(obj(o.to).type) ?? str(obj(o.from).type);

	return { path: str(o.path), type, how: !o.from ? 'new' : !o.to ? 'gone' : 'changed' };
}

export function readChanges(o: JsonObject, patch: string): Changes {
	return {
		patch, files: num(o.files), omittedTotal: num(o.omittedTotal), digest: str(o.patchDigest), pathsTotal: num(o.changesTotal),
		omitted: list(o.omitted).slice(0, PATHS_MAX).map((v) => ({ path: str(obj(v).path), reason: str(obj(v).reason) })),
		paths: list(o.changes).slice(0, PATHS_MAX).map(readPath),
		conflicts: list(o.conflicts).slice(0, PATHS_MAX).map(str), conflictsTotal: num(o.conflictsTotal),
	};
}
