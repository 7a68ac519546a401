// SPDX-License-Identifier: Apache-2.0
// build: both
// slow
// Every archive of tests/archives through `acpd archive extract`: the verdict of its table, and never a touch outside.
// CASE=text runs those whose name holds the text.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import test, { after, before } from 'node:test';
import { CASES, CLASSES } from '../../archives/cases/index.mjs';
import { layoutsOf, runCase, selected, temporary } from '../../archives/run.mjs';
import { SANITIZED } from '../../lib/daemon.mjs';
import { roomy } from '../../lib/roomy.mjs';

const WORKERS = 2;
let root;

before(() => {
  root = temporary('acpd-archives-', roomy());
});
after(() => {
  if (!process.env.ACPD_TEST_KEEP)
    fs.rmSync(root, { recursive: true, force: true });
});

// Sanitizers ask about the parser. To it the layout is nothing: one for each case, in turn. What is only large walks the same code again and
// again: the release build does that. In make test (ACPD_TEST_ONCE) it does no more; make check runs every case in all its layouts.
function layouts(c, n) {
  const all = layoutsOf(c, n);
  const theirs = c.big && c.kind === 'volume' ? undefined : all[n % all.length];

  if (SANITIZED)
    return all.filter((layout) => layout === theirs);
  return process.env.ACPD_TEST_ONCE && theirs ? [] : all;
}

// Both decompressors have to give these verdicts: the layouts of a case take them in turn, and so do the cases. ACPD_INFLATE=zlib, or
// isal for the other where it can be: all of them the same.
function inflate(c, layout, n) {
  return { ...process.env, ACPD_INFLATE: process.env.ACPD_INFLATE ?? ['zlib', 'isal'][(layoutsOf(c, n).indexOf(layout) + n) % 2] };
}

// Runs the cases, a few at a time. -> all faults
async function runAll(list) {
  const todo = list.flatMap(({ c, n }) => layouts(c, n).map((layout) => [c, layout, root, inflate(c, layout, n)]));
  const faults = [];

  const worker = async () => {
    for (let one = todo.shift(); one; one = todo.shift())
      faults.push(...(await runCase(...one)).faults);
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  return faults;
}

test('the table: names are unique, every class has many cases, none has both or neither verdict', () => {
  const names = new Set(CASES.map((c) => c.name));

  assert.equal(names.size, CASES.length);
  assert.ok(CASES.length >= 160, `${CASES.length} cases`);
  for (const [kind, cases] of Object.entries(CLASSES)) {
    assert.ok(cases.length >= 10, `${kind}: ${cases.length}`);
    assert.ok(new Set(cases.map((c) => c.file)).size > 1 || kind === 'zip', kind);
  }
  for (const { name, verdict } of CASES) {
    assert.ok(verdict.refused.length + verdict.trees.length > 0, name);
    assert.equal(verdict.rule !== undefined, verdict.refused.length > 0 && verdict.trees.length > 0 || verdict.trees.length > 1, name);
  }
});

for (const kind of Object.keys(CLASSES)) {
  const list = selected().filter(({ c, n }) => c.kind === kind && layouts(c, n).length > 0);

  if (list.length !== 0) {
    test(`${kind}: ${list.length} archives`, async () => {
      assert.deepEqual(await runAll(list), []);
    });
  }
}
