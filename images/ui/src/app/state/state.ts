// SPDX-License-Identifier: Apache-2.0
// What the page shows: nothing yet, the sessions of a daemon, or a bundle.

import type { SessionInfo } from '../../model/run.ts';
import { readBundle } from '../../bundle/bundle.ts';
import { BundleError } from '../../bundle/manifest.ts';
import { unzstd } from '../../bundle/zstd.ts';
import { Api } from '../../net/api.ts';
import { sayRefusal } from '../../net/refusals.ts';
import { getRights, type Rights } from '../../net/rights.ts';
import { listSessions } from '../../net/sessions.ts';
import { forgetToken, keepToken, readStart } from '../../net/start.ts';
import { BundleSubject } from './bundle-subject.ts';
import { Emitter } from './emitter.ts';
import { LiveSubject } from './live-subject.ts';
import type { Subject } from './subject.ts';

const POLL_MS = 2000;

export class PageState extends Emitter {
	base: string;
	api: Api | null = null; // null: not connected
	rights: Rights = { scope: '', drives: false, sessions: 0 };
	sessions: SessionInfo[] = [];
	loaded = false; // the sessions have been read once
	subject: Subject | null = null;
	problem = '';
	busy = '';
	lost = ''; // the daemon does not answer any more, in words
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor() {
		super();
		const start = readStart();

		this.base = start.base;
		addEventListener('hashchange', () => this.#hash());
		if (start.base)
			void this.connect(start.base, start.token, false, start.session, !start.asked);
	}

	get needsMe(): number {
		return !this.rights.drives ? 0 : this.sessions.reduce((n, s) => n + (s.questions > 0 ? 1 : 0), 0);
	}

	async connect(base: string, token: string, keep: boolean, session = '', silent = false): Promise<void> {
		const api = new Api(base, token);

		this.base = base;
		this.busy = 'Connecting…';
		this.problem = '';
		this.changed();
		try {
			[this.sessions, this.rights] = await Promise.all([listSessions(api), getRights(api)]);
		} catch (e) {
			this.busy = '';
			this.problem = silent ? '' : sayRefusal(e);
			this.changed();
			return;
		}
		if (keep)
			keepToken(base, token);
		this.busy = '';
		this.loaded = true;
		this.api = api;
		this.#schedule();
		if (session)
			this.choose(session);
		this.changed();
	}

	disconnect(): void {
		clearTimeout(this.#timer);
		forgetToken();
		this.#leave();
		this.api = null;
		this.sessions = [];
		this.loaded = false;
		this.lost = '';
		this.changed();
	}

	choose(id: string): void {
		if (!this.api || this.subject?.sessionId === id)
			return;
		this.#leave();
		this.subject = new LiveSubject(this.api, id, this.rights);
		history.replaceState(null, '', `#session=${encodeURIComponent(id)}`);
		this.changed();
	}

	/** Back to the list, or out of a bundle. */
	leave(): void {
		this.#leave();
		history.replaceState(null, '', location.pathname + location.search);
		this.changed();
	}

	async open(file: File): Promise<void> {
		this.problem = '';
		this.busy = `Reading ${file.name}…`;
		this.changed();
		try {
			const bundle = await readBundle(file, unzstd, (part) => {
				this.busy = `Reading ${file.name}: ${Math.round(part * 100)} %`;
				this.changed();
			});
			this.#leave();
			this.subject = new BundleSubject(bundle, file.name);
		} catch (e) {
			this.problem = e instanceof BundleError ? `${file.name} is refused (${e.reason}): ${e.message}.`
				: `${file.name} cannot be read: ${e instanceof Error ? e.message : String(e)}`;
		}
		this.busy = '';
		this.changed();
	}

	#leave(): void {
		this.subject?.close();
		this.subject = null;
	}

	#hash(): void {
		const session = new URLSearchParams(location.hash.slice(1)).get('session');

		if (session)
			this.choose(session);
	}

	#schedule(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => void this.#poll(), document.hidden ? POLL_MS * 5 : POLL_MS);
	}

	async #poll(): Promise<void> {
		const { api } = this;

		if (!api)
			return;
		try {
			this.sessions = await listSessions(api);
			this.lost = '';
		} catch (e) {
			this.lost = sayRefusal(e);
		}
		if (this.api === api)
			this.#schedule();
		this.changed();
	}
}
