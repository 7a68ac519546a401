// SPDX-License-Identifier: Apache-2.0
// Odd text in a prompt, by what the model's own request has of it; in answers and errors of the provider; to and from relayed
// tools. tests/integration/text does the same with an ACP agent.

import assert from 'node:assert/strict';

import { ODD_TEXTS, arrives, inOneLine, shown as inError } from '../../lib/odd-text.mjs';
import { shown } from '../play.mjs';
import { relayed } from './relay.mjs';

// Each in a block of its own kind, marked by its place.
const PLACES = {
	'a text block': (text) => ({ type: 'text', text }),
	'the name of a link': (name) => ({ type: 'resource_link', uri: 'https://example.com/x', name }),
	'the text of a resource': (text) => ({ type: 'resource', resource: { uri: 'file:///far/x', text } }),
};
const marked = (place, odd) => `<${place}: ${odd}>`;

// Texts of 1 MB in prompts would be a question of the model's context.
const LONG = 1e5;
const TEXTS = ODD_TEXTS.filter(([, json]) => json.length < LONG);

async function odd(x, t) {
	const s = await x.session(t);

	for (const [what, json] of TEXTS) {
		const at = s.requests.length;
		const blocks = Object.entries(PLACES).map(([place, block]) => block(marked(place, JSON.parse(`"${json}"`))));
		const { stopReason } = await s.request('session/prompt', { prompt: [{ type: 'text', text: 'TEXT:ok' }, ...blocks] });
		const requests = s.requests.slice(at);

		assert.equal(stopReason, 'end_turn', what);
		assert.equal(requests.length, 1, `${what}: calls of the model`);
		const body = JSON.stringify(JSON.parse(requests[0].body));
		for (const place of Object.keys(PLACES))
			assert.equal(body.includes(JSON.stringify(marked(place, arrives(json))).slice(1, -1)), place !== x.h.hidesPlace, `${place}: ${what}`);
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

// One call has both ways; a text of 1 MB is only answered, since what the model is to call stands in the prompt.
async function throughTools(x, t) {
	const { tools: { calls }, s } = await relayed(x, t);
	s.spent = true;
	const say = (n, given) => s.turn(`MCP:tools say {"n": ${n}${given === undefined ? '' : `, "text": "<${given}>"`}}`, 'TEXT:done');

	for (const [n, [what, json, halves]] of ODD_TEXTS.entries()) {
		const isLong = json.length > LONG;
		const isRefused = halves && x.h.refusesHalves;
		const from = calls.length;

		if (isRefused) { // the harness tells the model that its arguments are wrong
			assert.equal((await say(n, json)).text, 'done', what);
			assert.equal(calls.length, from, what);
			assert.match(s.requests.at(-1).results.at(-1), /surrogate|hex escape/, what);
		}
		const { text, calls: [call] } = await say(n, isLong || isRefused ? undefined : json);

		assert.deepEqual([text, calls.length], ['done', from + 1], what);
		if (isLong) // each harness cuts such a result in its own way
			continue;
		assert.ok(s.requests.at(-1).results.at(-1).includes(`<${arrives(json)}>`), `${what}: to the model`);
		assert.ok(shown(call).includes(`<${arrives(json)}>`), `${what}: to the client`);
		if (!isRefused)
			assert.equal(calls.at(-1).args.text, `<${arrives(json)}>`, `${what}: to the tool`);
	}
}

export default [
	['odd text: all of a prompt is delivered to the model, halves of surrogate pairs as U+FFFD', odd],
	['odd text: all that the model says is delivered to the client, halves of surrogate pairs as U+FFFD', answered],
	['odd text: what the provider says in an error is delivered to the client', refused],
	['odd text: what a relayed tool is given is delivered to it, and its answer to the model and to the client', throughTools],
];
