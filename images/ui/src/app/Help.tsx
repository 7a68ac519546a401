// SPDX-License-Identifier: Apache-2.0
// The keys, in a dialog.

import { useLayoutEffect, useRef } from 'preact/hooks';
import type { KeyRow } from './state/keys.ts';

export function Help({ rows, onClose }: { rows: KeyRow[]; onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);

	useLayoutEffect(() => dialog.current?.showModal(), []);
	return (
		<dialog class="help" ref={dialog} aria-labelledby="help-title" onClose={onClose}>
			<h2 id="help-title">Keys</h2>
			<dl class="keys">
				{rows.map((r) => <div><dt>{r.shown.split(' ').map((k) => <kbd>{k}</kbd>)}</dt><dd>{r.what}</dd></div>)}
			</dl>
			<button type="button" class="button button-main" onClick={() => dialog.current?.close()}>Close</button>
		</dialog>
	);
}
