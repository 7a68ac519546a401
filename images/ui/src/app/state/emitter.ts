// SPDX-License-Identifier: Apache-2.0
// Something that changes, and components that are drawn again when it has: at most once a frame, however often it does.

import { useLayoutEffect, useState } from 'preact/hooks';

const HIDDEN_MS = 500; // a page that is not seen has no frames

export class Emitter {
	#listeners = new Set<() => void>();
	#due = false;
	version = 0;

	subscribe(listener: () => void): () => void {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	}

	changed(): void {
		this.version++;
		if (this.#due)
			return;
		this.#due = true;
		const tell = (): void => {
			if (!this.#due)
				return;
			this.#due = false;
			for (const listener of this.#listeners)
				listener();
		};
		requestAnimationFrame(tell);
		setTimeout(tell, HIDDEN_MS);
	}
}

/** Draws the component again whenever e has changed. It listens before anything else can happen: what changes between the drawing and
 * a later effect would never be shown. */
export function useEmitter(e: Emitter | null): number {
	const [, draw] = useState(0);

	useLayoutEffect(() => e?.subscribe(() => draw((n) => n + 1)), [e]);
	return e?.version ?? 0;
}
