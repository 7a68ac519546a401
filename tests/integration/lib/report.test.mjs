// SPDX-License-Identifier: Apache-2.0
// What fails makes a run fail, wherever it stands: also in a hook of a suite, which Node 22 tells and then passes over.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';

const REPORT = fileURLToPath(new URL('../../lib/report.mjs', import.meta.url));
const FAIL = "() => { throw new Error('as told'); }";
const FAILING = {
  'a test': `test('one', ${FAIL});`,
  'a subtest': `test('one', (t) => t.test('two', ${FAIL}));`,
  'a test of a suite': `describe('suite', () => { test('one', ${FAIL}); });`,
  'what comes after a test': `test('one', (t) => t.after(${FAIL}));`,
  'before a file': `before(${FAIL}); test('one', () => {});`,
  'after a file': `after(${FAIL}); test('one', () => {});`,
  'before a suite': `describe('suite', () => { before(${FAIL}); test('one', () => {}); });`,
  'after a suite': `describe('suite', () => { after(${FAIL}); test('one', () => {}); });`,
  'after each of a suite': `describe('suite', () => { afterEach(${FAIL}); test('one', () => {}); });`,
  'the file itself': `(${FAIL})();`,
};

let dir;

before(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-report-')); });
after(() => fs.rmSync(dir, { recursive: true }));

// The end of a run of one file.
function run(text) {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // or it would be a part of this run
  const file = path.join(dir, 'one.test.mjs');

  fs.writeFileSync(file, `import { after, afterEach, before, describe, test } from 'node:test';\n${text}\n`);
  const { status, stdout } = spawnSync(process.execPath, ['--test', `--test-reporter=${REPORT}`, file], { cwd: dir, env, encoding: 'utf8' });
  return { status, said: /^(?:not )?ok(?= one\.test\.mjs )/m.exec(stdout)?.[0], failures: Number(/^# fail (\d+)$/m.exec(stdout)?.[1]), stdout };
}

test('nothing fails', () => {
  const { status, said, failures, stdout } = run("test('one', () => {});");

  assert.deepEqual([status, said, failures], [0, 'ok', 0], stdout);
});

for (const [where, text] of Object.entries(FAILING))
  test(`${where} fails`, () => {
    const { status, said, failures, stdout } = run(text);

    assert.deepEqual([status, said], [1, 'not ok'], stdout);
    assert.ok(failures > 0 && stdout.includes('as told'), stdout);
  });
