// file-process.mjs - what every process of test files does (--import of tests/lib/run.mjs). A file that hangs is ended, so that the run fails instead
// of waiting for it for ever. At its end, a file says what it cost: its own processor time and that of every process it waited for.
// tests/lib/report.mjs reads the line, and one of tests/lib/group.mjs for each file of a group. The process that runs the files says it too.
import { cpuWithChildren } from './procs.mjs';

export const MARK = '# processor seconds ';

// A test has its own time-out, but hooks have none. ACPD_TEST_FILE_MS: another limit.
const FILE_MS = Number(process.env.ACPD_TEST_FILE_MS ?? 30 * 60_000) * Number(process.env.ACPD_TEST_SLOW ?? 1);

if (process.env.NODE_TEST_CONTEXT) { // not the process that runs the files
  const timer = setTimeout(() => {
    console.error(`a file has not ended within ${FILE_MS} ms: its process is ended`);
    process.exit(1);
  }, FILE_MS);

  timer.unref();
  process.on('test file ended', () => timer.refresh());
}

process.on('exit', () => {
  process.stdout.write(`${MARK}${cpuWithChildren('self').toFixed(1)}\n`);
});
