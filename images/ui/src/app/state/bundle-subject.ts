// SPDX-License-Identifier: Apache-2.0
// The session of a bundle file. No daemon is asked for anything.

import { readChanges, type Changes } from '../../model/changes.ts';
import type { Artifact } from '../../model/items.ts';
import type { Bundle } from '../../bundle/bundle.ts';
import { obj, str } from '../../model/read.ts';
import { ApiError } from '../../net/api.ts';
import { readSession } from '../../net/sessions.ts';
import { Subject } from './subject.ts';

/** A bundle says why it has no patch (daemon/protocol/bundles.md). */
export function changesOf(bundle: Bundle): Changes {
	const missing = str(obj(obj(bundle.session.workspace).patch).missing);

	if (missing)
		throw new ApiError(0, missing, 'the bundle has no patch');
	return readChanges({}, bundle.patch);
}

export class BundleSubject extends Subject {
	readonly isLive = false;
	readonly farChanges = '';
	readonly name: string;
	#bundle: Bundle;
	#stop = new AbortController();

	constructor(bundle: Bundle, name: string) {
		super(bundle.manifest.sessionId || 'session', bundle.events);
		this.name = name;
		this.#bundle = bundle;
		this.info = { ...readSession(bundle.session), sessionId: bundle.manifest.sessionId };
		void this.#read();
	}

	async changes(): Promise<Changes> {
		return changesOf(this.#bundle);
	}

	async artifact(a: Artifact): Promise<Blob> {
		const blob = this.#bundle.artifacts.get(`artifacts/${a.id}`);

		if (!blob)
			throw new Error('The bundle does not have this artifact.');
		return blob;
	}

	override close(): void {
		super.close();
		this.#stop.abort();
	}

	async #read(): Promise<void> {
		const { signal } = this.#stop;

		try {
			for await (const batch of this.source.read({ since: 0, signal })) {
				this.take(batch);
				await new Promise((done) => setTimeout(done, 0)); // the page stays alive
			}
			this.takeRecords(this.#bundle.records);
			this.state = 'ended';
		} catch (e) {
			if (signal.aborted)
				return;
			this.state = 'refused';
			this.problem = e instanceof Error ? e.message : String(e);
		}
		this.changed();
	}
}
