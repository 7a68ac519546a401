// SPDX-License-Identifier: Apache-2.0
// What the description of the API says that an answer may claim: every yes-or-no member of all that the daemon says.

import fs from 'node:fs';
import { ROOT } from '../../lib/daemon.mjs';

const api = JSON.parse(fs.readFileSync(`${ROOT}/daemon/api/openapi.json`, 'utf8'));
const { schemas } = api.components;

// What stands for an object in a schema: its own members, and those of its cases.
const INNER = ['items', 'oneOf', 'anyOf', 'allOf', 'then', 'else', 'additionalProperties'];
const isClaim = (v) => v.type === 'boolean' || typeof v.const === 'boolean';

// The schemas that answers begin with: of HTTP, of webhooks, of methods, of what the daemon sends, of commands.
function roots() {
  const bodies = (content) => Object.values(content ?? {}).map((c) => c.schema);
  const http = Object.values(api.paths).flatMap(Object.values).flatMap((o) => Object.values(o.responses ?? {})).flatMap((r) => bodies(r.content));
  const told = Object.values(api.webhooks).flatMap((w) => bodies(w.post.requestBody.content));
  const of = (name, members) => Object.values(schemas[name].properties).flatMap((m) => members.map((k) => m.properties?.[k]).filter(Boolean));

  return [...http, ...told, ...of('AcpMethods', ['result', 'resultMeta']), ...of('AcpSent', ['params', 'meta']), ...Object.values(schemas.Commands.properties)];
}

// SCHEMA.MEMBER or SCHEMA.MEMBER.MEMBER of each of them.
export function claims() {
  const found = new Set(), seen = new Set();

  function look(schema, name, path) {
    if (Array.isArray(schema)) {
      schema.forEach((one) => look(one, name, path));
      return;
    }
    if (!schema || typeof schema !== 'object')
      return;
    const ref = schema.$ref?.split('/').at(-1);

    if (ref && !seen.has(ref)) {
      seen.add(ref);
      look(schemas[ref], ref, []);
    }
    for (const [member, v] of Object.entries(schema.properties ?? {})) {
      if (isClaim(v))
        found.add([name, ...path, member].join('.'));
      look(v, name, [...path, member]);
    }
    for (const key of INNER)
      look(schema[key], name, path);
  }

  for (const root of roots())
    look(root, 'answer', []);
  return [...found].sort();
}

// Whether the description has such a member anywhere: SCHEMA.MEMBER.
export function described(claim) {
  const [name, ...path] = claim.split('.');
  const has = (schema, rest) => {
    if (!schema || typeof schema !== 'object')
      return false;
    if (Array.isArray(schema))
      return schema.some((one) => has(one, rest));
    if (schema.$ref)
      return has(schemas[schema.$ref.split('/').at(-1)], rest);
    if (!rest.length)
      return true;
    return (schema.properties?.[rest[0]] && has(schema.properties[rest[0]], rest.slice(1))) || INNER.some((key) => has(schema[key], rest));
  };

  return has(schemas[name], path);
}
