// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages (POST …/messages), streamed and not; …/messages/count_tokens.

import { pieces } from './model-script.mjs';

export const name = 'anthropic';
export const path = /\/messages$/;
export const countPath = /\/messages\/count_tokens$/;
export const models = { path: /\/v1\/models(\/[^/]+)?$/, wants: (headers) => 'anthropic-version' in headers,
	list: (ids) => ({ data: ids.map(models.one), has_more: false, first_id: ids[0], last_id: ids.at(-1) }),
	one: (id) => ({ type: 'model', id, display_name: id, created_at: '2026-01-01T00:00:00Z' }) };

const STOP = { end: 'end_turn', tool: 'tool_use', length: 'max_tokens', refusal: 'refusal', refused: 'refusal' };

function blocks(content) {
	return typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? [];
}

function textOf(content) {
	return blocks(content).map((b) => b.text ?? '').filter(Boolean).join('\n');
}

// Tool results come inside a user message; what stands beside them is the harness's, not the user's.
// Clients join neighbouring user messages into one (after a cancelled turn): the last block is the newest.
function messagesOf(message) {
	const results = blocks(message.content).filter((b) => b.type === 'tool_result');

	if (message.role !== 'user')
		return [{ role: message.role, text: textOf(message.content) }];
	if (results.length > 0)
		return results.map((r) => ({ role: 'tool', text: textOf(r.content) }));
	return blocks(message.content).map((b) => ({ role: 'user', text: b.text ?? '' }));
}

export function read(body) {
	return {
		model: body.model,
		stream: body.stream === true,
		system: textOf(body.system),
		messages: (body.messages ?? []).flatMap(messagesOf),
		tools: (body.tools ?? []).map((t) => ({ name: t.name, custom: false,
			properties: Object.keys(t.input_schema?.properties ?? {}) })),
		effort: body.output_config?.effort ?? body.thinking?.type,
	};
}

export function credential(headers) {
	return headers['x-api-key'] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
}

// Here the input count leaves out what was read from or written to the cache.
function usageOf(u) {
	return {
		input_tokens: u.input - u.cached - u.written,
		cache_read_input_tokens: u.cached,
		cache_creation_input_tokens: u.written,
		output_tokens: u.output,
	};
}

const frame = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

export class Encoder {
	#call; #id; #index = 0; #usage;

	constructor(call, id, reply) {
		this.#call = call;
		this.#id = 'msg_' + id;
		this.#usage = usageOf(reply.usage);
	}

	#message(more) {
		return { id: this.#id, type: 'message', role: 'assistant', model: this.#call.model,
			content: [], stop_reason: null, stop_sequence: null, ...more };
	}

	begin() {
		return [frame('message_start', { message: this.#message({ usage: { ...this.#usage, output_tokens: 1 } }) }),
			frame('ping', {})];
	}

	part(part) {
		const index = this.#index++;
		const delta = (d) => frame('content_block_delta', { index, delta: d });
		let start;
		let deltas;

		if (part.type === 'think') {
			start = { type: 'thinking', thinking: '', signature: '' };
			deltas = [...pieces(part.text).map((p) => delta({ type: 'thinking_delta', thinking: p })),
				delta({ type: 'signature_delta', signature: 'c2NyaXB0ZWQ=' })];
		} else if (part.type === 'text' || part.type === 'refusal') {
			start = { type: 'text', text: '' };
			deltas = pieces(part.text).map((p) => delta({ type: 'text_delta', text: p }));
		} else {
			const json = JSON.stringify(part.args);
			const half = json.length >> 1;
			start = { type: 'tool_use', id: part.id, name: part.name, input: {} };
			deltas = [json.slice(0, half), json.slice(half)]
				.map((p) => delta({ type: 'input_json_delta', partial_json: p }));
		}
		return [frame('content_block_start', { index, content_block: start }), ...deltas,
			frame('content_block_stop', { index })];
	}

	end(reply) {
		return [frame('message_delta', { delta: { stop_reason: STOP[reply.stop] ?? reply.stop,
			stop_sequence: null }, usage: this.#usage }), frame('message_stop', {})];
	}

	late(error) {
		return frame('error', errorBody(error));
	}

	broken() {
		return 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":\n\n';
	}

	body(reply) {
		const block = (p) => p.type === 'think'
			? { type: 'thinking', thinking: p.text, signature: 'c2NyaXB0ZWQ=' }
			: p.type !== 'tool' ? { type: 'text', text: p.text }
				: { type: 'tool_use', id: p.id, name: p.name, input: p.args };

		return this.#message({ content: reply.parts.map(block),
			stop_reason: STOP[reply.stop] ?? reply.stop, usage: this.#usage });
	}
}

export const counted = (n) => ({ input_tokens: n });

const ERRORS = {
	400: ['invalid_request_error', 'The request was not valid.'],
	401: ['authentication_error', 'invalid x-api-key'],
	402: ['billing_error', 'Your credit balance is too low.'],
	403: ['permission_error', 'This key may not use the model.'],
	404: ['not_found_error', 'model: not found'],
	429: ['rate_limit_error', 'This request would exceed your rate limit.'],
	500: ['api_error', 'Internal server error'],
	503: ['api_error', 'Service unavailable'],
	529: ['overloaded_error', 'Overloaded'],
};

export function errorBody(error) {
	const [type, message] = error.overflow
		? ['invalid_request_error', 'prompt is too long: 250000 tokens > 100000 maximum']
		: ERRORS[error.status] ?? ['api_error', 'Error ' + error.status];

	return { type: 'error', error: { type: error.code ?? type, message: error.message ?? message }, request_id: 'req_scripted' };
}
