// SPDX-License-Identifier: Apache-2.0
// The daemon's own tables, read from its sources: what exists, so that tests which go through all of it notice what is new.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { namesBelow } from './vanishing.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

// [{name, kind: 'REQUEST' | 'NOTIFICATION', access: 'ANY' | 'DRIVER' | 'FREE', need, sessions, meta: 'NONE' | 'ACPD' | 'KEYS' | 'BARE'}] of daemon/acp/methods.c.
export function methodTable() {
  const body = /struct acp_method methods\[\] = \{(.*?)\n\};/s.exec(read('daemon/acp/methods.c'))[1];
  const rows = [...body.matchAll(/\bROW\("([^"]+)",\s*\w+,\s*(\w+),\s*(\w+),\s*(\w+)(?:,\s*([^()]*))?\)/g)];
  const word = (rest, prefix, absent) => new RegExp(`\\b${prefix}_(\\w+)`).exec(rest)?.[1] ?? absent;

  assert.equal(rows.length, body.match(/\bROW\(/g).length, 'each row of the table is understood');
  return rows.map(([, name, need, sessions, access, rest]) =>
    ({ name, kind: word(rest, 'RPC', 'REQUEST'), access, need, sessions, meta: word(rest, 'META', 'NONE') }));
}

// --- tables of fields ----------------------------------------------------------------------------------------------------------

const sources = (dir) => namesBelow(path.join(ROOT, dir)).filter((f) => /\.[ch]$/.test(f)).map((f) => path.join(dir, f)).sort();
const FILES = ['daemon', 'harnesses', 'tools'].flatMap(sources);

const defines = (text) => new Map([...text.matchAll(/^#define (\w+)[ \t]+(.+?)(?:\s*\/\*.*)?$/gm)].map(([, name, value]) => [name, value]));
const common = new Map(FILES.filter((f) => f.endsWith('.h')).flatMap((f) => [...defines(read(f))]));

const LARGEST = { INT64_MAX: 2 ** 63, UINT32_MAX: 2 ** 32 - 1, SIZE_MAX: 2 ** 64 };

// The value of a constant of the daemon, or of an expression of such; own: the #defines of the file it stands in.
export function constant(expression, own = new Map()) {
  const text = expression.replace(/\b(\d+)[uUlL]+\b/g, '$1').replace(/\b[A-Za-z_]\w*\b/g, (name) => {
    if (name in LARGEST)
      return String(LARGEST[name]);
    assert.ok(own.has(name) || common.has(name), `${name} is no constant`);
    return `(${constant(own.get(name) ?? common.get(name), own)})`;
  });

  assert.match(text, /^[\d\s()*+</-]+$/, expression);
  return Function(`return ${text}`)();
}

// a, "b", f(c, d) → [a, "b", f(c, d)]
function split(text) {
  const parts = [''];
  let depth = 0;

  for (const c of text) {
    depth += (c === '(') - (c === ')');
    if (c === ',' && depth === 0)
      parts.push('');
    else
      parts[parts.length - 1] += c;
  }
  return parts.map((p) => p.trim()).filter(Boolean);
}

// A file's own macros that stand for rows: #define NAME rows, #define NAME(name) row.
function expand(body, text) {
  const joined = text.replaceAll(/\\\n\s*/g, ' ');

  for (const [, name, arg, rows] of joined.matchAll(/^#define (\w+)(?:\((\w+)\))?[ \t]+(JF_\w+\(.*)$/gm))
    body = arg ? body.replaceAll(new RegExp(`\\b${name}\\(([^()]*)\\)`, 'g'), (_, given) => rows.replaceAll(new RegExp(`\\b${arg}\\b`, 'g'), given)) :
      body.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), rows);
  return body;
}

function field(row, own) {
  const [, type, args] = /^JF_(\w+)\((.*)\)$/s.exec(row) ?? assert.fail(row);
  const [, , name, flags, ...bounds] = split(args);
  const [min, max] = type === 'STR' ? [0, constant(bounds[0], own)] : bounds.map((b) => constant(b, own));

  return { name: JSON.parse(name), type, required: /JF_REQUIRED/.test(flags), filled: /JF_FILLED/.test(flags), min, max };
}

// --- parameters of a session ---------------------------------------------------------------------------------------------------

// The rows of session/core/session_parameter.h: [{file, name, says, type, filled, min, max, calls: ['NEW' | 'LOAD' | 'FORK'], checked}].
export function parameterRows() {
  const labels = [...read('daemon/session/core/harness/session_labels.h').matchAll(/^\s*X\(\w+, ("\w+"),[^)]*("[^"]*")\)/gm)];
  const rows = [];

  for (const file of FILES.filter((f) => f.startsWith('daemon/session/') && f.endsWith('.c'))) {
    const text = read(file).replace(/^#define LABEL_ROW.*?\n(\s+\[LABEL_##id\].*?\},)$/ms, (_, row) => labels.map(([, name, says]) =>
      `const struct session_parameter label = {\n${row.replaceAll('\\\n', '').replace('(name, STR, sentence)', `(${name}, STR, ${says})`)}\n};`).join('\n'));
    const own = defines(text);

    for (const [, type, name, says, rest] of text.matchAll(/^(?:static )?const struct session_parameter \w+ = \{$.*?PARAMETER\(("\w+"), (\w+),\s*("[^"]*")\),?(.*?)^\};$/gms)
      .map(([all, n, t, s, r]) => [all, t, n, s, r])) {
      const member = (what) => new RegExp(`\\.${what} = ([^,}]*)`).exec(rest)?.[1].trim();

      rows.push({ file, name: JSON.parse(name), says: JSON.parse(says), type, required: false, filled: /JF_FILLED/.test(member('flags')),
        ...(type === 'STR' && { min: 0, max: constant(member('max'), own) }), checked: Number(member('checked') ?? 1e6),
        calls: (member('calls') ?? 'NEW | LOAD | FORK').split('|').map((c) => c.trim().replace('PARAMETER_', '')) });
    }
  }
  return rows.sort((x, y) => x.checked - y.checked);
}

// The fields of _meta.acpd of each call begin with the parameters that it accepts (daemon/acp/meta.c).
const OPENING = { 'daemon/acp/meta.c:new_fields': 'NEW', 'daemon/acp/meta.c:load_fields': 'LOAD', 'daemon/acp/meta.c:fork_fields': 'FORK' };

// Every table by which an object is decoded (json/jdec.h): Map of "file:table" → [{name, type: 'STR' …, required, filled, min, max}].
export function fieldTables() {
  const tables = new Map();

  for (const file of FILES.filter((f) => f.endsWith('.c'))) {
    const text = read(file);

    for (const [, name, body] of text.matchAll(/^(?:static )?const struct jfield (\w+)\[\] = \{(.*?)\};$/gms)) {
      const rows = split(expand(body, text).replaceAll(/\/\*.*?\*\//gs, ''));

      assert.equal(rows.at(-1), 'JF_END', `${file}: ${name}`);
      tables.set(`${file}:${name}`, rows.slice(0, -1).map((row) => field(row, defines(text))));
    }
  }
  for (const [table, call] of Object.entries(OPENING))
    tables.set(table, [...parameterRows().filter((row) => row.calls.includes(call)), ...tables.get(table)]);
  return tables;
}

// static const char *const NAME[] = { "a", "b", NULL };
const wordLists = (text) => new Map([...text.matchAll(/^static const char \*const (\w+)\[\] = \{(.*?)\};$/gms)]
  .map(([, name, body]) => [name, [...body.matchAll(/"([^"]+)"/g)].map((m) => m[1])]));

// The same of queries (http/request_parts.h): {name, type: 'UINT' | 'BOOL' | 'WORD' | 'NAME' | 'TEXT', words}.
export function queryTables() {
  const tables = new Map();

  for (const file of FILES.filter((f) => f.endsWith('.c'))) {
    const text = read(file);
    const lists = wordLists(text);

    for (const [, name, body] of text.matchAll(/^static const struct query_field (\w+)\[\] = \{(.*?)\};$/gms))
      tables.set(`${file}:${name}`, [...body.matchAll(/\{ "(\w+)", QUERY_(\w+),.*?, (\w+) \}/gs)]
        .map((m) => ({ name: m[1], type: m[2], words: lists.get(m[3]) })));
  }
  return tables;
}

// [{method, path, need, sessions, open}] of daemon/http/endpoints.c.
export function routeTable() {
  const body = /struct route routes\[\] = \{(.*?)\n\};/s.exec(read('daemon/http/endpoints.c'))[1];
  const rows = [...body.matchAll(/\{\s*"([A-Z]+)",\s*"(\/[^"]*)",\s*NEED_(\w+),\s*SESSIONS_(\w+),/g)];

  assert.equal(rows.length, body.match(/\{\s*"/g).length, 'each row of the table is understood');
  return rows.map(([, method, where, need, sessions]) => ({ method, path: where, need, sessions, open: need === 'OPEN' }));
}

// Words of a list in a source, by what stands before each.
export const wordsOf = (file, pattern) => [...read(file).matchAll(pattern)].map((m) => m[1]);

// The types of webhooks, and the one that tells of a gap.
export const webhookTypes = () => [...wordsOf('daemon/outbox/webhook_list.c', /\[WEBHOOK_\w+\] = "([^"]+)"/g), ...wordsOf('daemon/outbox/webhook_list.h', /define WEBHOOK_GAP "([^"]+)"/g)];

// The commands of daemon/cli/acpd.c that take --json.
export function jsonCommands() {
  const json = wordsOf('daemon/cli/options/cli_options.c', /^OPT\("json", BOOL, ([A-Z_ |]+),/gm).flatMap((scopes) => scopes.split(' | '));
  const rows = [...read('daemon/cli/acpd.c').matchAll(/^\t\{ "([a-z ]+)", (?:NULL|"[^"]*"), ([A-Z_ |]+),/gm)];

  return rows.filter(([, , scopes]) => scopes.split(' | ').some((s) => json.includes(s))).map(([, name]) => name);
}
