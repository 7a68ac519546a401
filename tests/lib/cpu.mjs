// cpu.mjs - at its end, a test file says what it cost: its own processor time and that of every process it waited for.
// tests/lib/report.mjs reads the line, and one of tests/lib/group.mjs for each file of a group. --import of tests/lib/run.mjs puts it before each
// file, and before the run of all.
import { cpuWithChildren } from './procs.mjs';

export const MARK = '# processor seconds ';

process.on('exit', () => {
  process.stdout.write(`${MARK}${cpuWithChildren('self').toFixed(1)}\n`);
});
