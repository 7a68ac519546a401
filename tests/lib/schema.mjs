// SPDX-License-Identifier: Apache-2.0
// Checks what the daemon sends against the ACP v1 schema (fixtures/acp-v1), strictly.
//
// The published schema lets unknown members pass, as a receiver must. We are the sender, so every
// object is closed here: its members are those of the schema, or `_meta`. Free-form members
// (rawInput, _meta, …) stay free. On top come the rules that no schema states: absolute paths, ids
// that every client can hold, one-line error messages, our sequence numbers.

import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compiled, newAjv } from './validators.mjs';

const DIR = new URL('../fixtures/acp-v1/', import.meta.url);
const load = (name) => JSON.parse(fs.readFileSync(new URL(name, DIR), 'utf8'));

export const schema = load('schema.unstable.json');
export const meta = load('meta.unstable.json');

// What is checked beyond the schema; a test of a foreign server can switch a rule off.
export const defaultRules = {
  reason: true, // error.data.reason is UPPER_SNAKE
  seq: true, // session/update carries _meta.acpd.seq
  ids: true, // request ids are integers in 1..2^31-1
  described: true, // what is private to acpd is in daemon/api, and so is each request that it has taken
};

// --- the closed schema -----------------------------------------------------------------------

const defs = schema.$defs;

// Does this schema (through refs and combinators) name members of an object at all?
function namesMembers(node, seen = new Set()) {
  if (!node || typeof node !== 'object' || seen.has(node))
    return false;
  seen.add(node);
  if (node.properties)
    return true;
  if (node.$ref && namesMembers(defs[node.$ref.split('/').pop()], seen))
    return true;
  return ['allOf', 'anyOf', 'oneOf'].some((k) => node[k]?.some((n) => namesMembers(n, seen)));
}

// A place where a value stands: there the object ends, so there it is closed.
function close(node) {
  const open = walk(node);

  if (!namesMembers(node))
    return open;
  return { ...open, properties: { _meta: true, ...open.properties }, unevaluatedProperties: false };
}

function mapValues(object, f) {
  return Object.fromEntries(Object.entries(object).map(([k, v]) => [k, f(v)]));
}

// Unions whose alternatives all name their tag are decided by it: quicker, and the complaint is
// about the alternative that was meant. (Unions with an open alternative are not.)
function tagged(node) {
  const tag = node.discriminator?.propertyName;

  return tag !== undefined && node.oneOf?.every((n) => n.properties?.[tag]?.const !== undefined);
}

function byTag({ oneOf, ...rest }, tag) {
  const known = { required: [tag], properties: { [tag]: { enum: oneOf.map((n) => n.properties[tag].const) } } };
  const arms = oneOf.map((n) => ({
    if: { properties: { [tag]: n.properties[tag] } },
    then: n,
  }));

  return { ...rest, allOf: [...(rest.allOf ?? []), known, ...arms] };
}

function walk(node) {
  if (Array.isArray(node))
    return node.map(walk);
  if (!node || typeof node !== 'object')
    return node;
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'properties' || key === 'patternProperties')
      out[key] = mapValues(value, close);
    else if (key === 'items' || key === 'additionalProperties')
      out[key] = typeof value === 'object' ? close(value) : value;
    else if (['allOf', 'anyOf', 'oneOf'].includes(key))
      out[key] = value.map(walk);
    else if (!key.startsWith('x-') && key !== 'discriminator' && key !== 'description')
      out[key] = value;
  }
  return tagged(node) ? byTag(out, node.discriminator.propertyName) : out;
}

function compile() {
  const ajv = newAjv({ allErrors: true });
  const names = Object.keys(defs).filter((name) => /(Request|Response|Notification)$|^SessionUpdate$/.test(name));

  ajv.addSchema({ $id: 'acp', $defs: mapValues(defs, walk) });
  for (const name of names)
    ajv.addSchema({ $id: name, $ref: `acp#/$defs/${name}`, properties: { _meta: true }, unevaluatedProperties: false });
  return { ajv, refs: Object.fromEntries(names.map((name) => [name, name])) };
}

const validators = compiled('acp', [fileURLToPath(import.meta.url), fileURLToPath(new URL('schema.unstable.json', DIR))], compile);

// The definition for a method: side 'client' for what the daemon asks and tells, 'agent' for its answers.
const byMethod = new Map();
for (const [name, def] of Object.entries(defs)) {
  if (def['x-method'])
    byMethod.set(`${def['x-side']} ${def['x-method']} ${name.match(/Request$|Response$|Notification$/)[0]}`, name);
}

export function definitionOf(side, method, kind) {
  return byMethod.get(`${side} ${method} ${kind}`);
}

function explain(errors) {
  // The deepest complaints are the ones about the value, not about the alternatives around it.
  const depth = (e) => e.instancePath.split('/').length;
  const deepest = Math.max(...errors.map(depth));
  const lines = errors
    .filter((e) => depth(e) >= deepest - 1 && !['oneOf', 'anyOf', 'if'].includes(e.keyword))
    .map((e) => {
      const detail = e.params.unevaluatedProperty ?? e.params.allowedValue ?? e.params.tagValue;
      return `${e.instancePath || '/'} ${e.message}${detail === undefined ? '' : ` (${detail})`}`;
    });

  return [...new Set(lines)].slice(0, 6).join('; ');
}

export function validateAs(name, value) {
  const validate = validators[name];

  return validate(value) ? [] : [`${name}: ${explain(validate.errors)}`];
}

// --- rules without a schema --------------------------------------------------------------------

const ROOT_KEYS = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const ERROR_KEYS = new Set(['code', 'message', 'data']);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);

function checkError(error, rules) {
  const found = [];

  if (!isObject(error))
    return ['error is not an object'];
  for (const key of Object.keys(error)) {
    if (!ERROR_KEYS.has(key))
      found.push(`unknown member error.${key}`);
  }
  if (!Number.isInteger(error.code))
    found.push('error.code is not an integer');
  if (typeof error.message !== 'string' || !error.message || /[\r\n]/.test(error.message))
    found.push(`error.message is not one line: ${JSON.stringify(error.message)}`);
  else if (error.message.length > 300)
    found.push('error.message is longer than a sentence');
  if (rules.reason && !/^[A-Z][A-Z0-9_]*$/.test(error.data?.reason ?? ''))
    found.push(`error.data.reason is not UPPER_SNAKE: ${JSON.stringify(error.data)}`);
  return found;
}

// Paths, lines and times inside an update or a permission request; raw and _meta members are not ours.
function checkValues(value, at, found) {
  if (Array.isArray(value)) {
    value.forEach((v, i) => checkValues(v, `${at}/${i}`, found));
    return;
  }
  if (!isObject(value))
    return;
  for (const [key, v] of Object.entries(value)) {
    const where = `${at}/${key}`;

    if (['_meta', 'rawInput', 'rawOutput', 'requestedSchema'].includes(key))
      continue;
    if ((key === 'path' || key === 'cwd') && typeof v === 'string' && !v.startsWith('/'))
      found.push(`${where} is not absolute: ${v}`);
    if (key === 'line' && v !== null && !(Number.isInteger(v) && v >= 1))
      found.push(`${where} is not a line number: ${v}`);
    if (key === 'updatedAt' && v !== null && !ISO.test(v))
      found.push(`${where} is not ISO 8601: ${v}`);
    checkValues(v, where, found);
  }
}

function checkUpdateMeta(params) {
  const ours = params?._meta?.acpd;
  const found = [];

  if (!Number.isInteger(ours?.seq) || ours.seq < 1)
    found.push(`_meta.acpd.seq is not a positive integer: ${JSON.stringify(params?._meta)}`);
  if (ours?.turn !== undefined && !(Number.isInteger(ours.turn) && ours.turn >= 1))
    found.push(`_meta.acpd.turn is not a positive integer: ${ours.turn}`);
  return found;
}

function checkEnvelope(msg) {
  const found = [];

  if (!isObject(msg))
    return ['not one JSON object'];
  if (msg.jsonrpc !== '2.0')
    found.push('jsonrpc is not "2.0"');
  for (const key of Object.keys(msg)) {
    if (!ROOT_KEYS.has(key))
      found.push(`unknown member ${key}`);
  }
  if (msg.method === undefined) {
    if (('result' in msg) === ('error' in msg))
      found.push('a response needs a result or an error, not both');
    if (!('id' in msg))
      found.push('a response without id');
  } else if (typeof msg.method !== 'string' || 'result' in msg || 'error' in msg) {
    found.push('a request that is also a response');
  }
  return found;
}

function checkCall(msg, rules) {
  const request = 'id' in msg;
  const kind = request ? 'Request' : 'Notification';
  const found = [];

  if (request && rules.ids && !(Number.isInteger(msg.id) && msg.id >= 1 && msg.id < 2 ** 31))
    found.push(`request id is not in 1..2^31-1: ${JSON.stringify(msg.id)}`);
  if (msg.params !== undefined && !isObject(msg.params))
    found.push('params is not an object');
  if (msg.method.startsWith('_'))
    return found; // private: daemon/protocol/, not the schema
  const name = definitionOf('client', msg.method, kind) ?? definitionOf('protocol', msg.method, kind);
  if (!name)
    return [...found, `no ${kind.toLowerCase()} ${msg.method} in the schema`];
  found.push(...validateAs(name, msg.params ?? {}));
  checkValues(msg.params, '', found);
  if (msg.method === 'session/update' && rules.seq)
    found.push(...checkUpdateMeta(msg.params));
  return found;
}

// All that is wrong with one message of the daemon, [] if nothing. `method`: for a response, the
// method that was asked (undefined: unknown, then only the envelope is checked).
export function validateMessage(msg, { method, rules = defaultRules } = {}) {
  const found = checkEnvelope(msg);

  if (found.length)
    return found;
  if (msg.method !== undefined)
    return checkCall(msg, rules);
  if ('error' in msg)
    return checkError(msg.error, rules);
  if (method === undefined || method.startsWith('_'))
    return [];
  const name = definitionOf('agent', method, 'Response');
  if (!name)
    return [`a result for ${method}, which is not in the schema`];
  checkValues(msg.result, '', found);
  return [...found, ...validateAs(name, msg.result)];
}
