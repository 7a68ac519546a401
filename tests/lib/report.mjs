// report.mjs - what a run of the tests prints: each file in a line, each failure at once and again in short at the
// very end, so that the last lines of a long log say what failed. The dearest files and the sums stand before that.
//
// What does not run is skipped, and says why: a skip without a reason fails, and so does a file that has no test. A skipped suite counts as
// one skipped test, since node does not read what is in it.
import { appendFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { MARK } from './cpu.mjs';

// What this run tells others. A test may run tests of its own: those are not part of this run, so it does not get the names.
const { TEST_TIMES, TEST_FAILURES, TEST_STAGE } = process.env;
for (const name of ['TEST_TIMES', 'TEST_FAILURES', 'TEST_STAGE']) delete process.env[name];

const DEAREST = 20;
const FAILURES_AT_END = 12;
const MESSAGE_MAX = 400;
const NO_TEST = 'this file ran 0 tests: declare those that cannot run here as skipped, with a reason';
const NO_REASON = 'skipped without a reason: write { skip: CONDITION && \'REASON\' }';
// With such a pattern most files have no test to run.
const IS_FILTERED = process.execArgv.some((argument) => argument.startsWith('--test-name-pattern'));

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const place = (data) => `${relative(process.cwd(), data.file ?? data.name)}${data.line > 1 ? `:${data.line}` : ''}`;
const cause = (error) => error?.cause ?? error;

// A parent fails because of its child: only the child is worth telling.
const isOwn = (data) => data.details?.error?.failureType !== 'subtestsFailed';

function whole(data) {
  const error = cause(data.details.error);
  const lines = String(error?.stack ?? error).split('\n').filter((line) => !line.includes('(node:internal/') && !line.includes('at node:internal/'));
  return `not ok ${place(data)} ${data.name}\n${lines.map((line) => `    ${line}\n`).join('')}`;
}

function short(data) {
  const error = cause(data.details.error);
  const message = String(error?.message ?? error).replace(/\s*\n\s*/g, ' | ').slice(0, MESSAGE_MAX);
  return `not ok ${place(data)}\n  ${data.name}\n  ${message}\n`;
}

// One line of the table: processor time, time passed, name.
const row = (f) => `${f.cpu.toFixed(1).padStart(8)}${(f.ms / 1000).toFixed(1).padStart(8)}  ${f.name}`;

function* dearest(files) {
  const sorted = [...files].sort((a, b) => b.cpu - a.cpu).slice(0, DEAREST);
  if (files.length > 1) {
    yield `# processor and passed seconds of the dearest of ${files.length} files\n`;
    for (const f of sorted) yield `# ${row(f)}\n`;
  }
}

// For the table of a whole make test, which has more than one run.
function note(files) {
  if (TEST_TIMES) appendFileSync(TEST_TIMES, files.map((f) => `${row(f)} (${TEST_STAGE})\n`).join(''));
}

// For run.mjs, which runs the files that failed once more.
function noteFailure(data, text) {
  if (TEST_FAILURES) appendFileSync(TEST_FAILURES, `${JSON.stringify({ file: relative(process.cwd(), data.file ?? data.name), text })}\n`);
}

const withError = (data, error) => ({ ...data, details: { ...data.details, error } });
const withSuites = (counts, skipped = 0) => ({ ...counts, tests: counts.tests + skipped, skipped: counts.skipped + skipped });
// Node reports a file as a test if it has neither tests nor suites.
const isFile = (data) => data.nesting === 0 && data.file !== undefined && resolve(data.name) === data.file;

function* ending(files, failed, counts, ms) {
  yield* dearest(files);
  for (const data of failed.slice(0, FAILURES_AT_END)) yield short(data);
  if (failed.length > FAILURES_AT_END) yield `# and ${failed.length - FAILURES_AT_END} more, above\n`;
  for (const what of ['tests', 'suites']) yield `# ${what} ${counts[what]}\n`;
  yield `# pass ${counts.passed}\n# fail ${failed.length}\n`;
  for (const what of ['cancelled', 'skipped', 'todo']) yield `# ${what} ${counts[what]}\n`;
  yield `# duration_ms ${ms}\n`;
}

export default async function* report(source) {
  const files = [];
  const failed = [];
  const suites = new Map(); // skipped ones of each file
  const cpu = new Map(); // of each file, in seconds; the line comes before or after the file's summary

  const fail = (data) => {
    failed.push(data);
    process.exitCode = 1; // Node itself passes over the hooks of a suite
    const text = whole(data);
    noteFailure(data, text);
    return text;
  };

  for await (const { type, data } of source) {
    if (type === 'test:fail' && isOwn(data)) {
      yield fail(data);
    } else if (type === 'test:pass' && data.skip !== undefined) {
      if (data.details?.type === 'suite')
        suites.set(data.file, (suites.get(data.file) ?? 0) + 1);
      yield data.skip === true || data.skip === '' ? fail(withError(data, NO_REASON)) : `skipped ${place(data)} ${data.name}: ${data.skip}\n`;
    } else if (type === 'test:pass' && isFile(data) && !IS_FILTERED) {
      yield fail(withError(data, NO_TEST));
    } else if (type === 'test:diagnostic' && data.file) {
      yield `# ${place(data)} ${data.message}\n`;
    } else if (type === 'test:stdout' && data.message.startsWith(MARK)) {
      cpu.set(place({ file: data.file }), Number(data.message.slice(MARK.length)));
    } else if (type === 'test:stdout' || type === 'test:stderr') {
      yield data.message;
    } else if (type === 'test:summary' && data.file) {
      const { passed, tests, skipped } = withSuites(data.counts, suites.get(data.file));
      const name = place({ file: data.file });
      if (tests === 0 && !IS_FILTERED)
        yield fail(withError({ name: data.file, file: data.file }, NO_TEST));
      const isRight = data.success && !failed.some((f) => f.file === data.file);
      files.push({ name, ms: data.duration_ms });
      yield `${isRight ? 'ok' : 'not ok'} ${name} ${passed} of ${tests}${skipped ? `, ${skipped} skipped` : ''}, ${seconds(data.duration_ms)}\n`;
    } else if (type === 'test:summary') {
      for (const f of files) f.cpu = cpu.get(f.name) ?? 0;
      note(files);
      yield* ending(files, failed, withSuites(data.counts, [...suites.values()].reduce((a, b) => a + b, 0)), data.duration_ms);
    }
  }
}
