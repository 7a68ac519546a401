// SPDX-License-Identifier: Apache-2.0
// A session that is looked at: one of a daemon, live, or one of a bundle. Both can be replayed; then `model` and `pages` are those
// of the replay.

import type { JsonObject } from '../../model/event.ts';
import type { Changes } from '../../model/changes.ts';
import type { Artifact } from '../../model/items.ts';
import type { Run, SessionInfo } from '../../model/run.ts';
import type { Batch, Source } from '../../model/source.ts';
import type { StreamState } from '../../net/session-source.ts';
import { Pages } from '../../model/pages.ts';
import { Player } from '../../model/player.ts';
import { Model } from '../../model/reduce.ts';
import { applyRecord } from '../../model/run-calls.ts';
import { Emitter } from './emitter.ts';

const FRAME_MAX_MS = 250; // a page that slept does not leap ahead

export abstract class Subject extends Emitter {
	readonly sessionId: string;
	info: SessionInfo | null = null;
	state: StreamState = 'connecting';
	problem = ''; // why it cannot be shown, in words
	bad = 0; // lines that were no events
	player: Player | null = null;
	protected readonly source: Source;
	protected now: Model;
	#nowPages: Pages;
	#playerPages: Pages | null = null;
	#playerModel: Model | null = null;
	#ticking = 0;

	constructor(sessionId: string, source: Source) {
		super();
		this.sessionId = sessionId;
		this.source = source;
		this.now = new Model(sessionId);
		this.#nowPages = this.#pagesOf(this.now);
	}

	/** What has changed since the session began, or by its draft. */
	abstract changes(): Promise<Changes>;
	/** Asking for them costs so much that a person has to want it; in words. '': it does not. */
	abstract readonly farChanges: string;
	abstract artifact(a: Artifact): Promise<Blob>;
	abstract readonly isLive: boolean;

	get model(): Model { return this.player?.model ?? this.now; }
	get run(): Run { return this.model.run; }
	/** What is known now, whatever is being replayed. */
	get whole(): Run { return this.now.run; }

	get pages(): Pages {
		const { player } = this;

		if (!player)
			return this.#nowPages;
		if (this.#playerModel !== player.model) {
			this.#playerPages?.close();
			this.#playerModel = player.model;
			this.#playerPages = this.#pagesOf(player.model);
		}
		return this.#playerPages!;
	}

	close(): void {
		this.stopReplay();
		this.#nowPages.close();
	}

	startReplay(): void {
		if (this.player || !this.whole.events)
			return;
		this.player = new Player(this.sessionId, this.source, this.whole.firstAt, this.whole.lastAt);
		this.player.play();
		this.#tick(performance.now());
		this.changed();
	}

	stopReplay(): void {
		cancelAnimationFrame(this.#ticking);
		this.player?.close();
		this.#playerPages?.close();
		this.player = null;
		this.#playerPages = null;
		this.#playerModel = null;
		this.changed();
	}

	async seek(position: number): Promise<void> {
		await this.player?.seek(position);
		this.changed();
	}

	protected take(batch: Batch): void {
		batch.events.forEach((e, i) => this.now.apply(e, batch.sizes[i]!));
		this.bad += batch.bad;
		this.changed();
	}

	protected takeRecords(records: JsonObject[]): void {
		for (const r of records)
			applyRecord(this.now.run, r);
		this.changed();
	}

	/** All that was read is void. */
	protected beginAnew(): void {
		this.stopReplay();
		this.#nowPages.close();
		this.now = new Model(this.sessionId);
		this.#nowPages = this.#pagesOf(this.now);
		this.changed();
	}

	#pagesOf(model: Model): Pages {
		return new Pages(model.rows, this.source, () => this.changed());
	}

	#tick(last: number): void {
		this.#ticking = requestAnimationFrame((at) => {
			const { player } = this;
			if (!player)
				return;
			if (player.playing)
				player.tick(Math.min(FRAME_MAX_MS, Math.max(0, at - last))).then(() => this.changed(), (e: unknown) => this.#lost(e));
			this.#tick(at);
		});
	}

	#lost(e: unknown): void {
		this.player?.pause();
		this.problem = `The replay cannot go on: ${e instanceof Error ? e.message : String(e)}`;
		this.changed();
	}
}
