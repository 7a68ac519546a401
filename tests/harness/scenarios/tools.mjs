// SPDX-License-Identifier: Apache-2.0
// Tools as they should not be (lib/odd-tools.mjs), all of one server: the model's own request has each of them beside the others, under
// a name and with a schema that providers take, or the session names the one that is missing, and why. Each can be called.

import assert from 'node:assert/strict';

import { ODD_TOOLS } from '../../lib/odd-tools.mjs';
import { Tools } from './relay.mjs';

// Left out, and why; all others are given.
const OMITTED = { false_schema: 'TOOL_SCHEMA_UNSUPPORTED', text_schema: 'TOOL_SCHEMA_UNSUPPORTED', string_type: 'TOOL_SCHEMA_UNSUPPORTED',
	array_type: 'TOOL_SCHEMA_UNSUPPORTED', any_of_scalar: 'TOOL_SCHEMA_UNSUPPORTED', enum_top: 'TOOL_SCHEMA_UNSUPPORTED', '': 'TOOL_NAME_INVALID' };
const TWICE = { name: 'plain', description: 'The same name once more.', inputSchema: { type: 'object', properties: {} } };
const AT_TOP = ['anyOf', 'oneOf', 'allOf', 'enum', 'not', 'const', '$ref', 'if'];
const TYPES = ['object', 'string', 'number', 'integer', 'array', 'boolean', 'null'];

// [name as the provider has it, schema] of each tool of the request, those in a namespace too.
function offered({ body }) {
	const of = (list, before) => list.flatMap(({ tools, name, namespace, function: fn, parameters, input_schema: own }) =>
		tools ? of(tools, `${name}__`) : [[`${before}${fn?.name ?? name}`, fn?.parameters ?? parameters ?? own]]);

	return of(JSON.parse(body).tools, '');
}

// What a provider refuses a request for.
function refusedBy(schema, at = 'inputSchema') {
	const found = [];

	if (schema.type !== undefined && ![schema.type].flat().every((type) => TYPES.includes(type)))
		found.push(`${at}: type ${JSON.stringify(schema.type)}`);
	if (schema.$ref !== undefined)
		found.push(`${at}: ${schema.$ref}`);
	if ([schema.type].flat().includes('array') && (typeof schema.items !== 'object' || Array.isArray(schema.items)))
		found.push(`${at}: items ${JSON.stringify(schema.items)}`);
	if (schema.required !== undefined && !Array.isArray(schema.required))
		found.push(`${at}: required ${JSON.stringify(schema.required)}`);
	for (const [name, inner] of Object.entries(schema.properties ?? {}))
		found.push(...refusedBy(inner, `${at}.${name}`));
	return typeof schema.items === 'object' ? [...found, ...refusedBy(schema.items, `${at}[]`)] : found;
}

async function all(x, t) {
	const tools = new Tools([...ODD_TOOLS.map(({ tool }) => tool), TWICE]);
	const on = await x.connect();
	const s = await x.session(t, { on, params: { mcpServers: [on.serve('tools', tools.handler)] }, acpd: { policy: { approval: 'never' } } });
	const called = ODD_TOOLS.filter(({ tool, takes }) => takes && !(tool.name in OMITTED));

	await s.turn('TEXT:ok');
	const { sessions } = await s.request('_acpd/status', {});
	const [mcp] = sessions.find(({ sessionId }) => sessionId === s.id).mcp;
	const given = ODD_TOOLS.map(({ tool }) => tool.name).filter((name) => !(name in OMITTED));
	assert.deepEqual(mcp.toolsDelivered, given);
	assert.deepEqual(mcp.toolsOmitted.map(({ tool, reason }) => [tool, reason]), [...ODD_TOOLS.filter(({ tool }) => tool.name in OMITTED)
		.map(({ tool }) => [tool.name, OMITTED[tool.name]]), ['plain', 'TOOL_NAME_TAKEN']]);
	assert.ok(mcp.toolsOmitted.every(({ message }) => /^(inputSchema|name): /.test(message)), JSON.stringify(mcp.toolsOmitted));

	const got = offered(s.requests.at(-1)).filter(([name]) => /(^|__)tools_/.test(name));
	assert.equal(got.length, given.length, `the model has ${got.map(([name]) => name)}`);
	for (const [name, schema] of got) {
		assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
		assert.equal(schema.type, 'object', name);
		assert.deepEqual(AT_TOP.filter((key) => key in schema), [], name);
		assert.deepEqual(refusedBy(schema), [], name);
	}

	// each by the name that the model has; the server gets its own name, and the arguments as they were
	const names = got.map(([name]) => name.replace(/^(mcp__tools__|tools_)/, ''));
	const nameOf = (tool) => {
		const as = mcp.toolsRenamed.find((r) => r.tool === tool)?.as ?? tool;

		return [/[^A-Za-z0-9_-]/gu, /[^A-Za-z0-9_]/gu].map((odd) => as.replace(odd, '_')).find((name) => names.includes(name));
	};
	const turn = await s.turn(...called.map(({ tool, takes }) => `MCP:tools ${nameOf(tool.name)} ${JSON.stringify(takes)}`), 'TEXT:done');

	assert.deepEqual([turn.stop, turn.text], ['end_turn', 'done']);
	assert.deepEqual(tools.calls.map(({ name, args }) => [name, args]), called.map(({ tool, takes }) => [tool.name, takes]));
	await s.goesOn();
}

export default [
	['odd tools: each is given to the model beside the others, or named as missing', all],
];
