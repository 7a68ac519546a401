// SPDX-License-Identifier: Apache-2.0
// Reads a bundle file: a zstd tar whose first member is manifest.json. Every byte is held against the manifest before anything of
// it is shown; a file that is changed, missing, too much or of another version is refused by name. What it says is as hostile as
// what an agent says. Artifacts and events stay outside the page's memory (Blob).

import type { JsonObject } from '../model/event.ts';
import type { Source } from '../model/source.ts';
import { isObject } from '../model/read.ts';
import { EventsFile, LineIndex } from './events-file.ts';
import { BundleError, invalid, MANIFEST, readManifest, type Manifest } from './manifest.ts';
import { Sha256 } from './sha256.ts';
import { TarError, TarReader, type TarTarget } from './tar.ts';

export const BUNDLE_MAX = 2 * 1024 * 1024 * 1024; // unpacked
const MANIFEST_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 64 * 1024 * 1024; // of session.json, usage.ndjson and diff.patch
const PIECE = 1024 * 1024;
const KEPT = /^(session\.json|events\.ndjson|usage\.ndjson|diff\.patch|artifacts\/.*)$/;

export type Unzstd = (sink: (piece: Uint8Array) => void) => (piece: Uint8Array, last: boolean) => void;

export interface Bundle {
	manifest: Manifest;
	session: JsonObject;
	records: JsonObject[]; // of the ledger
	patch: string;
	artifacts: Map<string, Blob>;
	events: Source;
	lines: number;
}

export async function readBundle(file: Blob, unzstd: Unzstd, progress: (part: number) => void = () => {}): Promise<Bundle> {
	const members = new Members();
	const tar = new TarReader(members);

	try {
		const push = unzstd((piece) => tar.push(piece));
		if (file.size === 0)
			throw invalid('the file is empty');
		for (let at = 0; at < file.size; at += PIECE) {
			push(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()), at + PIECE >= file.size);
			progress(Math.min(1, (at + PIECE) / file.size));
		}
		tar.end();
	} catch (e) {
		throw e instanceof BundleError ? e : invalid(e instanceof TarError ? `the tar is not as it was written: ${e.message}`
			: `the file is no zstd archive: ${e instanceof Error ? e.message : String(e)}`);
	}
	return members.bundle();
}

/** The member that comes in. */
interface Open {
	path: string;
	hash: Sha256;
	parts: Blob[];
	pieces: Uint8Array<ArrayBuffer>[];
	held: number;
}

class Members implements TarTarget {
	#manifest: Manifest | null = null;
	#files = new Map<string, Blob>();
	#index = new LineIndex();
	#open: Open | null = null;
	#manifestText: Uint8Array[] = [];
	#bytes = 0;

	begin(path: string, size: number): void {
		this.#bytes += size;
		if (this.#bytes > BUNDLE_MAX)
			throw new BundleError('TOO_LARGE', 'the bundle is larger than this viewer reads');
		if (!this.#manifest) {
			if (path !== MANIFEST)
				throw invalid(`it does not begin with ${MANIFEST}: this is no bundle of acpd`);
			if (size > MANIFEST_MAX)
				throw invalid(`${MANIFEST} is too long`);
			return;
		}
		const entry = this.#manifest.files.get(path);
		if (!entry)
			throw new BundleError('BUNDLE_TAMPERED', `${path} is in the bundle and not in its manifest`);
		if (this.#files.has(path))
			throw new BundleError('BUNDLE_TAMPERED', `${path} is in the bundle twice`);
		if (entry.bytes !== size)
			throw new BundleError('BUNDLE_TAMPERED', `${path} has ${size} bytes; the manifest says ${entry.bytes}`);
		this.#open = { path, hash: new Sha256(), parts: [], pieces: [], held: 0 };
	}

	data(piece: Uint8Array): void {
		const open = this.#open;

		if (!open) {
			this.#manifestText.push(piece.slice());
			return;
		}
		open.hash.update(piece);
		if (open.path === 'events.ndjson')
			this.#index.push(piece);
		if (!KEPT.test(open.path))
			return;
		open.pieces.push(piece.slice());
		open.held += piece.length;
		if (open.held >= 4 * PIECE)
			this.#flush(open);
	}

	end(): void {
		const open = this.#open;

		if (!open) {
			this.#manifest = readManifest(new TextDecoder().decode(joined(this.#manifestText)));
			return;
		}
		if (open.hash.hex() !== this.#manifest!.files.get(open.path)!.sha256)
			throw new BundleError('BUNDLE_TAMPERED', `${open.path} was changed: its SHA-256 is not that of the manifest`);
		this.#flush(open);
		this.#files.set(open.path, new Blob(open.parts));
		this.#open = null;
	}

	#flush(open: Open): void {
		open.parts.push(new Blob(open.pieces));
		open.pieces = [];
		open.held = 0;
	}

	async bundle(): Promise<Bundle> {
		if (!this.#manifest)
			throw invalid('there is nothing in it');
		for (const path of this.#manifest.files.keys())
			if (!this.#files.has(path))
				throw new BundleError('BUNDLE_TAMPERED', `${path} is in the manifest and not in the bundle`);
		return {
			manifest: this.#manifest,
			session: parseObject(await this.#text('session.json')),
			records: (await this.#text('usage.ndjson')).split('\n').map(parseObject).filter((r) => Object.keys(r).length > 0),
			patch: await this.#text('diff.patch'),
			artifacts: new Map([...this.#files].filter(([path]) => path.startsWith('artifacts/'))),
			events: new EventsFile(this.#files.get('events.ndjson') ?? new Blob([]), this.#index),
			lines: this.#index.lines,
		};
	}

	async #text(path: string): Promise<string> {
		const blob = this.#files.get(path);

		if (blob && blob.size > TEXT_MAX)
			throw new BundleError('TOO_LARGE', `${path} is larger than this viewer reads`);
		return blob ? await blob.text() : '';
	}
}

function joined(pieces: Uint8Array[]): Uint8Array {
	const b = new Uint8Array(pieces.reduce((n, p) => n + p.length, 0));
	let at = 0;

	for (const p of pieces) {
		b.set(p, at);
		at += p.length;
	}
	return b;
}

function parseObject(text: string): JsonObject {
	try {
		const v: unknown = JSON.parse(text);
		return isObject(v) ? v : {};
	} catch {
		return {};
	}
}
