// SPDX-License-Identifier: Apache-2.0
// build: release
// Files of ours that a person writes, each field with what may be wrong with it: --harness-config, where the daemon does not start and says line,
// entry and member; --mcp-config, where each entry's problem is told and keeps nothing else from starting. As fields.test.mjs, which holds
// the tables that are meant here.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { HALF, NUL, many, wrongObjects } from '../../lib/fields.mjs';
import { startHosting } from '../../lib/mcp-http.mjs';
import { fieldTables } from '../../lib/tables.mjs';
import { acpd } from '../run.mjs';

const tables = fieldTables();
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-files-'));
after(() => fs.rmSync(dir, { recursive: true }));

const entry = (more) => ({ harnesses: [{ id: 'good', command: '/bin/true' }, { id: 'x', command: '/bin/true', ...more }] });
const capable = (capabilities) => entry({ capabilities });
const AT = 'harnesses[1].capabilities';
const ARGS = 64; // MANIFEST_ARGS_MAX

// TABLE: {at, put(object) → the file, more?}
const MANIFEST = {
  file: { put: (o) => o, more: { harnesses: { bad: [[many(65, (i) => ({ id: `h${i}`, command: '/bin/true' })), 'TOO_MANY']] } } },
  entry: { at: 'harnesses[1]', put: (o) => ({ harnesses: [{ id: 'good', command: '/bin/true' }, o] }), base: { id: 'x', command: '/bin/true' }, more: {
    id: { bad: [['good', 'DUPLICATE']] }, command: { empty: 'FIELD_MISSING' }, title: { skip: ['empty'] }, quirks: { empty: 'QUIRKS_UNKNOWN', word: 'QUIRKS_UNKNOWN' },
    args: { bad: [[['a', 7], '', '[1]'], [[NUL], '', '[0]'], [many(ARGS + 1, () => 'a'), '', `[${ARGS}]`]] },
    env: { bad: [[{ A: 7 }, '', '.A'], [{ A: HALF }, '', '.A'], [{ 'A=B': 'x' }, '', '.A=B']] }, authMethods: { bad: [[[7], '', '[0]'], [[{}], '', '[0]']] } } },
  caps: { at: AT, put: capable },
  prompt_caps: { at: `${AT}.promptCapabilities`, put: (promptCapabilities) => capable({ promptCapabilities }) },
  mcp_caps: { at: `${AT}.mcpCapabilities`, put: (mcpCapabilities) => capable({ mcpCapabilities }) },
  session_caps: { at: `${AT}.sessionCapabilities`, put: (sessionCapabilities) => capable({ sessionCapabilities }) },
};

// One wrong value for each field of these: their fields are all of one kind.
const few = (cases) => cases.filter(({ label }, i) => cases.findIndex((c) => c.label.split(':')[0] === label.split(':')[0]) === i);

async function refused({ put }, { label, object, field }, i) {
  const file = path.join(dir, `${i}.json`);

  fs.writeFileSync(file, JSON.stringify(put(object), null, 1));
  const { code, stderr } = await acpd(['serve', '--check', '--harness-config', file, '--state', path.join(dir, 's'), '--run-dir', path.join(dir, 'r')], { timeout: 60000 });
  return code === 2 && stderr.includes(`${file}: line `) && stderr.includes(`: ${field}`) ? [] : [`${label}: ${code} ${stderr}, not ${field}`];
}

for (const [name, row] of Object.entries(MANIFEST))
  test(`--harness-config: ${row.at ?? 'the file'}`, async () => {
    const all = [...wrongObjects(tables.get(`harnesses/harness_config.c:${name}_fields`), { ...row, file: true })];
    const cases = (name.endsWith('caps') ? few(all) : all).map((c, i) => [c, i]);
    const wrong = [];

    await Promise.all(many(4, async () => {
      for (let next; (next = cases.shift());)
        wrong.push(...await refused(row, ...next));
    }));
    assert.deepEqual(wrong, []);
  });

test('--mcp-config: each entry that is wrong is told, and stops nothing', async (t) => {
  const base = { command: 'true', disabled: true };
  const cases = [...wrongObjects(tables.get('tools/hosted/mcpfile_entry.c:fields'), { file: true, base, more: Object.fromEntries(['name', 'command', 'cwd', 'type', 'url'].map((f) => [f, { skip: ['empty'] }])) })];
  const d = await startHosting(Object.fromEntries(cases.map(({ object }, i) => [`case${i}`, object])));

  t.after(() => d.stop());
  const { servers, problems } = (await d.http('/v1/mcp', { token: d.token })).json;
  const wrong = cases.flatMap(({ label, reason, field }, i) => {
    const unknown = reason === 'PARAM_UNSUPPORTED';
    const found = problems.find((p) => p.server === `case${i}`) ?? {};
    const good = found.severity === (unknown ? 'warning' : 'error') && found.reason === (unknown ? 'KEY_UNKNOWN' : reason) && found.field?.startsWith(field);
    return good ? [] : [`${label}: ${JSON.stringify(found)}`];
  });

  assert.deepEqual(wrong, []);
  assert.deepEqual([...new Set(servers.map((s) => s.state))].sort(), ['disabled', 'failed']);
});
