// SPDX-License-Identifier: Apache-2.0
// Google Gemini (POST …/models/M:generateContent, …:streamGenerateContent with and without alt=sse). The model stands in the path.

import { pieces } from './model-script.mjs';

export const name = 'google';
export const path = /\/models\/[^/]+:(generateContent|streamGenerateContent)$/;
export const countPath = /\/models\/[^/]+:countTokens$/;
export const models = { path: /\/v1beta\/models(\/[^/:]+)?$/,
	list: (ids) => ({ models: ids.map(models.one) }),
	one: (id) => ({ name: `models/${id}`, displayName: id, supportedGenerationMethods: ['generateContent', 'countTokens'] }) };

const FINISH = { end: 'STOP', tool: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY', refused: 'STOP' };

const textOf = (parts) => (parts ?? []).map((p) => p.text ?? '').filter(Boolean).join('\n');
const resultOf = ({ response }) => String(response?.output ?? response?.error ?? JSON.stringify(response));

// Tool results come inside a user message; clients put several pieces of text into one, of which the last is the newest.
function messagesOf({ role, parts = [] }) {
	const results = parts.filter((p) => p.functionResponse);

	if (role === 'model')
		return [{ role: 'assistant', text: textOf(parts.filter((p) => !p.thought)) }];
	if (results.length > 0)
		return results.map((p) => ({ role: 'tool', text: resultOf(p.functionResponse) }));
	return parts.map((p) => ({ role: 'user', text: p.text ?? '' }));
}

const declared = (tools) => tools.flatMap((t) => t.functionDeclarations ?? []);

export function read(body, url) {
	const [, model, what] = /\/models\/([^/]+):(\w+)$/.exec(url.pathname);

	return {
		model: decodeURIComponent(model),
		stream: what === 'streamGenerateContent',
		sse: url.searchParams.get('alt') === 'sse',
		system: textOf(body.systemInstruction?.parts),
		messages: (body.contents ?? []).flatMap(messagesOf),
		tools: declared(body.tools ?? []).map((t) => ({ name: t.name, custom: false,
			properties: Object.keys((t.parametersJsonSchema ?? t.parameters)?.properties ?? {}) })),
		effort: body.generationConfig?.thinkingConfig?.thinkingLevel,
	};
}

export function credential(headers, url) {
	return headers['x-goog-api-key'] ?? url.searchParams.get('key') ?? undefined;
}

// Reasoning is beside the output here, and what was read from the cache within the input.
function usageOf(u) {
	return {
		promptTokenCount: u.input,
		...(u.cached && { cachedContentTokenCount: u.cached }),
		candidatesTokenCount: u.output - u.reasoning,
		...(u.reasoning && { thoughtsTokenCount: u.reasoning }),
		totalTokenCount: u.input + u.output,
	};
}

const partsOf = (part) => part.type === 'think' ? pieces(part.text).map((text) => ({ text, thought: true }))
	: part.type === 'tool' ? [{ functionCall: { id: part.id, name: part.name, args: part.args } }]
		: pieces(part.text).map((text) => ({ text }));

// A stream is Server-Sent Events, or one array that grows.
export class Encoder {
	#call; #id; #usage; #n = 0;

	constructor(call, id, reply) {
		this.#call = call;
		this.#id = `response-${id}`;
		this.#usage = reply.usage;
		this.type = call.sse ? undefined : 'application/json';
	}

	#frame(data) {
		const text = JSON.stringify(data);

		return this.#call.sse ? `data: ${text}\r\n\r\n` : (this.#n++ ? ',\r\n' : '[') + text;
	}

	// Each chunk has the numbers so far.
	#chunk(parts, usage, finishReason) {
		return { candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }), index: 0 }],
			usageMetadata: usageOf(usage), modelVersion: this.#call.model, responseId: this.#id };
	}

	begin() {
		return [];
	}

	part(part) {
		const sofar = { ...this.#usage, output: 1, reasoning: 0 };

		return partsOf(part).map((p) => this.#frame(this.#chunk([p], sofar)));
	}

	#final(reply, parts) {
		return this.#chunk(parts, reply.usage, FINISH[reply.stop] ?? reply.stop);
	}

	end(reply) {
		return [this.#frame(this.#final(reply, [{ text: '' }])) + (this.#call.sse ? '' : ']')];
	}

	late(error) {
		return this.#frame(errorBody(error)) + (this.#call.sse ? '' : ']');
	}

	broken() {
		return this.#call.sse ? 'data: {"candidates":[{"content":\r\n\r\n' : ',\r\n{"candidates":[{"content":';
	}

	body(reply) {
		return this.#final(reply, reply.parts.flatMap((p) => p.type === 'tool' ? partsOf(p)
			: [{ text: p.text, ...(p.type === 'think' && { thought: true }) }]));
	}
}

export const counted = (n) => ({ totalTokens: n });

const ERRORS = {
	400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
	401: ['UNAUTHENTICATED', 'API key not valid. Please pass a valid API key.'],
	402: ['FAILED_PRECONDITION', 'Billing is not enabled for this project.'],
	403: ['PERMISSION_DENIED', 'This key may not use the model.'],
	404: ['NOT_FOUND', 'The model is not found.'],
	429: ['RESOURCE_EXHAUSTED', 'Quota exceeded for this minute, try again later.'],
	500: ['INTERNAL', 'An internal error has occurred.'],
	503: ['UNAVAILABLE', 'The model is overloaded.'],
	529: ['UNAVAILABLE', 'The model is overloaded.'],
};

export function errorBody(error) {
	const [status, message] = error.overflow
		? ['INVALID_ARGUMENT', 'The input token count (250000) exceeds the maximum number of tokens allowed (100000).']
		: ERRORS[error.status] ?? ['UNKNOWN', 'Error ' + error.status];

	return { error: { code: error.status, message: error.message ?? message, status: error.code ?? status } };
}
