// SPDX-License-Identifier: Apache-2.0
// Every kind of content block, with and without what is optional, for the tests of what a harness is given of a prompt.

export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
export const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

const base64 = (text) => Buffer.from(text).toString('base64');
const link = (more) => ({ type: 'resource_link', uri: 'https://example.com/LINK-MARK.png', name: 'LINK-MARK.png', ...more });
const resource = (more) => ({ type: 'resource', resource: { uri: 'file:///far/RES-MARK.x', ...more } });

// [what, the block, what a model must get of it: `text` (a part of what it reads) or `image` (its base64); neither: nothing can deliver it]
// needs: what has to be announced (promptCapabilities). odd: it is no block of ACP's, and refused whatever is announced.
export const BLOCKS = [
	['text', { type: 'text', text: 'TEXT-MARK' }, { text: 'TEXT-MARK' }],
	['text with annotations', { type: 'text', text: 'TEXT-MARK', annotations: { audience: ['assistant'], priority: 1 } }, { text: 'TEXT-MARK' }],
	['link', link(), { text: 'LINK-MARK.png' }],
	['link with mimeType', link({ mimeType: 'image/png', size: 70, title: 'T', description: 'D' }), { text: 'LINK-MARK.png' }],
	['link to a file', link({ uri: 'file:///far/LINK-MARK.txt', name: 'LINK-MARK.txt' }), { text: 'LINK-MARK.txt' }],
	['link without a name', link({ name: '' }), { text: 'LINK-MARK.png' }],
	['image', { type: 'image', data: PIXEL, mimeType: 'image/png' }, { needs: 'image', image: PIXEL, mime: 'image/png' }],
	['image with uri', { type: 'image', data: PIXEL, mimeType: 'image/png', uri: 'file:///far/a.png' }, { needs: 'image', image: PIXEL, mime: 'image/png' }],
	['image with the mimeType of another', { type: 'image', data: GIF, mimeType: 'image/png' }, { needs: 'image', image: GIF, mime: 'image/gif' }],
	['image of a type that models do not take', { type: 'image', data: base64('<svg xmlns="http://www.w3.org/2000/svg"/>'), mimeType: 'image/svg+xml' }, { needs: 'image' }],
	['image that is a document', { type: 'image', data: base64('%PDF-1.4'), mimeType: 'application/pdf' }, { needs: 'image' }],
	['image that is none', { type: 'image', data: base64('no image'), mimeType: 'image/png' }, { needs: 'image' }],
	['image that is cut off', { type: 'image', data: PIXEL.slice(0, 60), mimeType: 'image/png' }, { needs: 'image' }],
	['image that is not base64', { type: 'image', data: '###', mimeType: 'image/png' }, { needs: 'image' }],
	['image without bytes', { type: 'image', data: '', mimeType: 'image/png' }, { needs: 'image' }],
	['image without mimeType', { type: 'image', data: PIXEL }, { needs: 'image', odd: true }],
	['audio', { type: 'audio', data: base64('RIFF....WAVE'), mimeType: 'audio/wav' }, { needs: 'audio' }],
	['audio without mimeType', { type: 'audio', data: base64('RIFF....WAVE') }, { needs: 'audio', odd: true }],
	['resource with text', resource({ text: 'RES-TEXT' }), { needs: 'embeddedContext', text: 'RES-TEXT' }],
	['resource with text and mimeType', resource({ text: 'RES-TEXT', mimeType: 'text/markdown' }), { needs: 'embeddedContext', text: 'RES-TEXT' }],
	['resource with an empty text', resource({ text: '' }), { needs: 'embeddedContext', text: 'RES-MARK.x' }],
	['resource with text and a blob', resource({ text: 'RES-TEXT', blob: PIXEL }), { needs: 'embeddedContext', text: 'RES-TEXT' }],
	['resource that is an image', resource({ blob: PIXEL, mimeType: 'image/png' }), { needs: 'embeddedContext', image: PIXEL, mime: 'image/png' }],
	['resource that is an image, without mimeType', resource({ blob: PIXEL }), { needs: 'embeddedContext', image: PIXEL, mime: 'image/png' }],
	['resource that is an image of no known type', resource({ blob: base64('no image'), mimeType: 'image/x-own' }), { needs: 'embeddedContext' }],
	['resource that is a document', resource({ blob: base64('%PDF-1.4'), mimeType: 'application/pdf' }), { needs: 'embeddedContext' }],
	['resource that is a sound', resource({ blob: base64('RIFF....WAVE'), mimeType: 'audio/wav' }), { needs: 'embeddedContext' }],
	['resource of an unknown type', resource({ blob: base64('\0\x01'), mimeType: 'application/x-own' }), { needs: 'embeddedContext' }],
	['resource of bytes alone', resource({ blob: base64('\0\x01') }), { needs: 'embeddedContext' }],
	['resource without content', resource({}), { needs: 'embeddedContext', odd: true }],
	['resource without uri', { type: 'resource', resource: { text: 'RES-TEXT' } }, { needs: 'embeddedContext', odd: true }],
	['resource without all', { type: 'resource' }, { needs: 'embeddedContext', odd: true }],
];
