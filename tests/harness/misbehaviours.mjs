// SPDX-License-Identifier: Apache-2.0
// What a provider may do to a call instead of answering it, the same for every API: a script for the scripted model, and what a client
// then sees.
//
//   lines      the script
//   status     of the answer; none: there is no answer
//   headers    of the answer, besides
//   ends       'whole': in order; 'cut': the connection breaks; 'never': it stays open
//   says       what the answer has said before (or instead)

const BEGUN = 'TEXT:one two three';

export const MISBEHAVIOURS = [
	{ name: '401', lines: ['ERR:401'], status: 401, ends: 'whole' },
	{ name: '402', lines: ['ERR:402'], status: 402, ends: 'whole' },
	{ name: '429 with retry-after', lines: ['ERR:429 retry-after=1'], status: 429, headers: { 'retry-after': '1' }, ends: 'whole' },
	{ name: '429 of a spent quota', lines: ['ERR:429 code=insufficient_quota retry-after=none should-retry=false'], status: 429,
		headers: { 'retry-after': null, 'x-should-retry': 'false' }, says: 'insufficient_quota', ends: 'whole' },
	{ name: '500', lines: ['ERR:500 retry-after=0'], status: 500, headers: { 'retry-after': '0' }, ends: 'whole' },
	{ name: '529', lines: ['ERR:529'], status: 529, headers: { 'retry-after': '1' }, ends: 'whole' },
	{ name: 'stall', lines: ['HANG'], ends: 'never' },
	{ name: 'stall in the stream', lines: [BEGUN, 'HANG'], status: 200, says: 'three', ends: 'never' },
	{ name: 'cut', lines: [BEGUN, 'CUT'], status: 200, says: 'three', ends: 'cut' },
	{ name: 'malformed stream', lines: [BEGUN, 'MALFORMED'], status: 200, says: 'three', ends: 'whole' },
	{ name: 'error in the stream', lines: [BEGUN, 'LATE:529'], status: 200, says: 'verloaded', ends: 'whole' },
];
