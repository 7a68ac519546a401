// SPDX-License-Identifier: Apache-2.0
// Odd text in a prompt, by what the model's own request has of it; in answers and errors of the provider; to and from relayed
// tools. tests/integration/text does the same with an ACP agent.

import assert from 'node:assert/strict';

import { ODD_TEXTS, arrives, inOneLine, shown as inError } from '../../lib/odd-text.mjs';
import { shown } from '../play.mjs';
import { Tools } from './relay.mjs';

const PLACES = {
	'a text block': (odd) => ({ type: 'text', text: `<${odd}>` }),
	'the name of a link': (odd) => ({ type: 'resource_link', uri: 'https://example.com/x', name: `<${odd}>` }),
	'the text of a resource': (odd) => ({ type: 'resource', resource: { uri: 'file:///far/x', text: `<${odd}>` } }),
};

// Texts of 1 MB in prompts would be a question of the model's context.
const LONG = 1e5;
const TEXTS = ODD_TEXTS.filter(([, json]) => json.length < LONG);

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

// What a model or its provider says. A line of a script ends with a line break, so that one is written as an escape.
const lineOf = (json) => JSON.parse(`"${json}"`).replaceAll('\n', '\\n');

// Plays the lines in the session's next calls while play() runs.
async function scripted(s, lines, play) {
	const { model } = s.x;
	const scenario = { model: s.model, lines };

	model.scenarios.push(scenario);
	try {
		return await play();
	} finally {
		model.scenarios.splice(model.scenarios.indexOf(scenario), 1);
	}
}

async function answered(x, t) {
	const s = await x.session(t, {}); // a session of its own: the text of 1 MB stays in its history

	for (const [what, json, halves] of ODD_TEXTS) {
		const lines = [`THINK:<${lineOf(json)}>`, `TEXT:<${lineOf(json)}>`];

		if (halves && x.h.refusesHalves) {
			assert.equal((await scripted(s, lines, () => s.fails('say it'))).class, 'provider', what);
			continue;
		}
		const { thoughts, text } = await scripted(s, lines, () => s.turn('say it'));
		for (const had of [thoughts, text])
			assert.ok(had === `<${arrives(json)}>`, `${what}: ${JSON.stringify(had).slice(0, 200)}`);
	}
	await s.goesOn();
}

const MESSAGE_LEAST = 100; // characters of a long error that are delivered

async function refused(x, t) {
	const s = await x.session(t);

	for (const [what, json] of ODD_TEXTS) {
		const { message } = await scripted(s, [`ERR:400 message=<${lineOf(json)}>`], () => s.fails('say it'));

		assert.ok(message.isWellFormed(), `${what}: ${JSON.stringify(message)}`);
		if (x.route === 'environment') // the harness alone has seen it, and words it as it likes
			continue;
		const whole = `<${inOneLine(inError(json))}>`;
		const at = Math.max(message.indexOf('<'), 0); // a harness that is given a part of a long one shows the JSON around it

		assert.ok(whole.startsWith(message.slice(at)) && message.length - at >= Math.min(whole.length, MESSAGE_LEAST), `${what}: ${message}`);
	}
	await s.goesOn();
}

// A tool of the orchestrator's that answers with the odd text of a row, n.
async function oddTool(x, t) {
	const s = await x.shared(t, 'odd tool', async () => {
		const [on, calls] = [await x.connect({}), []];
		const tools = new Tools([{ name: 'say', description: 'Says a text.',
			inputSchema: { type: 'object', properties: { n: { type: 'number' }, text: { type: 'string' } } } }]);
		const handler = (request) => {
			if (request.method !== 'tools/call')
				return tools.handler(request);
			calls.push(request.params.arguments);
			return { result: { resultType: 'complete', content: [{ type: 'text', text: `<${JSON.parse(`"${ODD_TEXTS[calls.at(-1).n][1]}"`)}>` }] } };
		};

		return { on, calls, params: { mcpServers: [on.serve('tools', handler)] } };
	});

	s.settings.calls.splice(0);
	return { s, calls: s.settings.calls };
}

async function relayed(x, t) {
	const { s, calls } = await oddTool(x, t);

	for (const [n, [what, json]] of ODD_TEXTS.entries()) {
		const { text, calls: [call] } = await s.turn(`MCP:tools say {"n": ${n}}`, 'TEXT:done');

		assert.deepEqual([text, calls.length], ['done', n + 1], what);
		if (json.length > LONG) // each harness cuts such a result in its own way
			continue;
		assert.ok(s.requests.at(-1).results.at(-1).includes(`<${arrives(json)}>`), `${what}: to the model`);
		assert.ok(shown(call).includes(`<${arrives(json)}>`), `${what}: to the client`);
	}
}

async function called(x, t) {
	const { s, calls } = await oddTool(x, t);

	for (const [n, [what, json, halves]] of ODD_TEXTS.entries()) {
		if (json.length > LONG)
			continue;
		const from = calls.length;
		const { text } = await s.turn(`MCP:tools say {"n": ${n}, "text": "<${json}>"}`, 'TEXT:done');

		assert.equal(text, 'done', what);
		if (halves && x.h.refusesHalves) { // the harness tells the model that its arguments are wrong
			assert.equal(calls.length, from, what);
			assert.match(s.requests.at(-1).results.at(-1), /surrogate|hex escape/, what);
		} else {
			assert.deepEqual(calls.slice(from).map((args) => args.text), [`<${arrives(json)}>`], what);
		}
	}
}

export default [
	['odd text: all of a prompt is delivered to the model, halves of surrogate pairs as U+FFFD', odd],
	['odd text: all that the model says is delivered to the client, halves of surrogate pairs as U+FFFD', answered],
	['odd text: what the provider says in an error is delivered to the client', refused],
	['odd text: what a relayed tool answers is delivered to the model and to the client', relayed],
	['odd text: what the model gives a relayed tool is delivered to it', called],
];
