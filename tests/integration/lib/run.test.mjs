// SPDX-License-Identifier: Apache-2.0
// A file that fails is run once more, alone: what passes then is flaky and told, what fails again fails the run. Several files share a process, and
// are told as if they did not.

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

// Notes the process that it runs in.
const PID = "import fs from 'node:fs';\ntest('one', () => fs.appendFileSync('pids', `${process.pid}\\n`));";
// Takes 0.8 s of the processor.
const BUSY = 'for (const { user } = process.cpuUsage(); process.cpuUsage().user < user + 8e5;);';
// With as many others, so that these are one group.
const grouped = (files) => ({ ...files, ...Object.fromEntries(Object.keys(files).map((_, i) => [`z-${i}`, GOOD])) });

let dir;

beforeEach(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-run-test-')); });
afterEach(() => fs.rmSync(dir, { recursive: true }));

// files: {name: text}. flaky: the lines of the list.
function run(files, more = {}, options = []) {
  const { NODE_TEST_CONTEXT, FLAKY, ...env } = process.env; // or it would be a part of this run
  const names = Object.keys(files).map((name) => `${name}.test.mjs`);

  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(dir, `${name}.test.mjs`), `import { test } from 'node:test';\n${text}\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, '--test-concurrency=2', ...options, ...names], { cwd: dir, env: { ...env, ...more }, encoding: 'utf8' });
  const list = path.join(dir, 'build/flaky.txt');
  const again = [...stdout.matchAll(/^# (\S+)\.test\.mjs failed: once more, alone$/gm)].map(([, name]) => name);
  return { status, again, stdout: stdout + stderr, flaky: fs.existsSync(list) ? fs.readFileSync(list, 'utf8').trim().split('\n') : [] };
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

test('a file whose test stands in a library is run again, not the library', () => {
  fs.writeFileSync(path.join(dir, 'library.mjs'), `import { test } from 'node:test';\n${ONCE}`);
  const { status, stdout, again, flaky } = run({ good: GOOD, shared: "// alone: no group tells of its file\nimport './library.mjs';" });

  assert.deepEqual([status, again, flaky], [0, ['shared'], ['shared.test.mjs']], stdout);
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

const processes = () => new Set(fs.readFileSync(path.join(dir, 'pids'), 'utf8').trim().split('\n')).size;

test('files share a process, and each finds it as the first one did', () => {
  const asserts = `import assert from 'node:assert/strict';
${PID}
assert.deepEqual([process.env.LEFT, process.env.HOME, process.umask()], [undefined, 'home', 0o22]);
test('the folder', () => assert.ok(fs.existsSync('pids')));
process.env.LEFT = 'a file';
process.env.HOME = 'elsewhere';
process.umask(0o77);
after(() => process.chdir('/'));`;
  const { status, stdout } = run(grouped({ a: `import { after } from 'node:test';\n${asserts}`, b: `import { after } from 'node:test';\n${asserts}\n${BUSY}`, c: PID }),
    { HOME: 'home', TEST_STAGE: 'check', TEST_TIMES: path.join(dir, 'times') });

  assert.deepEqual([status, processes()], [0, 1], stdout);
  const rows = [...fs.readFileSync(path.join(dir, 'times'), 'utf8').matchAll(/^ +(\d+\.\d) +\d+\.\d {2}(\S+)\.test\.mjs \(check\)$/gm)];
  assert.deepEqual(rows.map(([, , name]) => name).sort(), ['a', 'b', 'c', 'z-0', 'z-1', 'z-2']);
  assert.deepEqual(rows.filter(([, cpu]) => cpu >= 0.7).map(([, , name]) => name), ['b'], rows.join('\n'));
  for (const line of [/^ok a\.test\.mjs 2 of 2, /m, /^ok b\.test\.mjs 2 of 2, /m, /^ok c\.test\.mjs 1 of 1, /m, /^# tests 8$/m, /^# suites 0$/m])
    assert.match(stdout, line);
});

test('what a library knows of a file goes with the file', () => {
  const acp = new URL('../../lib/acp.mjs', import.meta.url);
  const { status, stdout } = run(grouped({ a: `import { noteViolation } from '${acp}';\n${GOOD}\nnoteViolation('a wrong message');`,
    b: `import { assertNoViolations } from '${acp}';\ntest('one', assertNoViolations);` }));

  assert.equal(status, 0, stdout);
});

for (const [what, text, options] of [['that says alone', `// alone: it fills the process\n${PID}`], ['that says slow', `// slow\n${PID}`], ['of a run by names', PID, ['--test-name-pattern=one']]])
  test(`a file ${what} has a process of its own`, () => {
    const { status, stdout } = run(grouped({ a: text, b: PID, c: text }), {}, options);

    assert.deepEqual([status, processes()], [0, 3], stdout);
  });

test('of a group the files that fail are run once more, each alone, and no other', () => {
  const told = path.join(dir, 'failed');
  fs.writeFileSync(path.join(dir, 'library.mjs'), `import { test } from 'node:test';\n${BAD}`);
  const { status, stdout, again, flaky } = run(grouped({
    a: GOOD, bad: BAD, hook: `import { after } from 'node:test';\n${GOOD}\nafter(() => { throw new Error('the hook'); });`, load: "throw new Error('as it loads');",
    none: '', once: ONCE, same: GOOD, shared: "import './library.mjs';", thrown: "test('one', () => { setImmediate(() => { throw new Error('late'); }); });\ntest('two', () => new Promise((r) => { setTimeout(r, 50); }));",
  }), { TEST_FAILED: told });
  const failed = fs.readFileSync(told, 'utf8');

  assert.deepEqual([status, again, flaky], [1, ['bad', 'hook', 'load', 'none', 'once', 'shared', 'thrown'], ['once.test.mjs']], stdout);
  assert.match(stdout, /^ok a\.test\.mjs 1 of 1[^]*^not ok bad\.test\.mjs 0 of 1[^]*^not ok thrown\.test\.mjs 2 of 2[^]*^ok z-0\.test\.mjs 1 of 1/m);
  assert.match(stdout, /^ok same\.test\.mjs 1 of 1/m);
  assert.match(failed, /^not ok bad\.test\.mjs:2 one\n *Error: always\n[^]*Error: the hook[^]*^not ok load\.test\.mjs[^]*ran 0 tests/m);
  assert.match(stdout, /^not ok load\.test\.mjs load\.test\.mjs\n *Error: as it loads/m);
});

// Once its earlier test is told, it ends the process.
const dying = (how) => `test('one', () => {});\ntest('two', () => new Promise(() => { setTimeout(() => { ${how}; }, 200); }));\ntest('three', () => {});`;

for (const [how, text] of [['killed', dying("process.kill(process.pid, 'SIGKILL')")], ['left', dying('process.exit(0)')], ['out of work', "test('one', () => new Promise(() => {}));"]])
  test(`a process that is ${how} fails the file that it was at, and the later ones are run`, () => {
    const { status, stdout, again, flaky } = run(grouped({ a: GOOD, bad: BAD, dies: text, later: PID, worse: BAD }));

    assert.deepEqual([status, again.sort(), flaky], [1, ['bad', 'dies', 'worse'], []], stdout);
    assert.match(stdout, /^ok a\.test\.mjs 1 of 1[^]*^# not run: later\.test\.mjs\n[^]*^ok later\.test\.mjs 1 of 1/m);
    assert.equal(processes(), 1);
    for (const name of ['bad', 'dies', 'worse'])
      assert.match(stdout, new RegExp(`^# ${name}\\.test\\.mjs failed twice$`, 'm'));
  });

test('a file that ends its process the first time only is flaky, and no other', () => {
  const { status, stdout, flaky } = run(grouped({ a: GOOD, later: GOOD, once: ONCE.replace("throw new Error('the first time only')", 'process.exit(0)'), rest: GOOD }));

  assert.deepEqual([status, flaky], [0, ['once.test.mjs']], stdout);
});

test('a file whose hook hangs is ended, and fails; the later ones are run', () => {
  const hook = `import { after } from 'node:test';\n${GOOD}\nafter(() => new Promise(() => { setInterval(() => {}, 1000); }));`;
  const { status, stdout, again } = run(grouped({ a: GOOD, hangs: hook, later: GOOD }), { ACPD_TEST_FILE_MS: '3000' });

  assert.deepEqual([status, again], [1, ['hangs']], stdout);
  assert.match(stdout, /^a file has not ended within 3000 ms: its process is ended$/m);
  for (const name of ['a', 'later'])
    assert.match(stdout, new RegExp(`^ok ${name}\\.test\\.mjs 1 of 1`, 'm'));
  assert.match(stdout, /^# hangs\.test\.mjs failed twice$/m);
});
