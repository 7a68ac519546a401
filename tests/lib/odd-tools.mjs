// SPDX-License-Identifier: Apache-2.0
// Tools as MCP servers out there list them, and as no server should: for the tests of what a harness's model is given of them.

const object = (properties, more) => ({ type: 'object', properties, ...more });
const string = { type: 'string' };
let deep = string;
for (let i = 0; i < 22; i++)
	deep = object({ [`level${i}`]: deep });
const branch = (name) => object({ [name]: string }, { required: [name] });

// [name, inputSchema, more]; takes: arguments that the server must get as they are when the model calls the tool with them
const ROWS = [
	['plain', object({ a: string }, { required: ['a'] }), { takes: { a: 'x' } }],
	['no_properties', { type: 'object' }],
	['empty_schema', {}],
	['missing_type', { properties: { a: string } }, { takes: { a: 'x' } }],
	['missing_schema', undefined],
	['null_schema', null],
	['true_schema', true],
	['false_schema', false],
	['text_schema', 'object'],
	['string_type', { type: 'string' }],
	['array_type', { type: 'array', items: string }],
	['type_list', { type: ['object', 'null'], properties: { a: string } }, { takes: { a: 'x' } }],
	['unknown_type', { type: 'strnig' }],
	['properties_array', { type: 'object', properties: [] }],
	['properties_null', { type: 'object', properties: null }],
	['required_missing', { type: 'object', properties: {}, required: ['ghost'] }],
	['required_null', { type: 'object', properties: { a: string }, required: null }],
	['ref', { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: string } }, { takes: { a: 'x' } }],
	['definitions', { $schema: 'http://json-schema.org/draft-04/schema#', id: 'http://example.com/s', type: 'object', properties: { a: { $ref: '#/definitions/a' },
		n: { type: 'number', minimum: 0, exclusiveMinimum: true } }, definitions: { a: string } }, { takes: { a: 'x' } }],
	['top_ref', { $ref: '#/$defs/in', $defs: { in: object({ a: string }) } }, { takes: { a: 'x' } }],
	['top_ref_definitions', { $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/In', definitions: { In: object({ a: string }) } }, { takes: { a: 'x' } }],
	['broken_ref', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
	['far_ref', { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } }],
	['recursive', { type: 'object', properties: { name: string, children: { type: 'array', items: { $ref: '#' } } } }, { takes: { name: 'x', children: [{ name: 'y' }] } }],
	['recursive_defs', { type: 'object', properties: { tree: { $ref: '#/$defs/node' } }, $defs: { node: object({ left: { $ref: '#/$defs/node' }, v: string }) } },
		{ takes: { tree: { left: { v: 'x' } } } }],
	['self_ref', { $ref: '#' }],
	['ref_loop', { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
	['any_of', { anyOf: [branch('a'), branch('b')] }, { takes: { b: 'x' } }],
	['one_of', { oneOf: [branch('a'), branch('b')] }, { takes: { a: 'x' } }],
	['all_of', { allOf: [branch('a'), object({ b: string })] }, { takes: { a: 'x', b: 'y' } }],
	['any_of_typed', { type: 'object', properties: { a: string, b: string }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { takes: { b: 'x' } }],
	['any_of_scalar', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
	['if_then', { type: 'object', properties: { kind: string }, if: { properties: { kind: { const: 'a' } } }, then: { required: ['a'] } }],
	['enum_top', { enum: ['a', 'b'] }],
	['const_top', { const: { a: 'x' } }],
	['not_top', { not: { type: 'string' } }],
	['enum_inner', object({ a: { enum: ['x', 1, null, true] }, b: { const: 7 } }), { takes: { a: 'x', b: 7 } }],
	['boolean_inner', object({ a: true, b: false }), { takes: { a: 'x' } }],
	['type_list_inner', object({ a: { type: ['string', 'null'] }, b: { type: ['string', 'array'], items: { type: 'number' } } }), { takes: { a: null } }],
	['array_without_items', object({ a: { type: 'array' } }), { takes: { a: ['x'] } }],
	['tuple', object({ a: { type: 'array', prefixItems: [string, { type: 'number' }] }, b: { type: 'array', items: [string, { type: 'number' }] } }), { takes: { a: ['x', 1] } }],
	['inner_without_type', object({ a: {}, b: { description: 'anything' } }), { takes: { a: 'x' } }],
	['pattern_properties', { type: 'object', patternProperties: { '^x-': string } }, { takes: { 'x-a': 'x' } }],
	['additional_false', object({ a: string }, { additionalProperties: false }), { takes: { a: 'x' } }],
	['additional_schema', { type: 'object', additionalProperties: { type: 'number' } }, { takes: { any: 1 } }],
	['odd_keys', object({ 'a b': string, $x: string, 'ü': string, 'a.b': string, ['k'.repeat(80)]: string }), { takes: { 'a b': 'x', 'ü': 'y' } }],
	['formats', object({ a: { type: 'string', format: 'uri-template', pattern: '^(?<n>\\p{L}+)$', minLength: 1 }, n: { type: 'integer', minimum: -9007199254740993, multipleOf: 0.1 } })],
	['defaults', object({ a: { type: 'string', default: null, examples: ['x'], deprecated: true, readOnly: true, 'x-own': {} } }), { takes: { a: 'x' } }],
	['deep', deep],
	['wide', object(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`property_${i}`, string]))), { takes: { property_199: 'x' } }],
	['huge_description', object({ a: string }), { description: 'word '.repeat(20_000), takes: { a: 'x' } }],
	['no_description', object({ a: string }), { description: undefined, takes: { a: 'x' } }],
	['null_description', object({ a: string }), { description: null, takes: { a: 'x' } }],
	['n'.repeat(100), object({ a: string }), { takes: { a: 'x' } }],
	['n'.repeat(101), object({ a: string }), { takes: { a: 'x' } }],
	['files.read', object({ a: string }), { takes: { a: 'x' } }],
	['files/read', object({ a: string }), { takes: { a: 'x' } }],
	['files_read', object({ a: string }), { takes: { a: 'x' } }],
	['größe messen', object({ a: string }), { takes: { a: 'x' } }],
	['道具', object({ a: string }), { takes: { a: 'x' } }],
	['1st', object({ a: string }), { takes: { a: 'x' } }],
	['-dash', object({ a: string }), { takes: { a: 'x' } }],
	['annotated', object({ a: string }), { annotations: null, outputSchema: { type: 'string' }, takes: { a: 'x' } }],
	['', object({ a: string })],
];

export const ODD_TOOLS = ROWS.map(([name, inputSchema, { takes, ...more } = {}]) => ({
	tool: { name, description: `The tool ${name}.`, ...(inputSchema !== undefined && { inputSchema }), ...more }, takes }));
