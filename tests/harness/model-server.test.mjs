// SPDX-License-Identifier: Apache-2.0
// The scripted model server by itself: what it says in each format, how it fails, what it remembers.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { MISBEHAVIOURS } from './misbehaviours.mjs';
import { eventsOf, FORMATS } from './model-formats.mjs';
import { startModelServer } from './model-server.mjs';
import { toolFor } from './model-tools.mjs';

const KEY = 'sk-model-server-test';
let server;

before(async () => { server = await startModelServer({ key: KEY, models: ['m1'] }); });
after(() => server.close());

const user = (...lines) => ({ role: 'user', text: lines.join('\n') });

function post(format, messages, { tools = ['bash'], key = KEY, stream = true, model = 'm1', ...more } = {}) {
	return fetch(server.url + format.path(model, stream), { method: 'POST',
		headers: { 'content-type': 'application/json', ...format.headers(key) },
		body: JSON.stringify({ model, stream, ...format.body(messages, tools) }), ...more });
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
		assert.equal(Math.max(...Object.values(usage).filter((n) => typeof n === 'number')), format.whole);
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
		const broken = await (await post(format, [user('TEXT:a b c', 'MALFORMED')])).text();
		assert.throws(() => eventsOf(broken));
		const hung = await post(format, [user('TEXT:a b', 'HANG')]);
		const reader = hung.body.getReader();
		assert.ok(!(await reader.read()).done);
		await reader.cancel();
	});

	test(`${name}: not streamed`, async () => {
		const body = await (await post(format, [user('THINK:t', 'TEXT:plain body')], { stream: false })).json();

		assert.match(JSON.stringify(body), /plain body/);
		assert.deepEqual(body.usage ?? body.usageMetadata, format.usage);
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

for (const [name, format] of Object.entries(FORMATS)) {
	for (const { lines, status, headers = {}, says, ends, ...row } of MISBEHAVIOURS) {
		test(`${name}: ${row.name}`, async () => {
			const end = new AbortController(), soon = () => setTimeout(() => end.abort(), 200);
			const asked = post(format, [user(...lines)], { signal: end.signal });

			if (status === undefined) {
				soon();
				return assert.rejects(asked, { name: 'AbortError' });
			}
			const response = await asked; // its head comes, however late
			if (ends === 'never')
				soon();
			assert.equal(response.status, status);
			for (const [header, value] of Object.entries(headers))
				assert.equal(response.headers.get(header), value);
			await (ends === 'whole' ? response.text() : assert.rejects(response.text(), ends === 'never' ? { name: 'AbortError' } : TypeError));
			assert.ok(server.requests.at(-1).answer.includes(says ?? ''));
			return undefined;
		});
	}

	test(`${name}: models, and tokens where that can be asked`, async () => {
		const ask = async (path, more) => (await fetch(server.url + path, { headers: format.headers(KEY), ...more })).json();
		const [list, ids] = format.listed;

		assert.deepEqual(ids(await ask(list)), ['m1']);
		assert.match(JSON.stringify(await ask(`${list}/m1`)), /"(id|name)":"(models\/)?m1"/);
		assert.equal((await fetch(server.url + list, { headers: format.headers('sk-other') })).status, 401);
		if (format.counted) {
			const [path, count] = format.counted;
			const body = JSON.stringify({ model: 'm1', ...format.body([user('TEXT:hi')], []) });
			assert.equal(count(await ask(path, { method: 'POST', body })), Math.ceil(body.length / 4));
		}
		assert.deepEqual(server.turns.filter((r) => r.method !== 'POST' || /count/.test(r.path)), []);
	});
}

test('google: a stream without alt=sse is one array', async () => {
	const of = (...lines) => fetch(`${server.url}/v1beta/models/m1:streamGenerateContent?key=${KEY}`, { method: 'POST',
		body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: lines.join('\n') }] }] }) });
	const answer = await of('TEXT:two words');

	assert.equal(answer.headers.get('content-type'), 'application/json');
	assert.equal(FORMATS.google.answer(await answer.json()).text, 'two words');
	assert.equal((await (await of('TEXT:two words', 'LATE:529')).json()).at(-1).error.code, 529);
	await assert.rejects((await of('TEXT:two words', 'MALFORMED')).json(), SyntaxError);
});

test('a request says how it came; an upgrade is refused', async () => {
	const at = server.requests.length;

	await (await post(FORMATS.anthropic, [user('TEXT:hi')])).text();
	const { status } = await new Promise((resolve) => {
		http.get(`${server.url}/v1/responses`, { headers: { connection: 'upgrade', upgrade: 'websocket' } }, (res) => resolve(res.resume() && { status: res.statusCode }));
	});
	const [first, second] = server.requests.slice(at);
	assert.deepEqual([first.method, first.path, first.credential, typeof first.connection], ['POST', '/v1/messages', ['x-api-key'], 'number']);
	assert.match(first.answer, /message_stop/);
	assert.deepEqual([status, second.upgrade, second.side], [426, 'websocket', 'upgrade']);
});

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
