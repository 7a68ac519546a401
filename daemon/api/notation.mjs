// SPDX-License-Identifier: Apache-2.0
// How the API is written down: short words that make JSON Schema (2020-12, as OpenAPI 3.1 has it). README.md explains.
//
//   object({ name: string('what it is'), 'size?': integer() }, 'an example')     a member with ? may be absent
//   fields('daemon/acp/acp_daemon.c:usage_fields', { since: 'from this record on' })
//
// fields and query take names, types, bounds and what is required from the daemon's own tables; here stands only what a table cannot say.

import assert from 'node:assert/strict';
import { fieldTables, queryTables } from '../../tests/lib/tables.mjs';

const described = (description) => (description ? { description } : {});

export const string = (says, more) => ({ type: 'string', ...described(says), ...more });
export const integer = (says, more) => ({ type: 'integer', minimum: 0, ...described(says), ...more });
export const number = (says, more) => ({ type: 'number', ...described(says), ...more });
export const boolean = (says) => ({ type: 'boolean', ...described(says) });
export const word = (list, says) => ({ type: 'string', enum: list, ...described(says) });
export const only = (value, says) => ({ const: value, ...described(says) });
export const time = (says) => string(says, { format: 'date-time' });
export const digest = (says) => string(says, { pattern: '^sha256:[0-9a-f]{64}$' });
export const array = (items, says, more) => ({ type: 'array', items, ...described(says), ...more });
export const map = (values, says) => ({ type: 'object', additionalProperties: values, ...described(says) });
export const anything = (says) => described(says);
// An object that somebody else describes (ACP, MCP, a harness, a provider).
export const foreign = (says) => ({ type: 'object', additionalProperties: true, ...described(says) });
export const oneOf = (list, says) => ({ oneOf: list, ...described(says) });
// One of several types, told apart by a member.
export const byKind = (propertyName, types, says) => ({
  ...oneOf(Object.values(types).map((name) => ref(name)), says),
  discriminator: { propertyName, mapping: Object.fromEntries(Object.entries(types).map(([value, name]) => [value, `#/components/schemas/${name}`])) },
});
export const anyOf = (list, says) => ({ anyOf: list, ...described(says) });
export const orNull = (schema) => (typeof schema.type === 'string' ? { ...schema, type: [schema.type, 'null'] } : anyOf([schema, { type: 'null' }]));
export const ref = (name, says) => ({ $ref: `#/components/schemas/${name}`, ...described(says) });

export function object(members, says, more) {
  const names = Object.keys(members);
  const required = names.filter((n) => !n.endsWith('?'));

  return {
    type: 'object', ...described(says), ...(required.length && { required }),
    properties: Object.fromEntries(names.map((n) => [n.replace(/\?$/, ''), members[n]])), ...more,
  };
}

// --- from the tables that decode ------------------------------------------------------------------------------------------------

const tables = fieldTables();
const queries = queryTables();
export const used = new Set();

// Numbers beyond these cannot be written in every language; such a bound is none.
const bound = (n) => Number.isSafeInteger(n);

const OF_FIELD = {
  STR: (f) => ({ type: 'string', ...(f.filled && { minLength: 1 }), maxLength: f.max }),
  TEXT: () => ({ type: 'string' }),
  BOOL: () => ({ type: 'boolean' }),
  INT: (f) => ({ type: 'integer', ...(bound(f.min) && { minimum: f.min }), ...(bound(f.max) && { maximum: f.max }) }),
  OBJ: () => ({ type: 'object' }),
  ARR: () => ({ type: 'array' }),
  RAW: () => ({}),
};

// In the place of a text: what the row of a parameter says of it (session/core/session_parameter.h).
export const ROW = true;

function member(where, f, from) {
  const said = from === ROW ? f.says : from;
  const own = OF_FIELD[f.type](f);
  const more = typeof said === 'string' ? { description: said } : said;
  const open = ['OBJ', 'ARR', 'RAW'].includes(f.type) && typeof said === 'string' && f.name !== '_meta';

  assert.ok(said, `${where}: ${f.name} is not described`);
  assert.ok(!open, `${where}: ${f.name} needs a schema of what it holds`);
  return more.$ref || more.oneOf || more.anyOf ? more : { ...own, ...more };
}

const place = (says, f) => (f.name in says ? Object.keys(says).indexOf(f.name) : 1e6);

// The object that a table decodes. says: {FIELD: text | schema that is put over what the table says}. Unknown members are refused by the
// daemon, so it is closed. more: {description, …}; inOrder: the members as in says, not as in the table
export function fields(table, says = {}, more = {}) {
  const rows = [...tables.get(table) ?? assert.fail(`there is no table ${table}`)];
  const required = rows.filter((f) => f.required && !more.optional?.includes(f.name)).map((f) => f.name);
  const { optional: _, inOrder, ...rest } = more;

  used.add(table);
  for (const name of Object.keys(says))
    assert.ok(rows.some((f) => f.name === name), `${table} has no field ${name}`);
  if (inOrder) // a new one last
    rows.sort((a, b) => place(says, a) - place(says, b));
  return {
    type: 'object', ...(required.length && { required }),
    properties: Object.fromEntries(rows.map((f) => [f.name, member(table, f, f.name === '_meta' ? says._meta ?? { description: 'extensions of others' } : says[f.name] ?? f.says)])),
    additionalProperties: false, ...rest,
  };
}

// The text of an enum's words in a source of the daemon.
const OF_QUERY = {
  UINT: () => ({ type: 'integer', minimum: 0 }),
  BOOL: () => ({ type: 'boolean' }),
  WORD: (f) => ({ type: 'string', enum: f.words }),
  NAME: () => ({ type: 'string', minLength: 1, maxLength: 4096 }),
  TEXT: () => ({ type: 'string', minLength: 1, maxLength: 1024, pattern: '^[!-~]+$' }),
};

// The parameters of a query, as OpenAPI has them.
export function query(table, says = {}) {
  const rows = queries.get(table) ?? assert.fail(`there is no table of a query ${table}`);

  used.add(table);
  for (const name of Object.keys(says))
    assert.ok(rows.some((f) => f.name === name), `${table} has no ${name}`);
  return rows.map((f) => ({
    name: f.name, in: 'query', description: says[f.name] ?? assert.fail(`${table}: ${f.name} is not described`), schema: OF_QUERY[f.type](f),
  }));
}

export const allTables = () => [...tables.keys(), ...[...queries].filter(([, rows]) => rows.length).map(([name]) => name)];

// --- answers and bodies of HTTP -------------------------------------------------------------------------------------------------

export const header = (says, schema = { type: 'string' }) => ({ description: says, schema });
export const content = (types, schema) => Object.fromEntries([types].flat().map((t) => [t, schema ? { schema } : {}]));
export const json = (schema, description, more) => ({ description, content: content('application/json', schema), ...more });
export const bytes = (types, description, more) => ({ description, content: content(types), ...more });
export const text = (type, description, more) => ({ description, content: content(type, { type: 'string' }), ...more });
// Lines of NDJSON: the schema is that of one line.
export const lines = (schema, description, more) => ({ description, content: content('application/x-ndjson', schema), ...more });
// Server-sent events: the schema is that of the `data:` of one event.
export const events = (schema) => content('text/event-stream', schema);
