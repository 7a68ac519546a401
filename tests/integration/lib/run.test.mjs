// SPDX-License-Identifier: Apache-2.0
// A file that fails is run once more, alone: what passes then is flaky and told, what fails again fails the run.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, test } from 'node:test';

const RUN = fileURLToPath(new URL('../../lib/run.mjs', import.meta.url));
const GOOD = "test('one', () => {});";
const BAD = "test('one', () => { throw new Error('always'); });";
// Fails the first time only, as a race may.
const ONCE = `import fs from 'node:fs';
test('one', () => {
  const isSecond = fs.existsSync('seen');
  fs.writeFileSync('seen', '');
  if (!isSecond) throw new Error('the first time only');
});`;

let dir;

beforeEach(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-run-test-')); });
afterEach(() => fs.rmSync(dir, { recursive: true }));

// files: {name: text}. flaky: the lines of the list.
function run(files, more = {}) {
  const { NODE_TEST_CONTEXT, FLAKY, ...env } = process.env; // or it would be a part of this run
  const names = Object.keys(files).map((name) => `${name}.test.mjs`);

  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(dir, `${name}.test.mjs`), `import { test } from 'node:test';\n${text}\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, '--test-concurrency=2', ...names], { cwd: dir, env: { ...env, ...more }, encoding: 'utf8' });
  const list = path.join(dir, 'build/flaky.txt');
  return { status, stdout: stdout + stderr, flaky: fs.existsSync(list) ? fs.readFileSync(list, 'utf8').trim().split('\n') : [] };
}

test('a run in which nothing fails has nothing flaky', () => {
  const { status, stdout, flaky } = run({ good: GOOD });

  assert.deepEqual([status, flaky], [0, []], stdout);
  assert.doesNotMatch(stdout, /once more/);
});

test('a file that fails once is flaky, with both outputs, and the run passes', () => {
  const { status, stdout, flaky } = run({ good: GOOD, once: ONCE }, { TEST_STAGE: 'check' });

  assert.deepEqual([status, flaky], [0, ['once.test.mjs (check)']], stdout);
  const section = stdout.slice(stdout.indexOf('# flaky: once.test.mjs'));
  assert.match(section, /what failed first\nnot ok once[^]*the first time only[^]*the run that passed\nok once\.test\.mjs 1 of 1/);
});

test('what a test runs by itself is not part of the run', () => {
  const text = "test('one', () => { if (Object.keys(process.env).some((name) => name.startsWith('TEST_'))) throw new Error('a part of it'); });";
  const { status, stdout } = run({ inner: text }, { TEST_STAGE: 'check', TEST_TIMES: path.join(dir, 'times'), TEST_FAILED: path.join(dir, 'failed') });

  assert.equal(status, 0, stdout);
  assert.match(fs.readFileSync(path.join(dir, 'times'), 'utf8'), /inner\.test\.mjs \(check\)/);
});

test('a file that fails once fails the run with FLAKY=fail', () => {
  const told = path.join(dir, 'failed');
  const { status, stdout, flaky } = run({ once: ONCE }, { FLAKY: 'fail', TEST_FAILED: told });

  assert.deepEqual([status, flaky], [1, ['once.test.mjs']], stdout);
  assert.match(fs.readFileSync(told, 'utf8'), /the first time only/);
});

test('a file that fails twice fails the run, beside one that is flaky', () => {
  const told = path.join(dir, 'failed');
  const { status, stdout, flaky } = run({ bad: BAD, once: ONCE }, { TEST_FAILED: told });

  assert.deepEqual([status, flaky], [1, ['once.test.mjs']], stdout);
  assert.match(stdout, /# bad\.test\.mjs failed twice/);
  assert.match(fs.readFileSync(told, 'utf8'), /^not ok bad\.test\.mjs:2 one\n *Error: always\n/);
  assert.doesNotMatch(fs.readFileSync(told, 'utf8'), /once/);
});

test('where many files fail, none is run again', () => {
  const told = path.join(dir, 'failed');
  const { status, stdout, flaky } = run(Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`bad-${i}`, BAD])), { TEST_FAILED: told });

  assert.deepEqual([status, flaky], [1, []], stdout);
  assert.equal(fs.readFileSync(told, 'utf8').match(/^not ok /gm).length, 9);
  assert.doesNotMatch(stdout, /once more/);
});
