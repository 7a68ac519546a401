// SPDX-License-Identifier: Apache-2.0
// The session of a bundle file. No daemon is asked for anything.

import type { Artifact } from '../model/items.ts';
import type { Bundle } from '../bundle/bundle.ts';
import { readSession } from '../net/sessions.ts';
import { Subject } from './subject.ts';

export class BundleSubject extends Subject {
	readonly isLive = false;
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

	async patch(): Promise<string> {
		return this.#bundle.patch;
	}

	async artifact(a: Artifact): Promise<Blob> {
		for (const [path, blob] of this.#bundle.artifacts)
			if (path.split('/')[1]?.startsWith(a.id) || path === `artifacts/${a.name}`)
				return blob;
		throw new Error('the bundle does not have this artifact');
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
