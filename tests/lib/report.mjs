// report.mjs - what a run of the tests prints: each file in a line, each failure at once and again in short at the
// very end, so that the last lines of a long log say what failed. The slowest files and the sums stand before that.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';

const SLOWEST = 20;
const FAILURES_AT_END = 12;
const MESSAGE_MAX = 400;

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

function* slowest(files) {
  const sorted = [...files].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  if (files.length > 1) {
    yield `# the slowest of ${files.length} files\n`;
    for (const f of sorted) yield `#   ${seconds(f.ms).padStart(8)}  ${f.name}\n`;
  }
}

// For the table of a whole make test, which has more than one run.
function note(files) {
  const { TEST_TIMES, TEST_STAGE } = process.env;
  if (TEST_TIMES)
    appendFileSync(TEST_TIMES, files.map((f) => `${(f.ms / 1000).toFixed(1).padStart(8)}  ${f.name} (${TEST_STAGE})\n`).join(''));
}

function* ending(files, failed, counts, ms) {
  yield* slowest(files);
  for (const data of failed.slice(0, FAILURES_AT_END)) yield short(data);
  if (failed.length > FAILURES_AT_END) yield `# and ${failed.length - FAILURES_AT_END} more, above\n`;
  for (const what of ['tests', 'suites']) yield `# ${what} ${counts[what]}\n`;
  yield `# pass ${counts.passed}\n# fail ${counts.failed}\n`;
  for (const what of ['cancelled', 'skipped', 'todo']) yield `# ${what} ${counts[what]}\n`;
  yield `# duration_ms ${ms}\n`;
}

export default async function* report(source) {
  const files = [];
  const failed = [];

  for await (const { type, data } of source) {
    if (type === 'test:fail' && isOwn(data)) {
      failed.push(data);
      yield whole(data);
    } else if (type === 'test:pass' && data.skip !== undefined) {
      yield `skipped ${place(data)} ${data.name}: ${data.skip}\n`;
    } else if (type === 'test:diagnostic' && data.file) {
      yield `# ${place(data)} ${data.message}\n`;
    } else if (type === 'test:stdout' || type === 'test:stderr') {
      yield data.message;
    } else if (type === 'test:summary' && data.file) {
      const { passed, tests } = data.counts;
      files.push({ name: place({ file: data.file }), ms: data.duration_ms });
      yield `${data.success ? 'ok' : 'not ok'} ${place({ file: data.file })} ${passed} of ${tests}, ${seconds(data.duration_ms)}\n`;
    } else if (type === 'test:summary') {
      note(files);
      yield* ending(files, failed, data.counts, data.duration_ms);
    }
  }
}
