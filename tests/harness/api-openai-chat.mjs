// SPDX-License-Identifier: Apache-2.0
// OpenAI Chat Completions (POST …/chat/completions), streamed and not.

import { pieces } from './model-script.mjs';

export const name = 'openai-chat';
export const path = /\/chat\/completions$/;
export const models = { path: /\/models(\/[^/]+)?$/, list: (ids) => ({ object: 'list', data: ids.map(models.one) }),
	one: (id) => ({ id, object: 'model', created: 1700000000, owned_by: 'scripted' }) };

const FINISH = { end: 'stop', tool: 'tool_calls', length: 'length', refusal: 'content_filter', refused: 'stop' };

function textOf(content) {
	if (typeof content === 'string')
		return content;
	return (content ?? []).map((part) => part.text ?? '').filter(Boolean).join('\n');
}

export function read(body) {
	const messages = body.messages ?? [];
	const system = messages.filter((m) => m.role === 'system' || m.role === 'developer');

	return {
		model: body.model,
		stream: body.stream === true,
		wantsUsage: body.stream !== true || body.stream_options?.include_usage === true,
		system: system.map((m) => textOf(m.content)).join('\n'),
		messages: messages.filter((m) => !system.includes(m))
			.map((m) => ({ role: m.role, text: textOf(m.content) })),
		tools: (body.tools ?? []).map((t) => ({ name: t.function?.name, custom: false,
			properties: Object.keys(t.function?.parameters?.properties ?? {}) })),
		effort: body.reasoning_effort,
	};
}

export function credential(headers) {
	const [, key] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
	return key;
}

function usageOf(u) {
	return {
		prompt_tokens: u.input,
		completion_tokens: u.output,
		total_tokens: u.input + u.output,
		prompt_tokens_details: { cached_tokens: u.cached, ...(u.written && { cache_write_tokens: u.written }) },
		completion_tokens_details: { reasoning_tokens: u.reasoning },
	};
}

const frame = (data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const argsOf = (part) => typeof part.args === 'string' ? part.args : JSON.stringify(part.args);

export class Encoder {
	#call; #id; #tools = 0;

	constructor(call, id) {
		this.#call = call;
		this.#id = 'chatcmpl-' + id;
	}

	#chunk(delta, finish = null, more = {}) {
		return frame({ id: this.#id, object: 'chat.completion.chunk', created: 1700000000,
			model: this.#call.model, choices: [{ index: 0, delta, finish_reason: finish }], ...more });
	}

	begin() {
		return [this.#chunk({ role: 'assistant', content: '' })];
	}

	part(part) {
		if (part.type === 'think')
			return pieces(part.text, part.size).map((p) => this.#chunk({ reasoning_content: p }));
		if (part.type === 'text')
			return pieces(part.text, part.size).map((p) => this.#chunk({ content: p }));
		if (part.type === 'refusal')
			return pieces(part.text, part.size).map((p) => this.#chunk({ refusal: p }));
		const index = this.#tools++;
		const call = (fn, more = {}) => this.#chunk({ tool_calls: [{ index, ...more, function: fn }] });
		const args = argsOf(part);
		const half = args.length >> 1;
		return [call({ name: part.name, arguments: '' }, { id: part.id, type: 'function' }),
			...(part.size ? pieces(args, part.size) : [args.slice(0, half), args.slice(half)]).map((p) => call({ arguments: p }))];
	}

	end(reply) {
		const out = [this.#chunk({}, FINISH[reply.stop] ?? reply.stop)];

		if (this.#call.wantsUsage)
			out.push(frame({ id: this.#id, object: 'chat.completion.chunk', created: 1700000000,
				model: this.#call.model, choices: [], usage: usageOf(reply.usage) }));
		return [...out, frame('[DONE]')];
	}

	late(error) {
		return frame(errorBody(error));
	}

	broken() {
		return 'data: {"id":"chatcmpl-broken","choices":[{"delta":{"content":\n\n';
	}

	body(reply) {
		const of = (type) => reply.parts.filter((p) => p.type === type);
		const join = (type) => of(type).map((p) => p.text).join('') || null;
		const calls = of('tool').map((p) => ({ id: p.id, type: 'function',
			function: { name: p.name, arguments: argsOf(p) } }));

		return { id: this.#id, object: 'chat.completion', created: 1700000000, model: this.#call.model,
			choices: [{ index: 0, finish_reason: FINISH[reply.stop] ?? reply.stop,
				message: { role: 'assistant', content: join('text'), reasoning_content: join('think'), refusal: join('refusal'),
					...(calls.length ? { tool_calls: calls } : {}) } }],
			usage: usageOf(reply.usage) };
	}
}

const ERRORS = {
	400: ['invalid_request_error', null, 'The request was not valid.'],
	401: ['invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'],
	402: ['insufficient_quota', 'insufficient_quota', 'Insufficient balance.'],
	403: ['invalid_request_error', 'forbidden', 'This key may not use the model.'],
	404: ['invalid_request_error', 'model_not_found', 'The model does not exist.'],
	429: ['requests', 'rate_limit_exceeded', 'Rate limit reached, try again later.'],
	500: ['server_error', null, 'The server had an error while processing your request.'],
	503: ['server_error', null, 'The engine is currently overloaded.'],
	529: ['server_error', 'server_overloaded', 'The engine is currently overloaded.'],
};

export function errorBody(error) {
	const [type, code, message] = error.overflow
		? ['invalid_request_error', 'context_length_exceeded',
			"This model's maximum context length is 100000 tokens. However, your messages resulted in 250000 tokens."]
		: ERRORS[error.status] ?? ['server_error', null, 'Error ' + error.status];

	return { error: { message: error.message ?? message, type: error.code ?? type, param: null, code: error.code ?? code } };
}
