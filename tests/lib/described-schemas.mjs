// SPDX-License-Identifier: Apache-2.0
// The schemas of the API's description (daemon/api/openapi.json), strictly: what described*.mjs hold messages against.
//
// An object ends with the members that are written down, unless it says that it is open. Each schema is compiled once, when it is first asked for.

import fs from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';

export const api = JSON.parse(fs.readFileSync(new URL('../../daemon/api/openapi.json', import.meta.url), 'utf8'));

export const TYPES = api.components.schemas;
const PREFIX = '#/components/schemas/';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

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

let ajv;
const compiled = new Map();

function compiler() {
  ajv = new Ajv2020({ strict: false, allErrors: false });
  ajv.addFormat('date-time', TIME);
  ajv.addSchema({ $id: 'api', components: { schemas: mapOf(TYPES) } });
  return ajv;
}

const point = (node) => JSON.parse(JSON.stringify(node).replaceAll(`"${PREFIX}`, `"api${PREFIX}`));

// A schema of the document, compiled once.
function validator(schema) {
  if (!compiled.has(schema))
    compiled.set(schema, (ajv ?? compiler()).compile(point(close(schema))));
  return compiled.get(schema);
}

// Of alternatives that name their kind the one that was meant is the one to speak of.
function complaint(errors) {
  const last = errors.filter((e) => e.keyword !== 'oneOf' && e.keyword !== 'const');

  return (last.length ? last : errors).slice(-4)
    .map((e) => `${e.instancePath || '/'} ${e.message} ${e.params.additionalProperty ?? e.params.missingProperty ?? JSON.stringify(e.params.allowedValues ?? '')}`).join('; ');
}

// [what is wrong], [] if nothing.
export function problems(schema, value, what) {
  const validate = validator(schema);

  return validate(value) ? [] : [`${what} is not as described in daemon/api: ${complaint(validate.errors)}`];
}
