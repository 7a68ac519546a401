// SPDX-License-Identifier: Apache-2.0
// How a client speaks each of the four APIs, for tests that are their own client.

import assert from 'node:assert/strict';

// One conversation in four formats: messages are {role: user|assistant|tool, text, call?: {id, name, args}}.
//
//   path(model, stream), headers(key), body(messages, tools)   of a request
//   answer(events)     what a stream said: {text, thought, stop, call?, usage}
//   usage, stops, codes  what the scripted model says unless it is told otherwise
//   refusal(events), written(usage), code(body)   where the API has it
//   whole              the largest number in the usage of a call of 500 tokens, 100 of them cached and 300 written, and 9 of output
//   listed, counted    path, and how to read the answer, of the models and of a count of tokens
export const FORMATS = {
	'openai-chat': {
		path: () => '/v1/chat/completions', whole: 509,
		headers: (key) => ({ authorization: `Bearer ${key}` }),
		body: (messages, tools) => ({
			stream_options: { include_usage: true },
			messages: [{ role: 'system', content: 'be brief' }, ...messages.map((m) =>
				m.role === 'tool' ? { role: 'tool', tool_call_id: m.call.id, content: m.text }
					: m.call ? { role: 'assistant', content: m.text, tool_calls: [{ id: m.call.id, type: 'function',
						function: { name: m.call.name, arguments: m.call.args } }] }
						: { role: m.role, content: m.text })],
			tools: tools.map((name) => ({ type: 'function', function: { name } })),
		}),
		answer(events) {
			const deltas = events.flatMap((e) => e.choices ?? []).map((c) => c.delta);
			const join = (pick) => deltas.map(pick).filter(Boolean).join('');
			const call = deltas.flatMap((d) => d.tool_calls ?? []).find((c) => c.id);
			return { text: join((d) => d.content), thought: join((d) => d.reasoning_content),
				stop: events.flatMap((e) => e.choices ?? []).findLast((c) => c.finish_reason)?.finish_reason,
				call: call && { id: call.id, name: call.function.name,
					args: join((d) => d.tool_calls?.[0].function.arguments) },
				usage: events.findLast((e) => e.usage)?.usage };
		},
		usage: { prompt_tokens: 1200, completion_tokens: 40, total_tokens: 1240,
			prompt_tokens_details: { cached_tokens: 200 }, completion_tokens_details: { reasoning_tokens: 8 } },
		stops: { end: 'stop', tool: 'tool_calls', length: 'length', refusal: 'content_filter', refused: 'stop' },
		refusal: (events) => events.flatMap((e) => e.choices ?? []).map((c) => c.delta.refusal ?? '').join(''),
		written: (usage) => usage.prompt_tokens_details.cache_write_tokens,
		code: (body) => body.error.code,
		codes: { 401: 'invalid_api_key', 429: 'rate_limit_exceeded', 404: 'model_not_found' },
	},
	'openai-responses': {
		path: () => '/v1/responses', whole: 509,
		headers: (key) => ({ authorization: `Bearer ${key}` }),
		body: (messages, tools) => ({
			instructions: 'be brief',
			input: messages.map((m) => m.role === 'tool' ? { type: 'function_call_output', call_id: m.call.id, output: m.text }
				: m.call ? { type: 'function_call', call_id: m.call.id, name: m.call.name, arguments: m.call.args }
					: { role: m.role, content: [{ type: m.role === 'user' ? 'input_text' : 'output_text', text: m.text }] }),
			tools: tools.map((name) => ({ type: 'function', name })),
		}),
		answer(events) {
			const join = (type) => events.filter((e) => e.type === type).map((e) => e.delta).join('');
			const call = events.find((e) => e.type === 'response.output_item.done' && e.item.type === 'function_call')?.item;
			const last = events.at(-1).response;
			events.forEach((e, i) => assert.equal(e.sequence_number, i));
			return { text: join('response.output_text.delta'), thought: join('response.reasoning_summary_text.delta'),
				stop: last?.incomplete_details?.reason ?? last?.status,
				call: call && { id: call.call_id, name: call.name, args: call.arguments }, usage: last?.usage };
		},
		usage: { input_tokens: 1200, input_tokens_details: { cached_tokens: 200 }, output_tokens: 40,
			output_tokens_details: { reasoning_tokens: 8 }, total_tokens: 1240 },
		stops: { end: 'completed', tool: 'completed', length: 'max_output_tokens', refusal: 'content_filter', refused: 'completed' },
		refusal: (events) => events.filter((e) => e.type === 'response.refusal.delta').map((e) => e.delta).join(''),
		written: (usage) => usage.input_tokens_details.cache_write_tokens,
		code: (body) => body.error.code,
		codes: { 401: 'invalid_api_key', 429: 'rate_limit_exceeded', 404: 'model_not_found' },
	},
	anthropic: {
		path: () => '/v1/messages', whole: 300,
		headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
		body: (messages, tools) => ({
			system: 'be brief', max_tokens: 100,
			messages: messages.map((m) => m.role === 'tool' ? { role: 'user', content: [{ type: 'tool_result',
				tool_use_id: m.call.id, content: m.text }] }
				: m.call ? { role: 'assistant', content: [{ type: 'tool_use', id: m.call.id, name: m.call.name,
					input: JSON.parse(m.call.args) }] } : { role: m.role, content: m.text }),
			tools: tools.map((name) => ({ name, input_schema: { type: 'object' } })),
		}),
		answer(events) {
			const join = (key) => events.map((e) => e.delta?.[key]).filter(Boolean).join('');
			const call = events.find((e) => e.content_block?.type === 'tool_use')?.content_block;
			return { text: join('text'), thought: join('thinking'), stop: join('stop_reason'),
				call: call && { id: call.id, name: call.name, args: join('partial_json') },
				usage: events.find((e) => e.type === 'message_delta')?.usage };
		},
		usage: { input_tokens: 1000, cache_read_input_tokens: 200, cache_creation_input_tokens: 0, output_tokens: 40 },
		stops: { end: 'end_turn', tool: 'tool_use', length: 'max_tokens', refusal: 'refusal', refused: 'refusal' },
		refusal: (events) => events.map((e) => e.delta?.text ?? '').join(''),
		written: (usage) => usage.cache_creation_input_tokens,
		code: (body) => body.error.type,
		codes: { 401: 'authentication_error', 429: 'rate_limit_error', 404: 'not_found_error' },
		counted: ['/v1/messages/count_tokens', (body) => body.input_tokens],
		listed: ['/v1/models', (body) => body.data.map((m) => m.id)],
	},
	google: {
		path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, whole: 509,
		headers: (key) => ({ 'x-goog-api-key': key }),
		body: (messages, tools) => ({
			systemInstruction: { parts: [{ text: 'be brief' }] },
			contents: messages.map((m) => m.role === 'tool' ? { role: 'user', parts: [{ functionResponse: { id: m.call.id,
				name: m.call.name, response: { output: m.text } } }] }
				: m.call ? { role: 'model', parts: [{ functionCall: { id: m.call.id, name: m.call.name, args: JSON.parse(m.call.args) } }] }
					: { role: m.role === 'user' ? 'user' : 'model', parts: [{ text: m.text }] }),
			tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: { type: 'object' } })) }],
		}),
		answer(events) {
			const parts = events.flatMap((e) => e.candidates[0].content.parts);
			const join = (thought) => parts.filter((p) => Boolean(p.thought) === thought).map((p) => p.text ?? '').join('');
			const call = parts.find((p) => p.functionCall)?.functionCall;
			assert.ok(events.every((e) => e.usageMetadata.promptTokenCount));
			return { text: join(false), thought: join(true), stop: events.at(-1).candidates[0].finishReason,
				call: call && { id: call.id, name: call.name, args: JSON.stringify(call.args) }, usage: events.at(-1).usageMetadata };
		},
		usage: { promptTokenCount: 1200, cachedContentTokenCount: 200, candidatesTokenCount: 32, thoughtsTokenCount: 8, totalTokenCount: 1240 },
		stops: { end: 'STOP', tool: 'STOP', length: 'MAX_TOKENS', refusal: 'SAFETY', refused: 'STOP' },
		refusal: (events) => events.flatMap((e) => e.candidates[0].content.parts).map((p) => p.text ?? '').join(''),
		written: () => 300, // is not told
		code: (body) => body.error.status,
		codes: { 401: 'UNAUTHENTICATED', 429: 'RESOURCE_EXHAUSTED', 404: 'NOT_FOUND' },
		counted: ['/v1beta/models/m1:countTokens', (body) => body.totalTokens],
		listed: ['/v1beta/models', (body) => body.models.map((m) => m.name.replace('models/', ''))],
	},
};
FORMATS['openai-chat'].listed = FORMATS['openai-responses'].listed = FORMATS.anthropic.listed;

// The JSON of each event of a stream.
export function eventsOf(text) {
	return text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
		.map((line) => JSON.parse(line.slice(6)));
}
