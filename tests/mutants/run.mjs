// SPDX-License-Identifier: Apache-2.0
// run.mjs - proves the tests: applies each fault of list.mjs alone to a copy of the tree, builds what its test needs, and runs that
// test, which has to fail: make mutants.
//
// Two copies below build/mutants/ work side by side. Each begins with the objects of the tree and their times, so that a fault costs
// one file compiled and one program linked. Each test first runs without a fault: one that fails then proves nothing.
// Exit status: 0 if every fault was noticed, 1 if not, 2 if the list does not fit the code.
// --check: only whether it does; 1 if not (make lint).
// Environment, set by the Makefile: BUILD, MODE, ONLY (regular expression for ids), GOALS (what test files need), UNIT_ALONE.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { MUTANTS } from './list.mjs';

const { BUILD = 'build/release', MODE = 'release', ONLY = '', GOALS = 'all', UNIT_ALONE = '' } = process.env;
const LIST = 'tests/mutants/list.mjs';
const PLACE = 'build/mutants';
const LANES = 2;
const TEST_MS = 300_000;
const BUILD_MS = 900_000;
const NOT_COPIED = ['node_modules', 'images/ui/node_modules', 'tests/node_modules', 'tests/copilotkit/node_modules', 'tests/otel/node_modules'];

// make of the copies is a run of its own: it has neither the options nor the job server of the one that started this.
for (const name of ['MAKEFLAGS', 'MAKELEVEL', 'MFLAGS']) delete process.env[name];

// --- the list ---------------------------------------------------------------------------------------------------------

const isFile = (test) => test.endsWith('.mjs');

function problemsOf({ id, file, from, to, test, why }, before) {
  const problems = [];
  const parts = existsSync(file) ? readFileSync(file, 'utf8').split(from).length - 1 : 0;

  if (!id || !why || from === to) problems.push('id, why or the fault itself is missing');
  if (before.some((other) => other.id === id)) problems.push('its id stands twice');
  if (before.some((other) => other.file === file)) problems.push(`${file} has a fault already`);
  if (parts !== 1) problems.push(`${file} has its text ${parts} times, not once`);
  if (isFile(test) ? !existsSync(test) : !unitSource(test)) problems.push(`there is no test ${test}`);
  return problems.map((text) => `${id}: ${text}`);
}

function unitSource(name) {
  const folder = readdirSync('tests/unit').find((sub) => existsSync(`tests/unit/${sub}/${name}.c`));
  return folder && `${folder}/${name}`;
}

// Problems of the whole list, each with the line where its fault begins.
function problemsOfList() {
  const lines = readFileSync(LIST, 'utf8').split('\n').flatMap((line, i) => /\bid: '/.test(line) ? [i + 1] : []);

  return MUTANTS.flatMap((mutant, i) => problemsOf(mutant, MUTANTS.slice(0, i)).map((text) => `${LIST}:${lines[i]}: ${text}`));
}

// --- a copy of the tree -----------------------------------------------------------------------------------------------

function copyTree(lane) {
  const files = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\0').filter((file) => file && existsSync(file));
  const keep = { preserveTimestamps: true, verbatimSymlinks: true };

  rmSync(lane, { recursive: true, force: true });
  for (const file of files) cpSync(file, path.join(lane, file), keep);
  cpSync(BUILD, path.join(lane, BUILD), { recursive: true, ...keep });
  for (const dir of NOT_COPIED.filter(existsSync)) symlinkSync(path.resolve(dir), path.join(lane, dir));
  for (const name of readdirSync('build')) { // what else was built or unpacked there, as the viewer
    const from = path.join('build', name);
    if (statSync(from).isDirectory() && !existsSync(path.join(lane, from)) && from !== PLACE) symlinkSync(path.resolve(from), path.join(lane, from));
  }
}

// Whoever ends this ends what it runs, too.
const running = new Set();
const killGroup = (child) => {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch { /* it has ended */ }
};
process.on('exit', () => running.forEach(killGroup));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

// Runs a command in a copy, in a process group of its own. Resolves to {code, output, late}.
function run(lane, ms, command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: lane, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const pieces = [];
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup(child);
    }, ms);

    running.add(child);
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => pieces.push(piece));
    child.on('error', reject);
    child.on('exit', (code) => {
      clearTimeout(timer);
      killGroup(child); // what its test left behind
      running.delete(child);
      // what a daemon that outlives its test still holds open is not waited for
      setTimeout(() => resolve({ code: code ?? 1, output: Buffer.concat(pieces).toString(), late }), 200);
    });
  });
}

// The warnings of a faulty file, as of a function that is not called any more, are no errors.
const build = (lane, goals) => run(lane, BUILD_MS, 'make', ['-s', '--no-print-directory', `MODE=${MODE}`, 'WERROR=', ...goals]);

function goalsOf(test) {
  if (isFile(test)) return GOALS.split(' ');
  const source = unitSource(test);
  return ['all', `${BUILD}/tests/unit/${UNIT_ALONE.split(' ').includes(source) ? source : 'unit'}`];
}

const runTest = (lane, test) => isFile(test)
  ? run(lane, TEST_MS, process.execPath, ['--test', '--test-reporter=./tests/lib/report.mjs', test],
    { ACPD: path.resolve(lane, BUILD, 'acpd'), ACPD_STUB: path.resolve(lane, BUILD, 'stub-agent') })
  : run(lane, TEST_MS, 'sh', ['tests/unit/run.sh', `${BUILD}/tests/unit`, test]);

// --- one fault --------------------------------------------------------------------------------------------------------

async function tryMutant(lane, { file, from, to, test }) {
  const at = path.join(lane, file), whole = readFileSync(at, 'utf8');

  writeFileSync(at, whole.split(from).join(to));
  try {
    const built = await build(lane, goalsOf(test));
    if (built.code) return { outcome: 'does not build', output: built.output };
    const ran = await runTest(lane, test);
    const hangs = ran.late && !firstFailure(ran.output); // before any test has failed

    return { outcome: hangs ? 'timed out' : ran.code ? 'killed' : 'survived', output: ran.output };
  } finally {
    writeFileSync(at, whole); // with a new time, so that its object is made again
  }
}

// Name of the first failed test: it shows whether the fault was the cause.
const firstFailure = (output) => output.match(/^not ok (.*)$/m)?.[1] ?? output.match(/^\[  FAILED  \] (\w+)$/m)?.[1] ?? '';

// Calls fn(lane, item) for all items, one at a time in each lane.
async function inLanes(items, fn) {
  const left = [...items];

  await Promise.all(Array.from({ length: LANES }, async (_, i) => {
    for (let item = left.shift(); item; item = left.shift()) await fn(path.join(PLACE, String(i)), item);
  }));
}

// The tree as it is, built in each copy.
async function prepare(tests) {
  for (let i = 0; i < LANES; i++) copyTree(path.join(PLACE, String(i)));
  await Promise.all(Array.from({ length: LANES }, async (_, i) => {
    const built = await build(path.join(PLACE, String(i)), [...new Set(tests.flatMap(goalsOf))]);
    if (built.code) throw new Error(`the copy of the tree does not build\n${built.output}`);
  }));
}

// False: the test fails as it is, and so proves nothing.
async function isSound(lane, test) {
  const built = await build(lane, goalsOf(test)); // without the fault before
  const ran = built.code ? built : await runTest(lane, test);
  const log = `${PLACE}/without-${path.basename(test)}.log`;

  if (ran.code === 0) return true;
  writeFileSync(log, ran.output);
  console.log(`${test} fails without a fault: ${log}`);
  return false;
}

// --- all of them ------------------------------------------------------------------------------------------------------

const checks = process.argv[2] === '--check', problems = problemsOfList();
if (problems.length > 0) {
  console.error(`mutants: the list does not fit the code\n${problems.join('\n')}`);
  process.exit(checks ? 1 : 2);
}
if (checks) {
  console.log(`mutants: ${MUTANTS.length} faults`);
  process.exit(0);
}

const chosen = MUTANTS.filter(({ id }) => new RegExp(ONLY).test(id));
const tests = [...new Set(chosen.map(({ test }) => test))];
const results = [];
const began = Date.now();

mkdirSync(PLACE, { recursive: true });
console.log(`${chosen.length} faults, ${tests.length} tests; what a test says of a fault stands in ${PLACE}/ID.log`);
await prepare(tests);
await inLanes(tests, async (lane, test) => {
  const sound = await isSound(lane, test);

  for (const mutant of chosen.filter((one) => one.test === test)) {
    const start = Date.now();
    const { outcome, output } = sound ? await tryMutant(lane, mutant) : { outcome: 'not tried', output: '' };
    const failure = outcome === 'killed' ? firstFailure(output) : '';

    results.push({ ...mutant, outcome });
    writeFileSync(`${PLACE}/${mutant.id}.log`, output);
    console.log(`${outcome.padEnd(14)} ${mutant.id}: ${mutant.why} (${mutant.file}; ${test}${failure && `: ${failure}`}; ${Math.round((Date.now() - start) / 1000)} s)`);
  }
});

const of = (outcome) => results.filter((result) => result.outcome === outcome);
const sums = ['killed', 'timed out', 'survived', 'does not build', 'not tried'].map((outcome) => `${of(outcome).length} ${outcome}`);
console.log(`\n${sums.join(', ')}, in ${Math.round((Date.now() - began) / 1000)} s`);
for (const { id, file, test, why } of of('survived')) console.log(`survived: ${id}: ${why} (${file}; ${test})`);
for (let i = 0; i < LANES; i++) rmSync(path.join(PLACE, String(i)), { recursive: true, force: true });
process.exit(of('killed').length + of('timed out').length === chosen.length && chosen.length > 0 ? 0 : 1);
