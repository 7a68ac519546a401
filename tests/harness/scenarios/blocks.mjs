// SPDX-License-Identifier: Apache-2.0
// Every kind of content block: the model's own request has it, or the prompt is refused before the model is called. One session takes
// them all, so that none spoils it for the next.

import assert from 'node:assert/strict';

import { BLOCKS, PIXEL } from '../../lib/odd-blocks.mjs';

// All strings of a request's last message of the user's, and all that a provider would show its model as an image.
function lastMessage({ body }) {
	const { messages, input } = JSON.parse(body);
	const texts = [], images = [];
	const read = (v) => {
		if (typeof v === 'string')
			(v.startsWith('data:') ? images : texts).push(v);
		else if (v && typeof v === 'object')
			Object.values(v).forEach(read);
	};

	const users = (messages ?? input).filter((m) => m.role === 'user');

	read(users.at(-1).content);
	return { text: texts.join('\n'), images };
}

async function prompt(s, method, ...blocks) {
	const at = s.requests.length;
	const answer = await s.request(method, { prompt: blocks }).then((result) => ({ result }), (error) => ({ error }));

	return { ...answer, requests: s.requests.slice(at) };
}

async function each(x, t) {
	const s = await x.session(t);
	const { promptCapabilities } = s.opened._meta.acpd.capabilities;

	for (const [what, block, { needs, text, image, mime, odd }] of BLOCKS) {
		const { result, error, requests } = await prompt(s, 'session/prompt', { type: 'text', text: 'TEXT:ok' }, block);
		const told = `${what}: ${JSON.stringify(result ?? { ...error.data, message: error.message })}`;

		if (needs && !promptCapabilities[needs])
			assert.deepEqual([error?.code, error?.data.reason, error?.data.field], [-32602, 'CAPABILITY_MISSING', 'prompt[1]'], told);
		else if (odd)
			assert.deepEqual([error?.code, error?.data.reason, error?.data.field], [-32602, 'FIELD_MISSING', 'prompt[1]'], told);
		else if (text === undefined && !image)
			assert.deepEqual([error?.code, error?.data.reason, error?.data.field], [-32602, 'CONTENT_UNSUPPORTED', 'prompt[1]'], told);
		assert.equal(requests.length, error ? 0 : 1, `${told}: calls of the model`);
		if (error)
			continue;
		const got = lastMessage(requests[0]);
		assert.ok(got.text.includes(text ?? ''), `${told}: ${got.text}`);
		if (image && mime === 'image/gif' && x.h.gifAsPng)
			assert.match(got.images.join(), /^data:image\/png;base64,[^,]+$/, told);
		else
			assert.deepEqual(got.images, image ? [`data:${mime};base64,${image}`] : [], told);
	}
	await s.goesOn();
}

// Blocks of one prompt keep their order and their number; the block that is to blame is named by its place.
async function several(x, t) {
	const s = await x.session(t);
	const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
	const blob = (mimeType, text) => ({ type: 'resource', resource: { uri: 'file:///far/b', mimeType, blob: text } });
	const { result, requests } = await prompt(s, 'session/prompt', { type: 'text', text: 'TEXT:ok' }, image, { type: 'text', text: 'BETWEEN' }, blob('image/png', PIXEL));

	assert.equal(result?.stopReason, 'end_turn');
	assert.deepEqual(lastMessage(requests[0]).images, [PIXEL, PIXEL].map((p) => `data:image/png;base64,${p}`));
	assert.match(lastMessage(requests[0]).text, /BETWEEN/);
	const refused = await prompt(s, 'session/prompt', { type: 'text', text: 'TEXT:no' }, blob('image/png', PIXEL), blob('application/zip', 'UEsDBA=='));

	assert.deepEqual([refused.error?.data.reason, refused.error?.data.field, refused.requests.length], ['CONTENT_UNSUPPORTED', 'prompt[2]', 0]);
	assert.match(refused.error.message, /application\/zip/);
	const steered = await prompt(s, '_session/steering', { type: 'text', text: 'TEXT:no' }, blob('application/zip', 'UEsDBA=='));

	assert.deepEqual([steered.error?.data.reason, steered.error?.data.field], ['CONTENT_UNSUPPORTED', 'prompt[1]']);
	await s.goesOn();
}

export default [
	['content blocks: each kind is delivered to the model, or refused before it is called', each],
	['content blocks: several in one prompt', several],
];
