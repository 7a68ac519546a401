// group.mjs - runs several test files in one process, each as a suite of the file's name: tests/lib/run.mjs says which, tests/lib/report.mjs
// reads the suites. A file is loaded when the files before it have ended, and finds environment, folder and umask as the first one did.
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, describe } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { MARK } from './file-process.mjs';
import { cpuWithChildren } from './procs.mjs';

const END_MS = 60_000; // until a process ends whose files have
const require = createRequire(import.meta.url);

function stateOfProcess() {
  const env = { ...process.env };
  const cwd = process.cwd();
  const umask = process.umask();

  return () => {
    for (const name of Object.keys(process.env).filter((n) => !(n in env)))
      delete process.env[name];
    Object.assign(process.env, env);
    process.chdir(cwd);
    process.umask(umask);
    process.emit('test file ended'); // for libraries that know what a file did
  };
}

// What is thrown outside of all tests only makes a process fail. The file during which it was thrown has to fail.
function assertNothingThrown() {
  const { exitCode } = process;

  process.exitCode = undefined;
  if (exitCode)
    throw new Error('something was thrown outside of the tests: the lines of # below tell it');
}

export async function runGroup(files) {
  const restore = stateOfProcess();
  let before = 0;
  let isOver = false; // nothing is left to wait for, but the tests have not ended: node has told so of this file, and would tell nothing of others

  process.once('beforeExit', () => { isOver = true; });
  for (const file of files) {
    await describe(file, () => {
      require(path.resolve(file));
      after(assertNothingThrown);
    });
    if (isOver)
      return;
    restore();
    const now = cpuWithChildren('self');
    process.stdout.write(`${MARK}${(now - before).toFixed(1)} ${file}\n`);
    before = now;
    await setImmediate(); // or a file that ends the process at once would take along what is told of this one
  }
  setTimeout(() => process.exit(1), END_MS).unref(); // what a file whose hooks failed has left open
}
