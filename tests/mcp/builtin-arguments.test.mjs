// SPDX-License-Identifier: Apache-2.0
// Every argument of every built-in tool, at /mcp, with every wrong type, beyond its limits, with unknown words and beside an unknown one: the
// call is refused, the argument named, and nothing is run. What is tried is made from tools/list, which the tools' own tables become.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Daemon, endInOrder } from '../lib/daemon.mjs';
import { HUGE, NUL, many } from '../lib/fields.mjs';
import { McpHttp } from '../lib/mcp-http.mjs';

const VALUES = { string: 'x', integer: 7, boolean: true, array: [], object: {} };
const LONGEST = 100000;
let d, client, tools;

before(async () => {
  d = await Daemon.start();
  await d.restart({ flags: { toolsRoot: d.workDir } });
  client = new McpHttp(d, '/mcp', { agent: new http.Agent({ keepAlive: true, maxSockets: 6 }) });
  ({ tools } = (await (await client.modern('tools/list')).over()).answer.result);
});
after(async () => {
  client?.agent.destroy();
  await endInOrder(d);
});

function* ofString(p) {
  if (p.enum)
    yield ['an unknown word', 'no-such-word'];
  if (p.maxLength && p.maxLength < LONGEST)
    yield ['too long', 'x'.repeat(p.maxLength + 1)];
}

function* ofInteger(p) {
  yield ['fraction', 1.5];
  yield ['huge', HUGE];
  if (p.maximum !== undefined) {
    yield ['too small', p.minimum - 1];
    if (p.maximum < Number.MAX_SAFE_INTEGER)
      yield ['too large', p.maximum + 1];
  }
}

function* ofArray(p) {
  if (p.items.type === 'string') {
    yield ['an element that is none', [7], '[0]'];
    yield ['an element with NUL', ['x', NUL], '[1]'];
    if (p.maxItems && p.maxItems < LONGEST)
      yield ['too many', many(p.maxItems + 1, () => 'x')];
    return;
  }
  for (const [label, value, field] of wrong(p.items))
    yield [label, [value], `[0]${field}`];
}

function* ofObject(p) {
  if (p.properties)
    yield* wrong(p);
  else
    yield* [['a value that is none', { A: 7 }, '.A'], ['a value with NUL', { A: NUL }, '.A']];
}

const OF = { string: ofString, integer: ofInteger, array: ofArray, object: ofObject };

// [label, value, field] of an object with this schema.
function* wrong({ properties, required = [] }, prefix = '.') {
  for (const [name, p] of Object.entries(properties)) {
    if (!p.type)
      continue; // any value is good
    const [main] = [p.type].flat(); // a time is an integer, or a string that no word here is

    for (const [type, value] of Object.entries(VALUES))
      if (type !== main)
        yield [`${name}: ${type}`, { [name]: value }, prefix + name];
    for (const [label, value, field = ''] of OF[main]?.(p) ?? [])
      yield [`${name}: ${label}`, { [name]: value }, prefix + name + field];
  }
  yield ['unknown', { zz: 1 }, `${prefix}zz`];
  if (required.length)
    yield ['missing', {}, prefix + required[0]];
}

async function refusal(name, args) {
  const { answer } = await (await client.modern('tools/call', { name, arguments: args })).over();

  return answer.result?.isError ? answer.result.structuredContent.error : { answer };
}

test('no argument of any tool is taken as it is not meant', async () => {
  const cases = tools.flatMap(({ name, inputSchema }) => [...wrong(inputSchema)].map((c) => [name, ...c]));
  const count = cases.length;
  const before = fs.readdirSync(d.workDir);
  const bad = [];

  await Promise.all(many(6, async () => {
    for (let next; (next = cases.shift());) {
      const [name, label, args, field] = next;
      const e = await refusal(name, args);
      if (!['INVALID_ARGUMENT', 'UNKNOWN_ARGUMENT'].includes(e.code) || e.field !== field.slice(1))
        bad.push(`${name} ${label}: ${JSON.stringify(e)}, not ${field.slice(1)}`);
    }
  }));
  assert.deepEqual(bad, []);
  assert.ok(count > tools.length * 10, `${count} cases`);
  assert.deepEqual(fs.readdirSync(d.workDir), before, 'nothing was made');
});

test('a call that is none is refused, and the next one is answered', async () => {
  for (const params of [{ name: 'raedFile' }, { name: 7 }, { name: '' }, {}, { name: 'listFiles', arguments: [] }, { name: 'listFiles', arguments: 'x' }]) {
    const { answer } = await (await client.modern('tools/call', params, { headers: { 'Mcp-Name': String(params.name ?? '') } })).over();
    assert.ok(answer.error || answer.result.isError, JSON.stringify([params, answer]));
  }
  const { answer } = await (await client.modern('tools/call', { name: 'listFiles', arguments: {} })).over();
  assert.equal(answer.result.isError ?? false, false, JSON.stringify(answer));
});
