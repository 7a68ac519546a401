// SPDX-License-Identifier: Apache-2.0
// build.mjs [--check] - makes openapi.json of the areas, and says what of the daemon no area describes. --check: only compares.
//
// Run by make api. The daemon embeds openapi.json (http/routes/route_openapi.c), so that building it needs no Node.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonCommands, methodTable, routeTable, webhookTypes } from '../../tests/lib/tables.mjs';
import { allTables, content, header, json, object, only, ref, time, used } from './notation.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
export const OUTPUT = path.join(HERE, 'openapi.json');

// Tables that decode nothing which a client sends: what the daemon's own programs say to each other, files, and what ACP and MCP describe.
const ELSEWHERE = [
  /^daemon\/(unpack|fetcher)\//, /^daemon\/net\/(control|claim\/e2b_metadata)/, /^daemon\/egress\/wire\/egress_frame/, /^daemon\/session\/parts\/check\/check_(answer|changes)/,
  /^daemon\/session\/parts\/workspace\//, /^daemon\/access\/token_file/, /^daemon\/cli\/serve\/handover/, /^daemon\/agui\/agui_threads/, /^harnesses\/harness_config/,
  /^tools\/(hosted|builtin\/check|builtin\/core|mcp)\//, /^tools\/relay\/(relay_assemble|served_server)/,
  /^daemon\/acp\/(init\.c:init|params\.c:\w+|client_calls\.c:message|prompt\.c:prompt|sessions\.c:list|acp_settings\.c:(?:mode|model)|providers\.c:\w+)_fields/,
];

async function areas() {
  const files = fs.readdirSync(path.join(HERE, 'areas')).filter((f) => f.endsWith('.mjs')).sort();

  return Promise.all(files.map(async (f) => ({ file: f, ...(await import(`./areas/${f}`)).default })));
}

function merge(all, part) {
  const out = {};

  for (const area of all) {
    for (const [name, value] of Object.entries(area[part] ?? {})) {
      assert.ok(!(name in out), `${area.file}: ${name} is described twice`);
      out[name] = { ...value, ...(part !== 'types' && part !== 'parameters' && { area }) };
    }
  }
  return out;
}

const pattern = (route) => route.replace(/\{\w*\}/g, '{}');

function compare(what, described, there) {
  const missing = there.filter((name) => !described.includes(name));
  const gone = described.filter((name) => !there.includes(name));

  assert.deepEqual({ missing, gone }, { missing: [], gone: [] }, `${what}: see daemon/api/README.md`);
}

// --- routes ---------------------------------------------------------------------------------------------------------------------

const FAILED = { '4XX': json(ref('Error'), 'refused'), '5XX': json(ref('Error'), 'not possible now, or failed') };

// The scope of a token that a route or method needs: any, or a name; open needs no token.
const scopeOf = ({ need }) => need.toLowerCase();

function operation(route, { area, path: _, ...it }, row, parameters) {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map((m) => m[1]);
  const inPath = names.map((name) => ({ name, in: 'path', required: true, ...(parameters[name] ?? assert.fail(`${route}: ${name} is no parameter`)) }));
  const params = [...inPath, ...(it.query ?? []), ...(it.headers ?? [])];

  for (const key of ['id', 'says', 'answers'])
    assert.ok(it[key], `${route}: ${key} is missing`);
  return {
    operationId: it.id, summary: it.says, tags: [area.page],
    ...(it.more && { description: it.more }), 'x-acpd-scope': scopeOf(it.beside ? { need: 'ANY' } : row), ...(params.length && { parameters: params }),
    ...(it.body && { requestBody: it.body }), responses: { ...it.answers, ...Object.fromEntries(Object.entries(FAILED).filter(([k]) => !(k in it.answers))) },
    ...((row?.open || it.open) && { security: [] }),
  };
}

function paths(all) {
  const routes = merge(all, 'routes');
  const parameters = merge(all, 'parameters');
  const table = routeTable();
  const own = Object.entries(routes).filter(([, it]) => !it.beside).map(([name]) => pattern(name));
  const out = {};

  compare('HTTP routes (daemon/http/endpoints.c)', own, table.map((r) => `${r.method} ${r.path}`));
  for (const [name, it] of Object.entries(routes)) {
    const [method, route] = name.split(' ');

    (out[route] ??= {})[method.toLowerCase()] = operation(route, it, table.find((r) => r.method === method && r.path === pattern(route)), parameters);
  }
  return out;
}

// --- methods of ACP ---------------------------------------------------------------------------------------------------------------

// _acpd/workspace/diff → AcpdWorkspaceDiff, $/cancel_request → CancelRequest
const typeName = (method) => method.split(/[^A-Za-z0-9]+/).filter(Boolean).map((w) => w[0].toUpperCase() + w.slice(1)).join('');

// What a message of ACP may hold of ours: its own parameters, or what is below _meta.acpd of parameters and result.
const PARTS = { params: 'Params', result: 'Result', meta: 'Meta', resultMeta: 'ResultMeta' };

function messages(described, what, types, table = []) {
  const members = {};

  for (const [method, it] of Object.entries(described)) {
    const parts = {};

    assert.ok(it.says, `${method}: says is missing`);
    for (const [part, suffix] of Object.entries(PARTS)) {
      if (!it[part])
        continue;
      const name = `${what}${typeName(method)}${suffix}`;

      types[name] = it[part];
      parts[part] = ref(name);
    }
    const row = table.find((m) => m.name === method);

    members[method] = object(parts, it.says, row && { 'x-acpd-scope': scopeOf(row) });
  }
  return members;
}

function methodTypes(all, types) {
  const methods = merge(all, 'methods');
  const table = methodTable();

  compare('ACP methods (daemon/acp/methods.c)', Object.keys(methods), table.map((m) => m.name));
  types.AcpMethods = object(messages(methods, '', types, table), 'What a client may send over /acp: each method with its parameters and its result (params, result), or, '
    + 'where those are ACP\'s, what may stand below _meta.acpd of them (meta, resultMeta).');
  types.AcpSent = object(messages(merge(all, 'sent'), 'Sent', types), 'What the daemon sends over /acp besides answers, described likewise.');
}

// --- webhooks -------------------------------------------------------------------------------------------------------------------

const SIGNED = { 'webhook-id': 'of this message: one that comes again has the same', 'webhook-timestamp': 'of this attempt, in seconds', 'webhook-signature': 'v1, and the base64 of an HMAC-SHA256, for each secret' };

// A POST to a receiver, of one type of event.
function webhook(name, { area, says, data }, types) {
  const own = typeName(name.replace(/^webhook_/, ''));
  const type = `Webhook${own}`;

  assert.ok(says && data, `${name}: says or data is missing`);
  types[type] = object({ type: only(name), timestamp: time('when it happened'), data }, says);
  return { post: {
    operationId: `on${own}`, summary: says, tags: [area.page], security: [],
    parameters: Object.entries(SIGNED).map(([named, description]) => ({ name: named, in: 'header', required: true, description, schema: { type: 'string' } })),
    requestBody: { required: true, content: content('application/json', ref(type)) },
    responses: { '2XX': { description: 'it is accepted' }, 410: { description: 'nothing more is sent' }, '4XX': { description: 'it is sent again', headers: { 'Retry-After': header('of 429: after so many seconds') } } },
  } };
}

function webhooks(all, types) {
  const described = merge(all, 'webhooks');

  compare('types of webhooks (daemon/outbox/webhook_list.c)', Object.keys(described), webhookTypes());
  return Object.fromEntries(Object.entries(described).map(([name, it]) => [name, webhook(name, it, types)]));
}

// --- commands -------------------------------------------------------------------------------------------------------------------

function commandTypes(all, types) {
  const described = merge(all, 'commands');
  const members = {};

  compare('commands with --json (daemon/cli/acpd.c)', Object.keys(described), jsonCommands());
  for (const [name, it] of Object.entries(described).filter(([, { json: schema }]) => schema)) {
    const type = `Command${typeName(name)}`;

    types[type] = it.json;
    members[name] = { ...ref(type, it.says), ...(it.lines && { 'x-acpd-lines': true }) };
  }
  types.Commands = object(members, 'What commands of acpd print with --json: one JSON object, or with x-acpd-lines one on each line. Without it a command prints nothing, as do those that are not here.');
}

// --- the document ---------------------------------------------------------------------------------------------------------------

const INFO = `HTTP routes of acpd, and as schemas all that is private to it in ACP: \`_meta.acpd\` and the methods \`_acpd/*\` (AcpMethods, AcpSent).

HEAD works wherever GET does. Another method of a path is 405 with Allow. Clients have to ignore members of answers that they do not know.
Made from the tables by which the daemon decodes; the pages of daemon/protocol/ explain.`;

function document(all) {
  const types = merge(all, 'types');
  const routes = paths(all);
  const hooks = webhooks(all, types);
  const pages = [...new Set(all.filter((a) => a.routes || a.webhooks).map((a) => a.page))].sort();

  methodTypes(all, types);
  commandTypes(all, types);
  return {
    openapi: '3.1.0',
    info: { title: 'acpd', version: '1', description: INFO, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/', description: 'the daemon that serves this text' }],
    security: [{ bearer: [] }],
    tags: pages.map((name) => ({ name, description: `daemon/protocol/${name}.md` })),
    paths: routes,
    webhooks: hooks,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'the token of the daemon; with --allow-query-token also as `token` of the query' } },
      schemas: Object.fromEntries(Object.keys(types).sort().map((name) => [name, types[name]])),
    },
  };
}

function complain() {
  const left = allTables().filter((name) => !used.has(name) && !ELSEWHERE.some((p) => p.test(name)));

  assert.deepEqual(left, [], 'tables that no area of daemon/api describes: see daemon/api/README.md');
}

function checkRefs(doc) {
  const text = JSON.stringify(doc);

  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
    assert.ok(doc.components.schemas[name], `there is no type ${name}`);
}

// JSON whose lines are short where that is possible: one can read it, and a change is a change of few lines.
function layOut(value, indent = '') {
  const short = JSON.stringify(value);
  const deeper = `${indent} `;

  if (short.length + indent.length <= 140 || typeof value !== 'object' || value === null)
    return short;
  if (Array.isArray(value))
    return `[\n${value.map((v) => deeper + layOut(v, deeper)).join(',\n')}\n${indent}]`;
  return `{\n${Object.entries(value).map(([k, v]) => `${deeper}${JSON.stringify(k)}: ${layOut(v, deeper)}`).join(',\n')}\n${indent}}`;
}

export async function build() {
  const doc = document(await areas());

  complain();
  checkRefs(doc);
  return `${layOut(doc)}\n`;
}

async function write() {
  const made = await build();

  if (!process.argv.includes('--check'))
    fs.writeFileSync(OUTPUT, made);
  else if (!fs.existsSync(OUTPUT) || fs.readFileSync(OUTPUT, 'utf8') !== made)
    throw new Error('daemon/api/openapi.json is not what the areas say: make api');
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  write(); // no await: require() takes no module that waits
