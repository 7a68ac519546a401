// run.mjs [OPTION...] FILE... - runs test files with node --test, and reports them by report.mjs. OPTIONs are node's.
//
// A file that fails is run once more, alone, when all others have ended. If it passes then, it is flaky: both outputs stand
// at the end of the run, its name goes to FLAKY_FILE, and the run passes, or fails with FLAKY=fail. A file that fails twice
// fails the run. Where many files fail, the cause is no race: none of them is run again. What fails a run is added to the file
// TEST_FAILED.
//
// A process of node costs as much as many tests, so several files share one (tests/lib/group.mjs), if no OPTION but the concurrency is given. A
// file that says // slow or // alone: WHY has one of its own. Where a process ends too early, its file fails as any other does, and
// those that it did not come to are run in processes of their own.
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const FLAKY_FILE = 'build/flaky.txt';
const RERUN_MAX = 8; // files that are run again
const GROUP_MAX = 10; // files in a process
const { TEST_FAILED } = process.env;
delete process.env.TEST_FAILED; // a test may run tests of its own: those do not fail this run

const beside = (name) => fileURLToPath(new URL(name, import.meta.url));
const isFile = (argument) => !argument.startsWith('-');

const alone = (files) => files.map((file) => [path.resolve(file), [file]]);

// Writes a module for each group of files. Returns [[MODULE, [FILE...]]...]; a file that is alone is its own module. The last groups are small, since
// several run at the same time and must end at about the same time.
function grouped(options, files, dir) {
  const isAlone = (file) => /^\/\/ (slow$|alone: .)/m.test(readFileSync(file, 'utf8'));
  const isPlain = options.length > 0 && options.every((option) => /^--test-concurrency=([2-9]|\d\d+)$/.test(option));
  if (!isPlain) return alone(files);
  const groups = alone(files.filter(isAlone));
  const others = files.filter((file) => !isAlone(file));

  while (others.length > 0) {
    const some = others.splice(0, Math.min(GROUP_MAX, Math.ceil(others.length / 2)));
    const module = path.join(dir, `group-${groups.length}.mjs`);
    if (some.length === 1) {
      groups.push(...alone(some));
    } else {
      writeFileSync(module, `import { runGroup } from ${JSON.stringify(beside('./group.mjs'))};\nawait runGroup(${JSON.stringify(some)});\n`);
      groups.push([module, some]);
    }
  }
  return groups;
}

// Runs the files of each group in one process. Resolves to {code, output, failures: [{file, text}], notRun: [file]}; the output goes to the terminal
// as well.
async function runOnce(options, groups, record) {
  // Node sorts them. Slow files are absolute paths and so come before the groups: one that began last would be waited for by all.
  const modules = groups.map(([module, files]) => (files.length > 1 ? path.relative('', module) : module));
  const child = spawn(process.execPath, ['--import', beside('./file-process.mjs'), '--test', `--test-reporter=${beside('./report.mjs')}`, ...options, ...modules],
    { stdio: ['inherit', 'pipe', 'inherit'], env: { ...process.env, TEST_FAILURES: record, TEST_GROUPS: JSON.stringify(Object.fromEntries(groups)) } });
  const pieces = [];

  child.stdout.on('data', (piece) => {
    pieces.push(piece);
    process.stdout.write(piece);
  });
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? 1));
  });
  const noted = readFailures(record);
  return { code, output: Buffer.concat(pieces).toString(), failures: noted.filter(({ text }) => text), notRun: noted.filter(({ text }) => !text).map(({ file }) => file) };
}

function readFailures(record) {
  try {
    return readFileSync(record, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

function tellFlaky(file, first, second) {
  const failures = first.filter((failure) => failure.file === file).map(({ text }) => text);

  mkdirSync(path.dirname(FLAKY_FILE), { recursive: true });
  appendFileSync(FLAKY_FILE, `${file}${process.env.TEST_STAGE ? ` (${process.env.TEST_STAGE})` : ''}\n`);
  process.stdout.write(`\n# flaky: ${file} failed, and passed when it was run again alone\n# what failed first\n${failures.join('')}# the run that passed\n${second}`);
}

function noteFailed(failures) {
  if (TEST_FAILED) appendFileSync(TEST_FAILED, failures.map(({ text }) => text).join(''));
}

async function run(options, files, dir) {
  const first = await runOnce(options, grouped(options, files, dir), path.join(dir, 'first'));
  if (first.notRun.length > 0) {
    process.stdout.write(`\n# ${first.notRun.length} files that did not run, since a process ended: now, each in its own\n`);
    const rest = await runOnce(options, alone(first.notRun), path.join(dir, 'rest'));
    if (rest.code !== 0 && rest.failures.length === 0) return rest.code; // it failed, and no file says why
    first.failures.push(...rest.failures);
  }
  const failed = [...new Set(first.failures.map(({ file }) => file))];
  if (first.code === 0) return 0;
  if (failed.length === 0 || failed.length > RERUN_MAX) {
    noteFailed(first.failures);
    return first.code;
  }

  const again = [];
  for (const [i, file] of failed.entries()) {
    process.stdout.write(`\n# ${file} failed: once more, alone\n`);
    again.push({ file, ...await runOnce(options, alone([file]), path.join(dir, `again-${i}`)) });
  }
  const flaky = again.filter(({ code }) => code === 0);
  const twice = again.filter(({ code }) => code !== 0);
  const flakyFails = process.env.FLAKY === 'fail';
  for (const { file, output } of flaky) {
    tellFlaky(file, first.failures, output);
    if (flakyFails) noteFailed(first.failures.filter((failure) => failure.file === file));
  }
  for (const { file, failures } of twice) {
    process.stdout.write(`\n# ${file} failed twice\n`);
    noteFailed(failures);
  }
  return twice.length > 0 || flakyFails ? 1 : 0;
}

process.env.NODE_COMPILE_CACHE ??= path.resolve('build/node-cache'); // a test file's imports cost 0.26 s of CPU instead of 0.4
mkdirSync('build', { recursive: true });
const dir = path.resolve(mkdtempSync('build/run-'));
try {
  const args = process.argv.slice(2);
  process.exitCode = await run(args.filter((a) => !isFile(a)), args.filter(isFile), dir);
} finally {
  rmSync(dir, { recursive: true });
}
