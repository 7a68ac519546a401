// SPDX-License-Identifier: Apache-2.0
// manifest.json of a bundle, and what may be wrong with one. The reasons are those of the daemon (daemon/protocol/bundles.md).

import { isObject, list, num, str } from '../model/read.ts';
import type { JsonObject } from '../model/event.ts';

export const FORMAT = 'acpd-bundle';
export const VERSION = 1;
export const MANIFEST = 'manifest.json';
const FILES_MAX = 20_000;

export class BundleError extends Error {
	readonly reason: string;

	constructor(reason: string, message: string) {
		super(message);
		this.reason = reason;
	}
}

export interface Manifest {
	sessionId: string;
	acpd: string;
	files: Map<string, { bytes: number; sha256: string }>;
}

export const invalid = (message: string): BundleError => new BundleError('BUNDLE_INVALID', message);

function parse(text: string): JsonObject {
	try {
		const v: unknown = JSON.parse(text);
		if (isObject(v))
			return v;
	} catch { /* said below */ }
	throw invalid(`${MANIFEST} is no JSON object`);
}

export function readManifest(text: string): Manifest {
	const o = parse(text);
	const files: Manifest['files'] = new Map();

	if (o.format !== FORMAT)
		throw invalid('this is no bundle of acpd');
	if (o.version !== VERSION)
		throw new BundleError('BUNDLE_VERSION', `the bundle is of version ${String(o.version)}; this viewer reads version ${VERSION}`);
	if (!Array.isArray(o.files) || o.files.length > FILES_MAX)
		throw invalid(`${MANIFEST} has no list of files, or too long a one`);
	for (const f of list(o.files)) {
		if (!isObject(f) || typeof f.path !== 'string' || typeof f.bytes !== 'number' || !/^(sha256:)?[0-9a-f]{64}$/.test(str(f.sha256)))
			throw invalid(`${MANIFEST} describes a file wrongly`);
		if (files.has(f.path))
			throw invalid(`${MANIFEST} names ${f.path} twice`);
		files.set(f.path, { bytes: num(f.bytes), sha256: str(f.sha256).slice(-64) });
	}
	return { sessionId: str(o.sessionId), acpd: str(o.acpd), files };
}
