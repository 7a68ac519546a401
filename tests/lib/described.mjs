// SPDX-License-Identifier: Apache-2.0
// Holds what goes over the wire against the description of the API (daemon/api/openapi.json).
//
// Every answer has to be described, with every member that it has. A request has to be described if the daemon has taken it; one that it refused
// may be wrong on purpose.
// The clients of tests/lib call this; a test that speaks by itself calls answered() or checkHttp().

import assert from 'node:assert/strict';
import { Lines, comesInLines } from './described-lines.mjs';
import { NOTHING, TYPES, api, problems } from './described-schemas.mjs';

export { api };

// --- HTTP -----------------------------------------------------------------------------------------------------------------------

const ROUTES = Object.entries(api.paths).flatMap(([where, methods]) => Object.entries(methods).map(([method, operation]) =>
  ({ method: method.toUpperCase(), where, parts: where.split('/'), operation })));

function routeOf(method, where) {
  const parts = where.replace(/\?.*$/s, '').split('/');
  const asked = method === 'HEAD' ? 'GET' : method;

  return ROUTES.find((r) => r.method === asked && r.parts.length === parts.length && r.parts.every((p, i) => p.startsWith('{') || p === parts[i]));
}

const jsonOf = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function checkBody(content, type, body, what) {
  const schema = content?.[type]?.schema;

  if (!content?.[type] && !content?.['*/*'])
    return [`${what} has a body of type ${type}, which is not described`];
  if (!schema || schema.type === 'string')
    return [];
  return comesInLines(type) ? new Lines(schema, type, what).whole(body) : problems(schema, jsonOf(body), what);
}

// The lines of an answer that is read as it comes; undefined if it does not come in lines, or not as described (which checkHttp says).
export function linesOf({ method, where }, { status, type = '' }) {
  const plain = type.replace(/;.*$/s, '');
  const schema = comesInLines(plain) && routeOf(method, where)?.operation.responses[status]?.content?.[plain]?.schema;

  return schema ? new Lines(schema, plain, `${method} ${where.slice(0, 80)}`) : undefined;
}

function checkQuery(operation, where, what) {
  if (!where.startsWith('/v1/'))
    return []; // the older routes ignore theirs
  const asked = new URLSearchParams(where.split('?')[1] ?? '');
  const named = (operation.parameters ?? []).filter((p) => p.in === 'query');

  return [...asked].flatMap(([name, value]) => {
    const p = named.find((q) => q.name === name);
    const parsed = ['integer', 'boolean'].includes(p?.schema.type) ? jsonOf(value) : value;

    if (name === 'token')
      return [];
    return p ? problems(p.schema, parsed, `${what}: ${name} of its query`) : [`${what}: ${name} of its query is not described`];
  });
}

// One exchange: {method, where, body?: text} and {status, headers, body: text}; what is wrong with it, [] if nothing.
export function httpProblems({ method, where, body: sent }, { status, headers, body }) {
  if (method === 'OPTIONS' && status === 204)
    return body ? ['the answer to a preflight has a body'] : [];
  const what = `${method} ${where.slice(0, 80)} ${status}`;
  const route = routeOf(method, where);
  const operation = route?.operation ?? { responses: { '4XX': api.paths['/v1/info'].get.responses['4XX'], '5XX': api.paths['/v1/info'].get.responses['5XX'] } };
  const answer = operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`];
  const type = (headers['content-type'] ?? '').replace(/;.*$/s, '');
  const asked = sent && operation.requestBody?.content['application/json']?.schema;

  if (!answer)
    return [`${what} is not described`];
  return [
    ...(status < 400 ? checkQuery(operation, where, what) : []),
    ...(status < 300 && asked ? problems(asked, withoutNull(jsonOf(sent)), `the body of ${what}`) : []),
    ...(method === 'HEAD' || !body ? [] : checkBody(answer.content, type, body, what)),
  ];
}

export function checkHttp(request, answer) {
  assert.deepEqual(httpProblems(request, answer), [], 'an exchange that the API does not have');
}

// --- webhooks -------------------------------------------------------------------------------------------------------------------

// What is wrong with the body of a webhook.
export function webhookProblems(message) {
  const row = api.webhooks[message.type];

  return row ? problems(row.post.requestBody.content['application/json'].schema, message, `the webhook ${message.type}`) : [`the webhook ${message.type} is not described`];
}

// --- ACP ------------------------------------------------------------------------------------------------------------------------

const CALLS = TYPES.AcpMethods.properties;
const SENT = TYPES.AcpSent.properties;

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);

// null is as good as absent in what is sent.
function withoutNull(value) {
  if (Array.isArray(value))
    return value.map(withoutNull);
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, v]) => v !== null).map(([k, v]) => [k, withoutNull(v)])) : value;
}

const partOf = (row, part) => row?.properties?.[part];

function checkMeta(schema, holder, what) {
  const acpd = holder?._meta?.acpd;

  return acpd === undefined || acpd === null ? [] : problems(schema ?? NOTHING, acpd, `_meta.acpd of ${what}`);
}

// A request or notification of the daemon.
function checkSent(msg) {
  const row = SENT[msg.method];

  if (msg.method.startsWith('_acpd/'))
    return row ? problems(partOf(row, 'params'), msg.params, msg.method) : [`${msg.method} of the daemon is not described`];
  return checkMeta(partOf(row, 'meta'), msg.params, msg.method);
}

function checkResult(method, result, params) {
  const row = CALLS[method];
  const sent = withoutNull(params);

  if (method.startsWith('_acpd/')) {
    return row ? [...problems(partOf(row, 'result') ?? NOTHING, result, `the result of ${method}`), ...problems(partOf(row, 'params') ?? NOTHING, sent ?? {}, `${method}`)] :
      [`${method} is not described`];
  }
  const agent = method === 'initialize' ? checkMeta(TYPES.AgentMeta, result.agentCapabilities, 'agentCapabilities') : [];

  return [...agent, ...checkMeta(partOf(row, 'resultMeta'), result, `the result of ${method}`), ...checkMeta(partOf(row, 'meta'), sent, method)];
}

// What is wrong with a message of the daemon. method, params: of the request that it answers.
export function messageProblems(msg, { method, params } = {}) {
  if (typeof msg.method === 'string')
    return checkSent(msg);
  if (method === undefined)
    return [];
  if (isObject(msg.error))
    return msg.error.data === undefined ? [] : problems(TYPES.ErrorData, msg.error.data, `the error of ${method}`);
  return isObject(msg.result) ? checkResult(method, msg.result, params) : [];
}
