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
const GROUP = new URL('../../lib/group.mjs', import.meta.url);
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

// The end of a run of one file: in a process of its own, or as run.mjs runs it with others.
function run(text, { options = [], inGroup = false } = {}) {
  const { NODE_TEST_CONTEXT, ...env } = process.env; // or it would be a part of this run
  const file = path.join(dir, 'one.test.mjs');
  const group = path.join(dir, 'group.mjs');

  fs.writeFileSync(file, `import { after, afterEach, before, describe, test } from 'node:test';\n${text}\n`);
  fs.writeFileSync(group, `import { runGroup } from '${GROUP}';\nawait runGroup(['one.test.mjs']);\n`);
  const groups = inGroup ? { TEST_GROUPS: JSON.stringify({ [group]: ['one.test.mjs'] }) } : {};
  const { status, stdout } = spawnSync(process.execPath, ['--test', `--test-reporter=${REPORT}`, ...options, inGroup ? group : file],
    { cwd: dir, env: { ...env, ...groups }, encoding: 'utf8' });
  return { status, said: /^(?:not )?ok(?= one\.test\.mjs )/m.exec(stdout)?.[0], failures: Number(/^# fail (\d+)$/m.exec(stdout)?.[1]), stdout };
}

const BOTH = [['', {}], [', in a group', { inGroup: true }]];

for (const [how, options] of BOTH)
  test(`nothing fails${how}`, () => {
    const { status, said, failures, stdout } = run("test('one', () => {});", options);

    assert.deepEqual([status, said, failures], [0, 'ok', 0], stdout);
  });

for (const [how, options] of BOTH)
  for (const [where, text] of Object.entries(FAILING))
    test(`${where} fails${how}`, () => {
      const { status, said, failures, stdout } = run(text, options);

      assert.deepEqual([status, said], [1, 'not ok'], stdout);
      assert.ok(failures > 0 && stdout.includes('as told') && /^not ok one\.test\.mjs(:2)? .*\n +(Error: as told|test failed)\n/m.test(stdout), stdout);
    });

for (const [how, options] of BOTH)
  for (const [what, text, why] of [['nothing', '', 'this file ran 0 tests'], ['only an empty suite', "describe('suite', () => {});", 'this file ran 0 tests'],
    ['no test, since it ends before', 'process.exit(0);', options.inGroup ? 'its process ended before' : 'this file ran 0 tests']])
    test(`a file that has ${what} fails${how}, and says why`, () => {
      const { status, failures, stdout } = run(text, options);

      assert.deepEqual([status, failures], [1, 1], stdout);
      assert.match(stdout, new RegExp(`^not ok one\\.test\\.mjs .*\\n +${why}`, 'm'));
    });

test('with a pattern for names, a file may have no test of such a name', () => {
  const { status, stdout } = run("test('one', () => {});", { options: ['--test-name-pattern=other'] });

  assert.equal(status, 0, stdout);
});

const sums = (stdout) => ['tests', 'pass', 'fail', 'skipped'].map((what) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)[1]));

for (const [how, options] of BOTH)
  test(`what is skipped counts as skipped, a suite as one test, and says why in a line${how}`, () => {
    const { status, stdout } = run(`describe('suite', { skip: 'no driver' }, () => { test('one', () => {}); test('two', () => {}); });
test('three', { skip: 'not root' }, () => {});
test('four', (t) => t.skip('no tmpfs'));
test('five', () => {});`, options);

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

for (const [how, options] of BOTH)
  for (const text of ["test('one', { skip: true }, () => {});", "test('one', (t) => t.skip());", "describe('one', { skip: true }, () => {});"])
    test(`skipped without a reason${how}: ${text}`, () => {
      const { status, said, failures, stdout } = run(text, options);

      assert.deepEqual([status, said, failures], [1, 'not ok', 1], stdout);
      assert.match(stdout, /^not ok one\.test\.mjs:2 one\n +skipped without a reason/m);
    });
