// SPDX-License-Identifier: Apache-2.0
// Odd text in every text of a prompt, by what the model's own request has of it. tests/integration/text does the same with an ACP agent.

import assert from 'node:assert/strict';

import { ODD_TEXTS, arrives } from '../../lib/odd-text.mjs';

const PLACES = {
	'a text block': (odd) => ({ type: 'text', text: `<${odd}>` }),
	'the name of a link': (odd) => ({ type: 'resource_link', uri: 'https://example.com/x', name: `<${odd}>` }),
	'the text of a resource': (odd) => ({ type: 'resource', resource: { uri: 'file:///far/x', text: `<${odd}>` } }),
};

// Texts of 1 MB would be a question of the model's context.
const TEXTS = ODD_TEXTS.filter(([, json]) => json.length < 1e5);

async function odd(x, t) {
	const s = await x.session(t);

	for (const [place, block] of Object.entries(PLACES))
		for (const [what, json] of TEXTS) {
			const at = s.requests.length;
			const { stopReason } = await s.request('session/prompt', { prompt: [{ type: 'text', text: 'TEXT:ok' }, block(JSON.parse(`"${json}"`))] });
			const requests = s.requests.slice(at);

			assert.equal(stopReason, 'end_turn', `${place}: ${what}`);
			assert.equal(requests.length, 1, `${place}: ${what}: calls of the model`);
			assert.ok(JSON.stringify(JSON.parse(requests[0].body)).includes(JSON.stringify(`<${arrives(json)}>`).slice(1, -1)), `${place}: ${what}`);
		}
	await s.goesOn();
}

export default [['odd text: all of a prompt is delivered to the model, halves of surrogate pairs as U+FFFD', odd]];
