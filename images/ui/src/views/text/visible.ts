// SPDX-License-Identifier: Apache-2.0
// Characters that hide: controls, what turns the direction of text, what has no width. A file name, a command or a title that an agent
// wrote must look like what it is, so these are named instead of obeyed. In prose only those that can turn what follows are named:
// joiners and marks belong to the writing of several languages and to emoji.

export interface Piece { text: string; mark?: string }

// C0 and C1 but tab and line feed; soft hyphen; direction marks, embeddings, overrides and isolates; zero width; line and paragraph
// separators; invisible operators; fillers; the byte order mark; interlinear marks; tags.
const STRICT = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;
const PROSE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const NAMES: ReadonlyMap<number, string> = new Map([
	[0x00, 'NUL'], [0x07, 'BEL'], [0x08, 'BS'], [0x0d, 'CR'], [0x1b, 'ESC'], [0x7f, 'DEL'], [0xad, 'SHY'], [0x61c, 'ALM'],
	[0x200b, 'ZWSP'], [0x200c, 'ZWNJ'], [0x200d, 'ZWJ'], [0x200e, 'LRM'], [0x200f, 'RLM'], [0x202a, 'LRE'], [0x202b, 'RLE'],
	[0x202c, 'PDF'], [0x202d, 'LRO'], [0x202e, 'RLO'], [0x2028, 'LS'], [0x2029, 'PS'], [0x2060, 'WJ'], [0x2066, 'LRI'],
	[0x2067, 'RLI'], [0x2068, 'FSI'], [0x2069, 'PDI'], [0xfeff, 'BOM'],
]);

// How a hidden character is shown.
export function markOf(char: string): string {
	const point = char.codePointAt(0) ?? 0;
	return NAMES.get(point) ?? `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

// Cut at hidden characters. Almost always one piece; after so many marks the rest is one piece with all hidden characters left out.
const MOST_MARKS = 100;

export function pieces(text: string, prose = false): Piece[] {
	const hidden = prose ? PROSE : STRICT;
	const out: Piece[] = [];
	let from = 0;
	hidden.lastIndex = 0;
	for (let m = hidden.exec(text); m; m = hidden.exec(text)) {
		if (m.index > from) out.push({ text: text.slice(from, m.index) });
		from = m.index + m[0].length;
		out.push({ text: m[0], mark: markOf(m[0]) });
		if (out.length > MOST_MARKS) {
			out.push({ text: text.slice(from).replace(hidden, '') });
			return out;
		}
	}
	if (from < text.length || !out.length) out.push({ text: text.slice(from) });
	return out;
}

// The middle of a long name goes, since both its ends tell something.
export function shorten(text: string, max = 400): string {
	return text.length <= max ? text : `${text.slice(0, max / 2)} … ${text.slice(-max / 2)}`;
}

// For attributes, where there are no elements: title, aria-label.
export const plain = (text: string, max = 400): string => pieces(shorten(text, max)).map((p) => (p.mark ? `<${p.mark}>` : p.text)).join('');
