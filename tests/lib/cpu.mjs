// cpu.mjs - at its end, a test file says what it cost: its own processor time and that of every process it waited for.
// tests/lib/report.mjs reads the line. --import of the Makefile puts it before each file, and before the run of all.
import { readFileSync } from 'node:fs';

export const MARK = '# processor seconds ';
const TICKS = 100; // USER_HZ, which Linux holds at 100 for programs
const [USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM] = [11, 12, 13, 14]; // proc(5), counted behind the name

process.on('exit', () => {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM].reduce((sum, at) => sum + Number(fields[at]), 0);
  process.stdout.write(`${MARK}${(ticks / TICKS).toFixed(1)}\n`);
});
