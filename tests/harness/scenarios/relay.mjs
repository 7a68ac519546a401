// SPDX-License-Identifier: Apache-2.0
// MCP servers that the orchestrator itself serves (type "acp"), called by the harness: results, errors, images, progress,
// cancellation in mid-call, and what the session says of them.

import assert from 'node:assert/strict';

import { META } from '../../lib/mcp.mjs';
import { ODD_TEXTS } from '../../lib/odd-text.mjs';
import { until } from '../until.mjs';
import { assertCall, shown, unasked } from '../play.mjs';
import { sleep } from '../rig.mjs';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const object = (properties = {}) => ({ type: 'object', properties });
const text = (value, more) => ({ result: { resultType: 'complete', content: [{ type: 'text', text: value }], ...more } });

const TOOLS = [
	{ name: 'add', description: 'Adds two numbers.', inputSchema: object({ a: { type: 'number' }, b: { type: 'number' } }) },
	{ name: 'fail', description: 'Always fails.', inputSchema: object() },
	{ name: 'refuse', description: 'Ends in an error of the protocol.', inputSchema: object() },
	{ name: 'picture', description: 'Shows a picture.', inputSchema: object() },
	{ name: 'slow', description: 'Takes its time.', inputSchema: object() },
	{ name: 'ask', description: 'Asks the user.', inputSchema: object() },
	{ name: 'steps', description: 'Works in steps.', inputSchema: object() },
	{ name: 'say', description: 'Says an odd text.', inputSchema: object({ n: { type: 'number' }, text: { type: 'string' } }) },
];

// A server of the test's own; calls: {name, args, meta, signal} of each tools/call.
export class Tools {
	calls = [];

	constructor(tools = TOOLS) {
		this.tools = tools;
	}

	handler = async ({ method, params, signal, notify }) => {
		switch (method) {
		case 'server/discover': return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0,
			cacheScope: 'private', _meta: { [`${META}serverInfo`]: { name: 'relayed-tools', version: '1.0.0' } } } };
		case 'tools/list': return { result: { resultType: 'complete', tools: this.tools, ttlMs: 0, cacheScope: 'private' } };
		case 'tools/call': {
			const call = { name: params.name, args: params.arguments ?? {}, meta: params._meta, signal };
			this.calls.push(call);
			call.answers = params.inputResponses;
			return this.#call(call, notify);
		}
		default: return { error: { code: -32601, message: 'Method not found' } };
		}
	};

	async #call({ name, args, meta, signal, answers }, notify) {
		switch (name) {
		case 'ask': return answers ? text(`the user said ${answers.color.content?.color ?? answers.color.action}`) : { result: {
			resultType: 'input_required', inputRequests: { color: { method: 'elicitation/create', params: { mode: 'form', message: 'Which color?',
				requestedSchema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] } } } } } };
		case 'say': return text(`<${JSON.parse(`"${ODD_TEXTS[args.n][1]}"`)}>`);
		case 'add': return text(`the sum is ${args.a + args.b}`);
		case 'fail': return text('it failed as it was told to', { isError: true });
		case 'refuse': return { error: { code: -32055, message: 'the server will not do this' } };
		case 'picture': return { result: { resultType: 'complete', content: [{ type: 'text', text: 'a pixel' },
			{ type: 'image', data: PIXEL, mimeType: 'image/png' }] } };
		case 'slow': return new Promise((resolve, reject) => {
			signal.addEventListener('abort', () => reject(signal.reason));
			setTimeout(resolve, 60_000, text('too late')).unref();
		});
		case 'steps':
			for (let i = 1; i <= 3 && meta.progressToken !== undefined; i++) {
				await notify('notifications/progress', { progressToken: meta.progressToken, progress: i, total: 3, message: `step ${i} of 3` });
				await sleep(150);
			}
			return text('all steps done');
		default: return text(`this is ${name}`);
		}
	}

	of(name) {
		return this.calls.filter((call) => call.name === name);
	}
}

// A session with one server of ours, of a client that takes forms: asked has their params.
export async function relayed(x, t) {
	const s = await x.shared(t, 'relayed', async () => {
		const [tools, asked] = [new Tools(), []];
		const on = await x.connect({ form: (params) => {
			asked.push(params);
			return { action: 'accept', content: { color: 'blue' } };
		} });

		return { on, tools, asked, params: { mcpServers: [on.serve('tools', tools.handler)] } };
	});
	const { tools, asked } = s.settings;

	tools.calls.splice(0);
	asked.splice(0);
	return { tools, asked, s };
}

async function results(x, t) {
	const { tools, s } = await relayed(x, t);
	const turn = await s.turn('MCP:tools add {"a": 40, "b": 2}', 'MCP:tools fail {}', 'MCP:tools refuse {}', 'TEXT:done');
	const [add, fail, refuse] = turn.calls;

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.deepEqual(tools.calls.map((call) => call.name), ['add', 'fail', 'refuse']);
	assert.deepEqual(tools.of('add')[0].args, { a: 40, b: 2 });
	assertCall(add, { kind: 'other' });
	assert.match(shown(add), /the sum is 42/);
	assertCall(fail, { status: 'failed' });
	assert.match(shown(fail), /it failed as it was told to/);
	assertCall(refuse, { status: 'failed' });
	assert.match(shown(refuse), /the server will not do this/);
	for (const wanted of ['the sum is 42', 'it failed as it was told to', 'the server will not do this'])
		assert.ok(s.results.some((result) => result.includes(wanted)), `${wanted} did not reach the model`);
	for (const { meta } of tools.calls) {
		assert.equal(meta[`${META}protocolVersion`], '2026-07-28');
		assert.ok(meta[`${META}clientInfo`]?.name, 'the harness is not named');
	}
}

async function picture(x, t) {
	const { s } = await relayed(x, t);
	const turn = await s.turn('MCP:tools picture {}', 'TEXT:seen');

	assert.equal(turn.text, 'seen');
	assertCall(turn.calls[0], {});
	assert.ok(turn.calls[0].content.some((c) => c.content?.type === 'image' && c.content.data === PIXEL), JSON.stringify(turn.calls[0].content));
	assert.ok(s.requests.at(-1).body.includes(PIXEL), 'the image did not reach the model');
}

// The harness has asked for progress and goes on when it comes; not every one shows it.
async function progress(x, t) {
	const { tools, s } = await relayed(x, t);
	const turn = await s.turn('MCP:tools steps {}', 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assertCall(turn.calls[0], {});
	assert.notEqual(tools.of('steps')[0].meta.progressToken, undefined, 'no progress is asked for');
	assert.match(shown(turn.calls[0]), /all steps done/);
	const steps = turn.of('tool_call_update').map(shown).filter((told) => /^step \d of 3$/.test(told));
	assert.deepEqual(steps, x.h.showsProgress ? ['step 1 of 3', 'step 2 of 3', 'step 3 of 3'] : []);
}

async function cancelled(x, t) {
	const { tools, s } = await relayed(x, t);
	const running = s.begin('MCP:tools slow {}', 'TEXT:never');
	const call = await until(() => tools.of('slow')[0], 'the tool is called');

	await s.cancel(running);
	await until(() => call.signal.aborted, 'the server is told');
	assert.equal(tools.calls.length, 1, 'called again');
	await s.goesOn();
}

// A tool that needs its user: asked through a harness that can, refused by name where one cannot.
async function asks(x, t) {
	const { tools, asked, s } = await relayed(x, t);
	const turn = await s.turn('MCP:tools ask {}', 'TEXT:done');
	const can = Boolean(tools.of('ask')[0].meta[`${META}clientCapabilities`].elicitation);

	assert.equal(can, Boolean(x.h.elicits));
	assert.equal(tools.calls.length, can ? 2 : 1);
	assertCall(turn.calls[0], { status: can ? 'completed' : 'failed' });
	assert.match(shown(turn.calls[0]), can ? /the user said blue/ : /elicitation/);
	assert.deepEqual(asked.map((params) => params.message), can ? ['Which color?'] : []);
}

async function together(x, t) {
	const { tools, s } = await relayed(x, t);
	const turn = await s.turn(...[1, 2, 3].map((n) => `+MCP:tools add {"a": ${n}, "b": 100}`), 'MCP:tools add {"a": 4, "b": 100}', 'TEXT:done');

	assert.equal(turn.text, 'done');
	assert.equal(turn.calls.length, 4);
	assert.deepEqual(tools.of('add').map((call) => call.args.a).sort(), [1, 2, 3, 4]);
	for (const n of [101, 102, 103, 104])
		assert.ok(s.results.some((result) => result.includes(`the sum is ${n}`)), `${n} did not reach the model`);
}

// What a request to the model offers: {name, namespace?, text}.
const offersOf = (tools) => tools.flatMap((t) => t.type === 'namespace' ? offersOf(t.tools).map((o) => ({ ...o, namespace: t.name }))
	: [{ name: (t.function ?? t).name, text: (t.function ?? t).description ?? '' }]);

// Harnesses write names with other characters, OpenCode several tools then under one. Each tool must be offered, do what its server says
// that it does, be under its own rule, and be told as it is.
async function alike(x, t) {
	const lists = { tools: ['a.b', 'a/b', 'a:b', 'a_b', 'a_c', 'no.b', 'same'], tools_a: ['c', 'same'] };
	const denied = ['a:b', 'no.b'];
	const served = Object.fromEntries(Object.entries(lists).map(([server, names]) => [server,
		new Tools(names.map((name) => ({ name, description: `It is ${server} ${name}.`, inputSchema: object() })))]));
	const wanted = Object.entries(lists).flatMap(([server, names]) => names.filter((name) => !denied.includes(name)).map((name) => `${server} ${name}`));
	const on = await x.connect();
	const policy = { tools: { tools: Object.fromEntries(denied.map((name) => [name, { policy: 'deny' }])) } };
	const s = await x.session(t, { on, acpd: { mcp: { policy } }, params: { mcpServers: Object.entries(served).map(([name, tools]) => on.serve(name, tools.handler)) } });

	await s.turn('TEXT:hi');
	const offered = offersOf(JSON.parse(s.requests.at(-1).body).tools).filter(({ text }) => /^It is /.test(text))
		.map(({ text, name, namespace }) => ({ name, namespace, of: /^It is (.*)\.$/.exec(text)[1] }));
	assert.deepEqual(offered.map((o) => o.of).sort(), wanted.sort());
	assert.equal(new Set(offered.map((o) => `${o.namespace} ${o.name}`)).size, wanted.length, JSON.stringify(offered));

	const called = [];
	for (const [server, tools] of Object.entries(served))
		tools.calls.push = (call) => called.push(`${server} ${call.name}`);
	await s.turn(...offered.map(({ name, namespace }) => namespace ? `MCP:${namespace.replace('mcp__', '')} ${name} {}` : `TOOL:${name} {}`), 'TEXT:done');
	assert.deepEqual(called, offered.map((o) => o.of));
	assert.deepEqual(s.requests.at(-1).results.map((result) => /this is \S+/.exec(result)?.[0]), offered.map((o) => `this is ${o.of.split(' ')[1]}`));

	const { mcp } = (await s.o.request('_acpd/status', { sessionId: s.id })).sessions[0];
	assert.deepEqual(mcp.flatMap(({ name, toolsDelivered }) => toolsDelivered.map((tool) => `${name} ${tool}`)).sort(), wanted);
	const renamed = mcp.flatMap(({ name, toolsRenamed = [] }) => toolsRenamed.map(({ tool, as }) => [`${name} ${tool}`, as]));
	assert.deepEqual(renamed.slice(0, 2).map(([tool]) => tool), ['tools a/b', 'tools a_b']);
	assert.equal(renamed.length, 3, 'tools a_c or tools_a c'); // whichever is listed second
	for (const [, as] of renamed)
		assert.match(as, /^(a_b|a_c|c)_[0-9a-f]{8}$/);
}

async function serversAlike(x) {
	const on = await x.connect();
	const mcpServers = ['t.1', 't/1'].map((name) => on.serve(name, new Tools().handler));

	await x.refuses({ on, params: { mcpServers } }, 'MCP_NAME_TAKEN');
	await on.close();
}

// A program of the client's: acpd runs it, so the next call has it again. The harness's own way is in the hands of the harness.
async function programBack(x, t) {
	const s = await unasked(x, t);
	const running = () => s.opened._meta.acpd.mcp.map(({ name, via }) => [name, via]);

	s.spent = true;
	assert.deepEqual(running(), [['tools', 'client']]);
	const turn = await s.turn('MCP:tools die {}', 'MCP:tools add {"a": 40, "b": 2}', 'TEXT:back');
	const [died, added] = turn.calls;

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'back']);
	assertCall(died, { status: 'failed' });
	assertCall(added, { kind: 'other' });
	assert.match(shown(added), /42/);
	const next = await s.turn('MCP:tools add {"a": 1, "b": 2}', 'TEXT:again');

	assert.match(shown(next.calls[0]), /3/);
}

export default [
	['a program of the client that dies is back at the next call', programBack],
	['a relayed tool is called: a result, a failure, an error', results],
	['a relayed tool shows an image', picture],
	['a relayed tool tells its progress', progress],
	['a relayed tool is cancelled in mid-call', cancelled],
	['a relayed tool asks its user', asks],
	['relayed tools are called side by side', together],
	['two relayed servers are kept apart, and tools whose names harnesses write alike are each there', alike],
	['relayed servers whose names harnesses write alike are refused', serversAlike],
];
