// SPDX-License-Identifier: Apache-2.0
// The commands that run tests: which files make t takes, and what make stress counts.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../lib/daemon.mjs';

// "echo" in the place of node shows what would be run.
const one = (t, env = {}) => spawnSync('sh', [`${ROOT}/tests/one.sh`, t], { env: { PATH: process.env.PATH, NODE: 'echo', ...env }, encoding: 'utf8' });

for (const [t, files] of [['mcp/relay.', ['tests/mcp/relay.test.mjs']], ['lib/comm', ['tests/integration/lib/commands.test.mjs']],
  ['integration/lib/run', ['tests/integration/lib/run.test.mjs']], ['lib/r', ['tests/integration/lib/report.test.mjs', 'tests/integration/lib/run.test.mjs']]])
  test(`make t T=${t}`, () => {
    const { status, stdout } = one(t, { NAME: 'a b' });

    assert.deepEqual([status, stdout.trim()], [0, `tests/lib/run.mjs --test-concurrency=2 --test-name-pattern=a b ${files.join(' ')}`]);
  });

test('make t says what it cannot do', () => {
  for (const [t, env, said] of [['', {}, /no test below tests\/ or tests\/integration\/ begins with ''/], ['nothing/here', {}, /begins with 'nothing\/here'/],
    ['unit/nothing', {}, /begins with 'unit\/nothing'/], ['mcp/relay', { WRAP: 'ltrace' }, /WRAP=ltrace: not one of gdb, strace and valgrind/]]) {
    const { status, stderr } = one(t, env);

    assert.equal(status, 2);
    assert.match(stderr, said);
  }
});

test('a test file has no mark that the Makefile and run.mjs do not know', () => {
  const files = fs.globSync('tests/{integration/**,e2b,mcp,ui}/*.test.mjs', { cwd: ROOT });
  const marks = files.flatMap((file) => fs.readFileSync(`${ROOT}/${file}`, 'utf8').split('\n').filter((line) => /^\/\/ (build|slow|alone)\b/.test(line)));

  assert.ok(files.length > 200 && marks.length > 80);
  assert.deepEqual([...new Set(marks.filter((mark) => !/^\/\/ alone: ./.test(mark)))].sort(), ['// build: both', '// build: release', '// slow']);
});

test('make help has each target that the README of the tests names', () => {
  const { stdout } = spawnSync('make', ['--no-print-directory', 'help'], { cwd: ROOT, encoding: 'utf8' });
  const listed = stdout.split('\n').flatMap((line) => line.split(/  +/)[0].split(' '));
  const named = [...fs.readFileSync(`${ROOT}/tests/README.md`, 'utf8').matchAll(/`make ([a-z-]+)/g)].map(([, target]) => target);

  assert.ok(named.length > 20);
  assert.deepEqual(named.filter((target) => !listed.includes(target)), []);
});

test('make stress counts the runs that fail, and ends its busy loops', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-stress-'));
  const file = path.join(dir, 'third.test.mjs');
  const { NODE_TEST_CONTEXT, ...env } = process.env; // or its runs would be a part of this one

  try {
    fs.writeFileSync(file, `import fs from 'node:fs';
import { test } from 'node:test';
test('one', () => {
  fs.appendFileSync(${JSON.stringify(`${dir}/runs`)}, 'x');
  if (fs.statSync(${JSON.stringify(`${dir}/runs`)}).size === 3) throw new Error('the third time');
});\n`);
    const { status, stdout } = spawnSync(process.execPath, [`${ROOT}/tests/lib/stress.mjs`, file], { env: { ...env, N: '4', LOAD: '1', JOBS: '1' }, encoding: 'utf8' });

    assert.equal(status, 1, stdout);
    assert.match(stdout, /the third time[^]*third\.test\.mjs: 1 of 4 runs failed beside 1 busy loops\n$/);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
});
