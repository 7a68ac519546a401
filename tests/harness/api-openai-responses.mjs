// SPDX-License-Identifier: Apache-2.0
// OpenAI Responses (POST …/responses), streamed and not.

import { errorBody, credential } from './api-openai-chat.mjs';
import { pieces } from './model-script.mjs';

export const name = 'openai-responses';
export const path = /\/responses$/;
export { errorBody, credential };

function textOf(content) {
	if (typeof content === 'string')
		return content;
	return (content ?? []).map((part) => part.text ?? '').filter(Boolean).join('\n');
}

// Reasoning, message and call items between two results are one answer of the model.
function messageOf(item) {
	switch (item.type ?? 'message') {
	case 'message': return { role: item.role, text: textOf(item.content) };
	case 'function_call':
	case 'custom_tool_call': return { role: 'assistant', text: '', call: true };
	case 'function_call_output':
	case 'custom_tool_call_output': return { role: 'tool', text: textOf(item.output) };
	default: return null;
	}
}

function messagesOf(input) {
	const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input ?? [];
	const out = [];

	for (const item of items) {
		const message = messageOf(item);
		if (message && !(message.role === 'assistant' && out.at(-1)?.role === 'assistant'))
			out.push(message);
	}
	return out;
}

// A namespace (how MCP servers are offered) holds tools of its own.
function toolsOf(tools, namespace) {
	return tools.flatMap((t) => t.type === 'namespace' ? toolsOf(t.tools, t.name) : [{ name: t.name ?? t.type, namespace,
		custom: t.type === 'custom', properties: Object.keys(t.parameters?.properties ?? {}) }]);
}

export function read(body) {
	const messages = messagesOf(body.input);
	const system = messages.filter((m) => m.role === 'system' || m.role === 'developer');

	return {
		model: body.model,
		stream: body.stream === true,
		system: [body.instructions ?? '', ...system.map((m) => m.text)].join('\n'),
		messages: messages.filter((m) => !system.includes(m)),
		tools: toolsOf(body.tools ?? []),
		effort: body.reasoning?.effort,
	};
}

function usageOf(u) {
	return {
		input_tokens: u.input,
		input_tokens_details: { cached_tokens: u.cached, ...(u.written && { cache_write_tokens: u.written }) },
		output_tokens: u.output,
		output_tokens_details: { reasoning_tokens: u.reasoning },
		total_tokens: u.input + u.output,
	};
}

export class Encoder {
	#call; #id; #seq = 0; #items = [];

	constructor(call, id) {
		this.#call = call;
		this.#id = id;
	}

	#event(type, data) {
		return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#seq++, ...data })}\n\n`;
	}

	#response(status, more = {}) {
		return { id: 'resp_' + this.#id, object: 'response', created_at: 1700000000, status,
			error: null, incomplete_details: null, instructions: null, model: this.#call.model,
			output: this.#items, parallel_tool_calls: true, tool_choice: 'auto', tools: [],
			usage: null, metadata: {}, ...more };
	}

	begin() {
		return [this.#event('response.created', { response: this.#response('in_progress') }),
			this.#event('response.in_progress', { response: this.#response('in_progress') })];
	}

	part(part) {
		const index = this.#items.length;
		const id = `_${this.#id}_${index}`;
		const item = this.#item(part, id);
		const added = { ...item, ...(part.type === 'tool' ? (item.type === 'custom_tool_call'
			? { input: '' } : { arguments: '' }) : part.type === 'think' ? { summary: [] }
			: { content: [] }), status: 'in_progress' };
		const out = [this.#event('response.output_item.added', { output_index: index, item: added })];

		out.push(...this.#deltas(part, item, { item_id: item.id, output_index: index }));
		this.#items.push(item);
		out.push(this.#event('response.output_item.done', { output_index: index, item }));
		return out;
	}

	#item(part, id) {
		if (part.type === 'think')
			return { id: 'rs' + id, type: 'reasoning', encrypted_content: 'scripted',
				summary: [{ type: 'summary_text', text: part.text }] };
		if (part.type === 'text')
			return { id: 'msg' + id, type: 'message', role: 'assistant', status: 'completed',
				content: [{ type: 'output_text', text: part.text, annotations: [], logprobs: [] }] };
		if (part.type === 'refusal')
			return { id: 'msg' + id, type: 'message', role: 'assistant', status: 'completed',
				content: [{ type: 'refusal', refusal: part.text }] };
		if (this.#call.tools.find((t) => t.name === part.name && !t.namespace)?.custom)
			return { id: 'ctc' + id, type: 'custom_tool_call', call_id: part.id, name: part.name,
				input: typeof part.args === 'string' ? part.args : part.args.input ?? '',
				status: 'completed' };
		return { id: 'fc' + id, type: 'function_call', call_id: part.id, name: part.name,
			...(part.namespace && { namespace: part.namespace }),
			arguments: typeof part.args === 'string' ? part.args : JSON.stringify(part.args),
			status: 'completed' };
	}

	#deltas(part, item, at) {
		const ev = (type, data) => this.#event(type, { ...at, ...data });

		if (part.type === 'think') {
			const s = { summary_index: 0 };
			return [ev('response.reasoning_summary_part.added', { ...s, part: { type: 'summary_text', text: '' } }),
				...pieces(part.text, part.size).map((delta) => ev('response.reasoning_summary_text.delta', { ...s, delta })),
				ev('response.reasoning_summary_text.done', { ...s, text: part.text }),
				ev('response.reasoning_summary_part.done', { ...s, part: item.summary[0] })];
		}
		if (part.type === 'text') {
			const c = { content_index: 0 };
			return [ev('response.content_part.added', { ...c, part: { ...item.content[0], text: '' } }),
				...pieces(part.text, part.size).map((delta) => ev('response.output_text.delta', { ...c, delta, logprobs: [] })),
				ev('response.output_text.done', { ...c, text: part.text, logprobs: [] }),
				ev('response.content_part.done', { ...c, part: item.content[0] })];
		}
		if (part.type === 'refusal') {
			const c = { content_index: 0 };
			return [ev('response.content_part.added', { ...c, part: { type: 'refusal', refusal: '' } }),
				...pieces(part.text, part.size).map((delta) => ev('response.refusal.delta', { ...c, delta })),
				ev('response.refusal.done', { ...c, refusal: part.text }),
				ev('response.content_part.done', { ...c, part: item.content[0] })];
		}
		if (item.type === 'custom_tool_call')
			return [ev('response.custom_tool_call_input.delta', { delta: item.input }),
				ev('response.custom_tool_call_input.done', { input: item.input })];
		return [...(part.size ? pieces(item.arguments, part.size) : [item.arguments]).map((delta) => ev('response.function_call_arguments.delta', { delta })),
			ev('response.function_call_arguments.done', { name: item.name, arguments: item.arguments })];
	}

	#final(reply) {
		const reason = { length: 'max_output_tokens', refusal: 'content_filter' }[reply.stop];
		const usage = usageOf(reply.usage);

		return reason ? this.#response('incomplete', { incomplete_details: { reason }, usage })
			: this.#response('completed', { usage });
	}

	end(reply) {
		const response = this.#final(reply);
		return [this.#event('response.' + response.status, { response })];
	}

	late(error) {
		const { code, type, message } = errorBody(error).error;

		return this.#event('response.failed', { response: this.#response('failed', { error: { code: code ?? type, message } }) });
	}

	broken() {
		return 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":\n\n';
	}

	body(reply) {
		reply.parts.forEach((part) => this.part(part));
		return this.#final(reply);
	}
}
