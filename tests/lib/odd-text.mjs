// SPDX-License-Identifier: Apache-2.0
// Text that programs stumble over, for the tests of what arrives at the other end: [what, the text as it stands between quotes of JSON, at
// how many places it is not Unicode]. What has to arrive is that text, with U+FFFD in the place of each half of a surrogate pair.

const high = '\\ud83d', low = '\\ude00';

export const ODD_TEXTS = [
  ['the first half of a pair', `x ${high} end`, 1],
  ['the second half of a pair', `x ${low} end`, 1],
  ['a half at the end', `x ${high.toUpperCase().replace('U', 'u')}`, 1],
  ['a pair whose halves are exchanged', `${low}${high}`, 2],
  ['a half before a pair', `${high}${high}${low}`, 1],
  ['a half before another escape', `${high}\\n${high}\\u0041`, 2],
  ['a pair', `${high}${low}`, 0],
  ['a backslash before what would be half of a pair', `\\\\ud83d \\\\${low}`, 1],
  ['NUL', 'a\\u0000b', 0],
  ['control characters', Array.from({ length: 31 }, (_, i) => `\\u${(i + 1).toString(16).padStart(4, '0')}`).join(''), 0],
  ['line separators', 'a\u2028b\u2029c\\u2028d\\u0085e', 0],
  ['a byte order mark and no characters', '\ufeffa\\ufeff\uffff\\ufffe', 0],
  ['combining marks', `e\u0301${'\u0323\u0302'.repeat(200)}`, 0],
  ['right to left', '\u202eabc \u05e9\u05dc\u05d5\u05dd \u2066\u0627\u0644\u2069\u202c', 0],
  ['1 MB without a space', 'x'.repeat(2 ** 20), 0],
];

export const arrives = (json) => JSON.parse(`"${json}"`).toWellFormed();

// What has to be shown of it where text is only told: NUL, too, is U+FFFD there, and so is each byte that is not UTF-8.
export const shown = (json, bytes = Buffer.from(json)) => arrives(bytes.toString()).replaceAll('\0', '\ufffd');

// As an error's message has it.
export const inOneLine = (text) => text.replace(/[\u0000-\u001f\u007f]/g, ' ').replace(/[\u2028\u2029]/g, '   ');
