// SPDX-License-Identifier: Apache-2.0
// Unpacks zstd by fzstd. A frame may ask for a window of any size; one of more than WINDOW_MAX is refused before it is made.

import { Decompress } from 'fzstd';
import { invalid } from './manifest.ts';
import type { Unzstd } from './bundle.ts';

const MAGIC = 0xfd2fb528;
const WINDOW_MAX = 128 * 1024 * 1024;

/** What the frame's header asks for: the window, or all of its content where it is one segment. */
function windowOf(b: Uint8Array): number {
	const view = new DataView(b.buffer, b.byteOffset, b.length);
	const flags = b[4]!;
	const at = 5 + [0, 1, 2, 4][flags & 3]!; // behind the dictionary's id

	if (!(flags & 0x20))
		return 2 ** (10 + (b[5]! >> 3)) * (1 + (b[5]! & 7) / 8);
	switch (flags >> 6) {
	case 0: return view.getUint8(at);
	case 1: return view.getUint16(at, true) + 256;
	case 2: return view.getUint32(at, true);
	default: return Number(view.getBigUint64(at, true));
	}
}

function checkFrame(b: Uint8Array): void {
	if (b.length < 18 || new DataView(b.buffer, b.byteOffset).getUint32(0, true) !== MAGIC)
		throw invalid('the file is no zstd archive');
	if (windowOf(b) > WINDOW_MAX)
		throw invalid('it needs too much memory to be unpacked');
}

export const unzstd: Unzstd = (sink) => {
	const stream = new Decompress((piece) => sink(piece));
	let first = true;

	return (piece, last) => {
		if (first)
			checkFrame(piece);
		first = false;
		stream.push(piece, last);
	};
};
