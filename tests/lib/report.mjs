// report.mjs - what a run of the tests prints: each file in a line, each failure at once and again in short at the
// very end, so that the last lines of a long log say what failed. The dearest files and the sums stand before that.
//
// What does not run is skipped, and says why: a skip without a reason fails, and so does a file that has no test. A skipped suite counts as
// one skipped test, since node does not read what is in it.
//
// Of a process that runs several files (tests/lib/group.mjs) each file is told as if it had one of its own. Where such a process ends too early, the
// file that it was at fails, and those that it did not come to are named for run.mjs, which runs them.
import { appendFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MARK } from './file-process.mjs';

// What this run tells others. A test may run tests of its own: those are not part of this run, so it does not get the names.
const { TEST_TIMES, TEST_FAILURES, TEST_STAGE, TEST_GROUPS = '{}' } = process.env;
for (const name of ['TEST_TIMES', 'TEST_FAILURES', 'TEST_STAGE', 'TEST_GROUPS']) delete process.env[name];

const GROUPS = JSON.parse(TEST_GROUPS); // {MODULE: [FILE...]}; a file that is alone is its own module
const GROUP = fileURLToPath(new URL('./group.mjs', import.meta.url));
const COST = new RegExp(`^${MARK}([\\d.]+)(?: (.+))?\\n`, 'gm');

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

// For run.mjs, which runs the files that failed once more, and those without a text for the first time.
function noteFailure(file, text = '') {
  if (TEST_FAILURES) appendFileSync(TEST_FAILURES, `${JSON.stringify({ file: relative(process.cwd(), file), text })}\n`);
}

const withError = (data, error) => ({ ...data, details: { ...data.details, error } });
const withSuites = (counts, skipped = 0) => ({ ...counts, tests: counts.tests + skipped, skipped: counts.skipped + skipped });
// Node reports a file as a test if it has neither tests nor suites.
const isFile = (data) => data.nesting === 0 && data.file !== undefined && resolve(data.name) === data.file;
const isGroup = (module) => module in GROUPS && resolve(GROUPS[module][0]) !== module;
// The suite that is a file of a group.
const isMember = (data) => data.nesting === 0 && data.file === GROUP;

const isResult = (type) => type === 'test:pass' || type === 'test:fail';

function count(counts, type, data) {
  counts.tests++;
  if (data.skip !== undefined) counts.skipped++;
  else if (type === 'test:pass' && data.todo === undefined) counts.passed++;
}

const tellEnd = (error) => error ? `: ${error.signal ?? `exit code ${error.exitCode}`}` : '';

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
  const deaths = new Map(); // of the processes of groups: why
  const ended = new Set(); // files
  const cutShort = new Set(); // those of them with whose tests their process ended
  let members = 0; // files of groups that ended
  let at; // the file of a group that the events are of
  const unsettled = []; // failures of which the test file is not known yet: data.file is where a test stands, which may be a library

  const fail = (data) => {
    failed.push(data);
    process.exitCode = 1; // Node itself passes over the hooks of a suite
    const text = whole(data);
    if (at) noteFailure(at.file, text);
    else unsettled.push({ file: data.file ?? data.name, text });
    return text;
  };

  // Node tells all of a file before anything of the next one, and the file itself last.
  const settle = (ofFile) => {
    for (const { file, text } of unsettled.splice(0)) noteFailure(ofFile ?? file, text);
  };

  function* endFile(file, counts, ms, isRight) {
    const { passed, tests, skipped } = withSuites(counts, suites.get(file));

    if (tests === 0 && isRight() && !IS_FILTERED)
      yield fail(withError({ name: file, file }, NO_TEST));
    ended.add(file);
    files.push({ name: place({ file }), ms });
    yield `${isRight() ? 'ok' : 'not ok'} ${place({ file })} ${passed} of ${tests}${skipped ? `, ${skipped} skipped` : ''}, ${seconds(ms)}\n`;
  }

  function* endMember({ file, counts, failedBefore }, data) {
    const { error, duration_ms: ms } = data.details;

    if (error && isOwn(data)) yield fail({ ...data, file, line: 1 });
    if (error?.failureType === 'cancelledByParent') cutShort.add(file);
    members++;
    yield* endFile(file, counts, ms, () => failed.length === failedBefore);
  }

  function* endGroups() {
    for (const [module, names] of Object.entries(GROUPS)) {
      const all = names.map((name) => resolve(name));
      const left = all.filter((file) => !ended.has(file));
      const why = deaths.get(module) ?? '';

      if (left.length === 0 && why)
        yield fail(withError({ name: names.join(' '), file: module }, `the process of these files failed${why}`));
      if (left.length > 0 && !all.some((file) => cutShort.has(file))) {
        const [file] = left.splice(0, 1);
        if (!failed.some((data) => data.file === file)) yield fail(withError({ name: file, file }, `its process ended before its tests did${why}`));
      }
      for (const file of left) {
        noteFailure(file);
        yield `# not run: ${place({ file })}\n`;
      }
    }
  }

  for await (const { type, data } of source) {
    if (data.nesting === 0 && type === 'test:start')
      at = isMember(data) ? { file: resolve(data.name), counts: { passed: 0, tests: 0, skipped: 0 }, failedBefore: failed.length } : undefined;
    else if (at && isResult(type) && data.details.type !== 'suite')
      count(at.counts, type, data);

    if (at && isMember(data) && isResult(type)) {
      yield* endMember(at, data);
      at = undefined;
    } else if (isResult(type) && isFile(data) && isGroup(data.file)) {
      deaths.set(data.file, tellEnd(data.details.error));
    } else if (type === 'test:fail' && isOwn(data)) {
      yield fail(data);
      if (isFile(data)) settle(data.file);
    } else if (type === 'test:pass' && data.skip !== undefined) {
      if (data.details?.type === 'suite')
        suites.set(at?.file ?? data.file, (suites.get(at?.file ?? data.file) ?? 0) + 1);
      yield data.skip === true || data.skip === '' ? fail(withError(data, NO_REASON)) : `skipped ${place(data)} ${data.name}: ${data.skip}\n`;
    } else if (type === 'test:pass' && isFile(data) && !IS_FILTERED) {
      yield fail(withError(data, NO_TEST));
      settle(data.file);
    } else if (type === 'test:diagnostic' && data.file) {
      yield `# ${place(data)} ${data.message}\n`;
    } else if (type === 'test:stdout') {
      yield data.message.replace(COST, (_, spent, name) => {
        cpu.set(place({ file: name ?? data.file }), Number(spent));
        return '';
      });
    } else if (type === 'test:stderr') {
      yield data.message;
    } else if (type === 'test:summary' && data.file && !isGroup(data.file)) {
      at = undefined;
      yield* endFile(data.file, data.counts, data.duration_ms, () => data.success && !failed.some((f) => f.file === data.file));
      settle(data.file);
    } else if (type === 'test:summary' && !data.file) {
      at = undefined;
      yield* endGroups();
      settle();
      for (const f of files) f.cpu = cpu.get(f.name) ?? 0;
      note(files);
      const counts = withSuites(data.counts, [...suites.values()].reduce((a, b) => a + b, 0));
      yield* ending(files, failed, { ...counts, suites: counts.suites - members }, data.duration_ms);
    }
  }
}
