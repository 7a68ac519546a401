// SPDX-License-Identifier: Apache-2.0
// The scripted model server by itself: what it says in each format, how it fails, what it remembers.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { startModelServer } from './model-server.mjs';
import { toolFor } from './model-tools.mjs';

const KEY = 'sk-model-server-test';
let server;

before(async () => { server = await startModelServer({ key: KEY, models: ['m1'] }); });
after(() => server.close());

// One conversation in three formats: messages are {role: user|assistant|tool, text, call?: {id, name, args}}.
const FORMATS = {
	'openai-chat': {
		path: '/v1/chat/completions',
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
		path: '/v1/responses',
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
		path: '/v1/messages',
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
	},
};

const user = (...lines) => ({ role: 'user', text: lines.join('\n') });

function post(format, messages, { tools = ['bash'], key = KEY, stream = true, model = 'm1', ...more } = {}) {
	return fetch(server.url + format.path, { method: 'POST',
		headers: { 'content-type': 'application/json', ...format.headers(key) },
		body: JSON.stringify({ model, stream, ...format.body(messages, tools) }), ...more });
}

function eventsOf(text) {
	return text.split('\n').filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
		.map((line) => JSON.parse(line.slice(6)));
}

async function ask(format, ...messages) {
	const response = await post(format, messages);

	assert.equal(response.status, 200);
	return format.answer(eventsOf(await response.text()));
}

for (const [name, format] of Object.entries(FORMATS)) {
	test(`${name}: text, thoughts, usage`, async () => {
		const answer = await ask(format, user('THINK:a thought', 'TEXT: two words\\nmore'));

		assert.equal(answer.thought, 'a thought');
		assert.equal(answer.text, ' two words\nmore');
		assert.equal(answer.stop, format.stops.end);
		assert.deepEqual(answer.usage, format.usage);
		const record = server.requests.at(-1);
		assert.deepEqual([record.api, record.model, record.auth, record.keyMatches, record.side, record.tools],
			[name, 'm1', true, true, null, ['bash']]);
		assert.equal((await ask(format, user('STOP:length', 'TEXT:cut'))).stop, format.stops.length);
	});

	test(`${name}: each tool result brings the next line`, async () => {
		const first = user('TEXT:first', 'TOOL:bash {"command":"ls -l"}', 'TOOL:bash {"command":"id"}', 'TEXT:last');
		const one = await ask(format, user('TEXT:earlier turn'), { role: 'assistant', text: 'earlier turn' }, first);

		assert.equal(one.text, 'first');
		assert.deepEqual([one.call.name, JSON.parse(one.call.args), one.stop], ['bash', { command: 'ls -l' }, format.stops.tool]);
		const result = [{ role: 'assistant', text: 'first', call: one.call }, { role: 'tool', text: 'file', call: one.call }];
		const two = await ask(format, first, ...result);
		assert.deepEqual(JSON.parse(two.call.args), { command: 'id' });
		const three = await ask(format, first, ...result, ...result.map((m) => ({ ...m, call: two.call })));
		assert.deepEqual([three.text, three.call], ['last', undefined]);
		assert.match((await ask(format, user('TOOL:bash {}'), ...result)).text, /answered: file/);
	});

	test(`${name}: scripted numbers, refusals`, async () => {
		const { usage } = await ask(format, user('USAGE:{"input":500,"cached":100,"written":300,"output":9,"reasoning":0}', 'TEXT:hi'));
		assert.equal(format.written(usage), 300);
		assert.equal(Math.max(...Object.values(usage).filter((n) => typeof n === 'number')), format.path.endsWith('messages') ? 300 : 509);
		assert.equal((await ask(format, user('STOP:refusal', 'TEXT:no'))).stop, format.stops.refusal);
		const events = eventsOf(await (await post(format, [user('REFUSE:I will not.')])).text());
		assert.equal(format.refusal(events), 'I will not.');
		assert.equal(format.answer(events).stop, format.stops.refused);
	});

	test(`${name}: an answer that led to no result is given again`, async () => {
		const script = user('TEXT:whole', 'TOOL:bash {}', 'TEXT:last');

		assert.equal((await ask(format, script, { role: 'assistant', text: 'wh' })).text, 'whole');
	});

	test(`${name}: fails as the provider does`, async () => {
		for (const [line, status] of [['ERR:401', 401], ['ERR:429', 429], ['ERR:500', 500], ['OVERFLOW', 400]]) {
			const response = await post(format, [user(line)]);
			assert.equal(response.status, status);
			assert.equal(response.headers.get('retry-after'), status === 429 ? '1' : null);
			const body = await response.json();
			assert.ok(body.error.message);
			if (format.codes[status])
				assert.equal(format.code(body), format.codes[status]);
		}
		const bare = await post(format, [user('ERR:429 retry-after=none code=insufficient_quota')]);
		assert.deepEqual([bare.status, bare.headers.get('retry-after'), format.code(await bare.json())], [429, null, 'insufficient_quota']);
		assert.equal((await post(format, [user('ERR:503 retry-after=7')])).headers.get('retry-after'), '7');
		assert.equal((await post(format, [user('hi')], { key: 'sk-other' })).status, 401);
		assert.equal((await post(format, [user('hi')], { model: 'm2' })).status, 404);
		const flaky = () => post(format, [user(`ERR:500x2 retry-after=0`, 'TEXT:recovered')]);
		assert.deepEqual([(await flaky()).status, (await flaky()).status, (await flaky()).status], [500, 500, 200]);
	});

	test(`${name}: a stream that breaks`, async () => {
		await assert.rejects(post(format, [user('TEXT:a b c', 'CUT')]).then((r) => r.text()));
		const broken = await (await post(format, [user('TEXT:a b c', 'MALFORMED')])).text();
		assert.throws(() => eventsOf(broken));
		await assert.rejects(post(format, [user('HANG')], { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' });
		const hung = await post(format, [user('TEXT:a b', 'HANG')]);
		const reader = hung.body.getReader();
		assert.ok(!(await reader.read()).done);
		await reader.cancel();
	});

	test(`${name}: not streamed`, async () => {
		const body = await (await post(format, [user('THINK:t', 'TEXT:plain body')], { stream: false })).json();

		assert.match(JSON.stringify(body), /plain body/);
		assert.deepEqual(body.usage, format.usage);
	});

	test(`${name}: what is no script, titles, scenarios, recall`, async () => {
		assert.match((await ask(format, user('hello there'))).text, /You said: hello there/);
		const noted = user('TEXT:seen', '<system-reminder>TEXT:not this</system-reminder>');
		assert.equal((await ask(format, noted)).text, 'seen');
		assert.equal((await ask(format, user('first words'), { role: 'assistant', text: 'x' }, user('RECALL'))).text,
			'Recalled: ["first words","RECALL"]');
		const title = await post(format, [user('Generate a title for this conversation:'), user('ERR:500')], { tools: [] });
		assert.match(format.answer(eventsOf(await title.text())).text, /^A scripted session$/);
		assert.equal(server.requests.at(-1).side, 'title');
		server.scenarios.push({ when: /^please/, lines: (call) => [`TEXT:as ${call.model} was told`] });
		assert.equal((await ask(format, user('please do'))).text, 'as m1 was told');
		server.scenarios.length = 0;
	});
}

// --- wishes ----------------------------------------------------------------------------------

const tools = (...list) => list.map(([name, ...properties]) => ({ name, properties, custom: false }));
const OFFERED = {
	opencode: tools(['bash', 'command', 'description'], ['read', 'filePath'], ['edit', 'filePath', 'oldString', 'newString'],
		['write', 'filePath', 'content'], ['files_search', 'query']),
	pi: tools(['bash', 'command', 'timeout'], ['read', 'path'], ['edit', 'path', 'edits'], ['write', 'path', 'content'],
		['mcp__files__search', 'query']),
	codex: [...tools(['exec_command', 'cmd']), { name: 'search', namespace: 'mcp__files', properties: ['query'], custom: false }],
};
const EDIT = JSON.stringify({ file: 'a.txt', from: 'one\ntwo', to: '1' });
const PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n-two\n+1\n*** End Patch\nEOF";

test('a wish becomes the tool that the harness offers', () => {
	const asked = (wish, arg) => Object.fromEntries(Object.entries(OFFERED).map(([id, list]) => [id, toolFor(wish, arg, list)]));

	assert.deepEqual(asked('RUN', 'ls -l'), {
		opencode: { name: 'bash', args: { command: 'ls -l', description: 'a scripted command' } },
		pi: { name: 'bash', args: { command: 'ls -l' } },
		codex: { name: 'exec_command', args: { cmd: 'ls -l', yield_time_ms: 30_000 } },
	});
	assert.deepEqual(asked('EDIT', EDIT), {
		opencode: { name: 'edit', args: { filePath: 'a.txt', oldString: 'one\ntwo', newString: '1' } },
		pi: { name: 'edit', args: { path: 'a.txt', edits: [{ oldText: 'one\ntwo', newText: '1' }] } },
		codex: { name: 'exec_command', args: { cmd: PATCH, yield_time_ms: 30_000 } },
	});
	assert.deepEqual(asked('READ', "it's").codex.args.cmd, "cat 'it'\\''s'");
	assert.deepEqual(Object.values(asked('MCP', 'files search {"query":"x"}')).map(({ name, namespace }) => [namespace, name]),
		[[undefined, 'files_search'], [undefined, 'mcp__files__search'], ['mcp__files', 'search']]);
	assert.equal(toolFor('MCP', 'files delete {}', OFFERED.pi), null);
	assert.equal(toolFor('EDIT', EDIT, []), null);
});
