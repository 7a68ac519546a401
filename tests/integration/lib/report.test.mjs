// SPDX-License-Identifier: Apache-2.0
// What fails makes a run fail, wherever it stands: also in a hook of a suite, which Node 22 tells and then passes over. What does not run is
// skipped, with a reason, and a file that has no test fails.

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
function run(text, ...options) {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // or it would be a part of this run
  const file = path.join(dir, 'one.test.mjs');

  fs.writeFileSync(file, `import { after, afterEach, before, describe, test } from 'node:test';\n${text}\n`);
  const { status, stdout } = spawnSync(process.execPath, ['--test', `--test-reporter=${REPORT}`, ...options, file], { cwd: dir, env, encoding: 'utf8' });
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

for (const [what, text] of [['nothing', ''], ['only an empty suite', "describe('suite', () => {});"], ['no test, since it ends before', 'process.exit(0);']])
  test(`a file that has ${what} fails, and says why`, () => {
    const { status, failures, stdout } = run(text);

    assert.deepEqual([status, failures], [1, 1], stdout);
    assert.match(stdout, /^not ok one\.test\.mjs .*\n +this file ran 0 tests/m);
  });

test('with a pattern for names, a file may have no test of such a name', () => {
  const { status, stdout } = run("test('one', () => {});", '--test-name-pattern=other');

  assert.equal(status, 0, stdout);
});

const sums = (stdout) => ['tests', 'pass', 'fail', 'skipped'].map((what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)[1]));

test('what is skipped counts as skipped, a suite as one test, and says why in a line', () => {
  const { status, stdout } = run(`describe('suite', { skip: 'no driver' }, () => { test('one', () => {}); test('two', () => {}); });
test('three', { skip: 'not root' }, () => {});
test('four', (t) => t.skip('no tmpfs'));
test('five', () => {});`);

  assert.equal(status, 0, stdout);
  for (const line of [/^skipped one\.test\.mjs:2 suite: no driver$/m, /^skipped one\.test\.mjs:3 three: not root$/m, /^skipped one\.test\.mjs:4 four: no tmpfs$/m, /^ok one\.test\.mjs 1 of 4, 3 skipped, /m])
    assert.match(stdout, line);
  assert.deepEqual(sums(stdout), [4, 1, 0, 3]);
});

test('a file of which all is skipped passes, and does not look as if it had run', () => {
  const { status, stdout } = run("describe('suite', { skip: 'no driver' }, () => { test('one', () => {}); });");

  assert.equal(status, 0, stdout);
  assert.match(stdout, /^ok one\.test\.mjs 0 of 1, 1 skipped, /m);
  assert.deepEqual(sums(stdout), [1, 0, 0, 1]);
});

for (const text of ["test('one', { skip: true }, () => {});", "test('one', (t) => t.skip());", "describe('one', { skip: true }, () => {});"])
  test(`skipped without a reason: ${text}`, () => {
    const { status, said, failures, stdout } = run(text);

    assert.deepEqual([status, said, failures], [1, 'not ok', 1], stdout);
    assert.match(stdout, /^not ok one\.test\.mjs:2 one\n +skipped without a reason/m);
  });
