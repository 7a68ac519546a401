// SPDX-License-Identifier: Apache-2.0
// The schemas of the API's description (daemon/api/openapi.json), strictly: what described*.mjs hold messages against.
//
// An object ends with the members that are written down, unless it says that it is open. They are compiled once, for all test files.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compiled, newAjv } from './validators.mjs';

const API = fileURLToPath(new URL('../../daemon/api/openapi.json', import.meta.url));

export const api = JSON.parse(fs.readFileSync(API, 'utf8'));

export const TYPES = api.components.schemas;
const PREFIX = '#/components/schemas/';

// A receiver lets unknown members pass; here each object that names members has no others.
function close(node) {
  if (Array.isArray(node))
    return node.map(close);
  if (!node || typeof node !== 'object')
    return node;
  const out = Object.fromEntries(Object.entries(node).filter(([k]) => k !== 'description').map(([k, v]) => [k, k === 'properties' ? mapOf(v) : close(v)]));

  return out.properties && out.additionalProperties === undefined ? { ...out, additionalProperties: false } : out;
}

const mapOf = (members) => Object.fromEntries(Object.entries(members).map(([k, v]) => [k, close(v)]));

const point = (node) => JSON.parse(JSON.stringify(node).replaceAll(`"${PREFIX}`, `"api${PREFIX}`));

// The schemas below a part of the document.
function* schemasOf(node) {
  for (const [key, value] of Object.entries(node ?? {}))
    if (key === 'schema')
      yield value;
    else if (value && typeof value === 'object')
      yield* schemasOf(value);
}

const membersOf = (schema) => Object.values(schema.properties ?? {});

export const NOTHING = { type: 'object', properties: {}, additionalProperties: false };
// Every schema that messages are compared with.
const ROOTS = [NOTHING, ...schemasOf(api.paths), ...schemasOf(api.webhooks), ...Object.values(TYPES),
  ...['AcpMethods', 'AcpSent', 'Commands'].flatMap((name) => membersOf(TYPES[name]).flatMap((row) => [row, ...membersOf(row)]))];

// Schemas with one text are one: {text: its number}.
const numbers = new Map();
const numberOf = new Map(ROOTS.map((schema) => {
  const text = JSON.stringify(schema);

  if (!numbers.has(text))
    numbers.set(text, numbers.size);
  return [schema, numbers.get(text)];
}));

function compile() {
  const ajv = newAjv({ allErrors: false });

  ajv.addSchema({ $id: 'api', components: { schemas: mapOf(TYPES) } });
  for (const [text, i] of numbers)
    ajv.addSchema(point(close(JSON.parse(text))), `s${i}`);
  return { ajv, refs: Object.fromEntries([...numbers.values()].map((i) => [`s${i}`, `s${i}`])) };
}

const validators = compiled('api', [API, fileURLToPath(import.meta.url)], compile);

// Of alternatives that name their kind the one that was meant is the one to speak of.
function complaint(errors) {
  const last = errors.filter((e) => e.keyword !== 'oneOf' && e.keyword !== 'const');

  return (last.length ? last : errors).slice(-4)
    .map((e) => `${e.instancePath || '/'} ${e.message} ${e.params.additionalProperty ?? e.params.missingProperty ?? JSON.stringify(e.params.allowedValues ?? '')}`).join('; ');
}

// [what is wrong], [] if nothing.
export function problems(schema, value, what) {
  const validate = validators[`s${numberOf.get(schema)}`];

  return validate(value) ? [] : [`${what} is not as described in daemon/api: ${complaint(validate.errors)}`];
}
