// SPDX-License-Identifier: Apache-2.0
// runCommand, processes in the background and runCode, by the real program over stdio.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendants, fdCount, list } from '../lib/procs.mjs';
import { until, withLimit } from '../lib/wait.mjs';
import { Box } from './builtin-commands-rig.mjs';

const nodeDir = join(process.execPath, '..');
const withNode = { PATH: `${nodeDir}:${process.env.PATH}` };

const how = ({ success, exitCode, signal, timedOut, killed }) => ({ success, exitCode, signal, timedOut, killed });
const ended = (exitCode, more = {}) => ({
  success: exitCode === 0, exitCode, signal: null, timedOut: false, killed: false, ...more,
});

// Waits until check() holds, at most ms.
// Until the process has written this.
async function written(box, pid, text) {
  for (let i = 0; i < 1500; i++) {
    const r = await box.call('getProcessOutput', { pid });

    if (r.stdout.includes(text))
      return r;
    await sleep(20);
  }
  return assert.fail(`${text} was never written`);
}

test('each kind of end is told as it was', async (t) => {
  const box = await Box.start(t);
  const run = (args) => box.call('runCommand', args);
  const rows = [
    [{ command: 'exit 3' }, ended(3)],
    [{ command: 'true' }, ended(0)],
    [{ command: 'kill -SEGV $$' }, ended(139, { signal: 'SIGSEGV' })],
    [{ command: 'sleep 30', timeoutMs: 100 }, ended(143, { signal: 'SIGTERM', timedOut: true, killed: true })],
    [{ command: 'sleep 30', timeoutSeconds: 1 }, ended(143, { signal: 'SIGTERM', timedOut: true, killed: true })],
    [{ command: 'no-such-binary' }, ended(127)],
    [{ argv: ['no-such-binary'] }, ended(127)],
    [{ command: 'no-such-binary', args: ['a'] }, ended(127)],
    [{ command: 'cat' }, ended(0)],
    [{ argv: ['sh', '-c', 'exit 7'] }, ended(7)],
  ];

  for (const [args, want] of rows)
    assert.deepEqual(how(await run(args)), want, JSON.stringify(args));
  assert.match((await run({ argv: ['no-such-binary'] })).stderr, /no-such-binary: command not found/);
});

test('output: both streams, input, environment, directory, quoting', async (t) => {
  const box = await Box.start(t, { env: { FROM_CONFIG: 'config', BOTH: 'config' } });
  const run = (args) => box.call('runCommand', args);
  let r = await run({ command: 'echo out; echo err >&2' });

  assert.equal(r.stdout, 'out\n');
  assert.equal(r.stderr, 'err\n');
  assert.equal((await run({ command: 'cat', input: 'a\u0000b\u00e4' })).stdout, 'a\u0000b\u00e4');
  r = await run({ command: 'echo $FROM_CONFIG $BOTH $MINE', envs: { BOTH: 'call', MINE: 'x y' } });
  assert.equal(r.stdout, 'config call x y\n');
  await run({ command: 'mkdir -p sub/dir' });
  assert.equal((await run({ command: 'pwd', workingDirectory: 'sub' })).stdout, `${box.root}/sub\n`);
  assert.equal((await run({ command: 'pwd', cwd: `${box.root}/sub/dir` })).stdout, `${box.root}/sub/dir\n`);
  r = await run({ command: 'printf', args: ['%s|', 'a b', "it's", '$HOME', ''] });
  assert.equal(r.stdout, "a b|it's|$HOME||");
  assert.equal(r.command, `printf '%s|' 'a b' 'it'\\''s' '$HOME' ''`);
  r = await run({ command: 'echo out; echo err >&2', captureOutput: false });
  assert.deepEqual([r.stdout, r.stderr, r.success], ['', '', true]);
});

test('what is wrong with the arguments is named', async (t) => {
  const box = await Box.start(t);
  const rows = [
    [{}, 'INVALID_ARGUMENT', 'command'],
    [{ command: '' }, 'INVALID_ARGUMENT', 'command'],
    [{ command: 'true', argv: ['true'] }, 'INVALID_ARGUMENT', 'command'],
    [{ argv: [] }, 'INVALID_ARGUMENT', 'command'],
    [{ command: 'true', timeoutMs: 1, timeoutSeconds: 1 }, 'INVALID_ARGUMENT', 'timeoutSeconds'],
    [{ command: 'true', timeoutMs: -1 }, 'INVALID_ARGUMENT', 'timeoutMs'],
    [{ command: 'true', envs: { '': 'x' } }, 'INVALID_ARGUMENT', 'envs.'],
    [{ command: 'true', cwd: 'a', workingDirectory: 'b' }, 'INVALID_ARGUMENT', 'cwd'],
    [{ command: 'true', cwd: 'missing' }, 'ENOENT'],
    [{ command: 'true', cwd: '/' }, 'OUTSIDE_ROOTS'],
    [{ command: 'true', cwd: 'file' }, 'ENOTDIR', 'workingDirectory'],
    [{ command: 'cat', stdin: 'pipe' }, 'INVALID_ARGUMENT', 'stdin'],
    [{ command: 'true', timeout: 5 }, 'UNKNOWN_ARGUMENT', 'timeout'],
  ];

  writeFileSync(join(box.root, 'file'), '');
  for (const [args, code, field] of rows) {
    const { error } = await box.call('runCommand', args);

    assert.equal(error?.code, code, JSON.stringify(args));
    if (field)
      assert.ok([field, 'cwd'].includes(error.field), `${JSON.stringify(args)}: ${error.field}`);
  }
});

test('100 MB: the newest MiB is kept, the rest is counted', async (t) => {
  const box = await Box.start(t);
  const r = await box.call('runCommand', {
    command: "head -c 100000000 /dev/zero | tr '\\0' x; echo end; head -c 2000000 /dev/zero >&2", timeoutMs: 60000,
  });

  assert.equal(r.success, true);
  assert.equal(r.stdout.length, 1 << 20);
  assert.ok(r.stdout.endsWith('xend\n'));
  assert.equal(r.stdoutDroppedBytes, 100000004 - (1 << 20));
  assert.equal(r.stderrDroppedBytes, 2000000 - (1 << 20));
  assert.ok(r.stdoutTruncated && r.stderrTruncated);
  const few = await box.call('runCommand', { command: 'printf 0123456789', maxOutputBytes: 4 });
  assert.deepEqual([few.stdout, few.stdoutDroppedBytes, few.stderrTruncated], ['6789', 6, false]);
});

test('output is told while it comes, and by whole characters', async (t) => {
  const box = await Box.start(t);
  const late = [];
  const r = await box.call('runCommand', { command: 'date +%s%N; until [ -e told ]; do sleep 0.02; done; echo done' }, (p) => {
    late.push(Date.now() - Number(p.message.trim()) / 1e6);
    writeFileSync(join(box.root, 'told'), '');
  });

  assert.ok(r.success);
  t.diagnostic(`first piece after ${late[0].toFixed(1)} ms`);
  const pieces = [];
  const told = (n) => `until [ -e told-${n} ]; do sleep 0.02; done`;
  const split = `printf 'a\\303'; ${told(1)}; printf '\\244b\\360\\237'; ${told(2)}; printf '\\230\\200c\\377\\n'`;
  await box.call('runCommand', { command: split }, (p) => {
    pieces.push(p);
    writeFileSync(join(box.root, `told-${pieces.length}`), '');
  });
  assert.equal(pieces.map((p) => p.message).join(''), 'aäb😀c\ufffd\n');
  assert.ok(pieces.length >= 3);
  assert.deepEqual(pieces.map((p) => p.message.includes('\ufffd')), [...pieces.slice(1).map(() => false), true]);
  for (let i = 1; i < pieces.length; i++)
    assert.ok(pieces[i].progress > pieces[i - 1].progress);
});

test('a flood is told in bounded pieces that say what they leave out', async (t) => {
  const box = await Box.start(t);
  let bytes = 0;
  let left = 0;
  await box.call('runCommand', { command: 'head -c 30000000 /dev/zero | tr "\\0" y' }, (p) => {
    const [, n] = /^\[(\d+) bytes left out\]\n/.exec(p.message) ?? [0, 0];

    left += Number(n);
    bytes += p.message.replace(/^\[\d+ bytes left out\]\n/, '').length;
    assert.ok(p.message.length < 140000);
  });
  assert.equal(bytes + left, 30000000);
});

test('a call that is cancelled, or whose client goes, leaves nothing', async (t) => {
  const box = await Box.start(t);
  const tree = "setsid sleep 8765431 & sh -c \"sh -c 'sleep 8765431; :'; :\"; :";

  await box.cancelled('runCommand', { command: tree }, 300);
  await until(() => descendants(box.pid).length === 0);
  box.call('runCommand', { command: tree }).catch(() => {});
  await until(() => descendants(box.pid).filter((p) => p.comm === 'sleep').length >= 2);
  const left = descendants(box.pid);
  await box.kill('SIGKILL');
  await until(() => left.every((p) => !list().some((q) => q.pid === p.pid && q.start === p.start && q.state !== 'Z')));
});

test('what a command leaves running is ended with it, and said', async (t) => {
  const box = await Box.start(t);
  const r = await box.call('runCommand', { command: 'setsid sleep 8765432 >/dev/null 2>&1 & sleep 0.2; echo x' });

  assert.deepEqual([r.stdout, r.success, r.leftBehind], ['x\n', true, 1]);
  await until(() => descendants(box.pid).length === 0);
});

test('1000 commands: no zombie and no descriptor is left', async (t) => {
  const box = await Box.start(t);
  const fds = () => fdCount(box.pid);

  await box.call('runCommand', { argv: ['true'] });
  const before = fds();
  for (let i = 0; i < 100; i++)
    await Promise.all(Array.from({ length: 10 }, () => box.call('runCommand', { argv: ['true'] })));
  await until(() => descendants(box.pid).length === 0 && fds() === before);
});

test('in the background: output, tail, input, waiting, listing', async (t) => {
  const box = await Box.start(t);
  const p = await box.call('runCommand', {
    command: 'echo begun; while read line; do echo got $line; done; echo over', background: true, stdin: 'pipe',
  });
  const pid = p.pid;

  assert.deepEqual([p.running, p.exitCode, p.success], [true, null, true]);
  await box.call('writeProcessInput', { pid, data: 'one\ntwo\n' });
  let r = await written(box, Number(pid), 'two\n');
  assert.equal(r.stdout, 'begun\ngot one\ngot two\n');
  assert.equal((await box.call('getProcessOutput', { pid, tail: 1 })).stdout, 'got two\n');
  r = await box.call('getProcessOutput', { pid, wait: true, timeoutMs: 50 });
  assert.ok(r.running);
  const waiting = box.call('getProcessOutput', { pid, wait: true });
  await box.call('writeProcessInput', { pid, close: true });
  r = await waiting;
  assert.deepEqual([r.running, r.exitCode, r.stdout], [false, 0, 'begun\ngot one\ngot two\nover\n']);
  assert.equal((await box.call('writeProcessInput', { pid, data: 'x' })).error.code, 'STDIN_CLOSED');
  const { processes } = await box.call('listProcesses', {});
  assert.deepEqual(processes.map((x) => [x.pid, x.running, x.exitCode]), [[pid, false, 0]]);
  assert.equal((await box.call('getProcessOutput', { pid: '1' })).error.code, 'PROCESS_NOT_FOUND');
  assert.equal((await box.call('getProcessOutput', { pid: [] })).error.code, 'INVALID_ARGUMENT');
});

test('a tree as npm makes it is gone after killProcess', async (t) => {
  const box = await Box.start(t);
  const deep = 'sh -c "sh -c \'sleep 8765433 & sleep 8765433; :\'; :"; :';
  const ways = [[undefined, 'SIGKILL'], ['SIGTERM', 'SIGTERM'], ['SIGKILL', 'SIGKILL']];

  for (const [signal, told] of ways) {
    const { pid } = await box.call('runCommand', { command: deep, background: true });
    await until(() => descendants(box.pid).filter((p) => p.comm === 'sleep').length === 2);
    assert.ok(descendants(box.pid).length >= 5);
    const r = await box.call('killProcess', signal ? { pid, signal } : { pid });
    assert.deepEqual([r.signal, r.killed, r.running], [told, true, false]);
    await until(() => descendants(box.pid).length === 0);
  }
  const { pid } = await box.call('runCommand', { command: "trap 'echo usr; exit 9' USR1; echo up; while :; do sleep 0.05; done", background: true });
  await written(box, pid, 'up\n');
  await box.call('killProcess', { pid, signal: 'SIGUSR1' });
  const r = await box.call('getProcessOutput', { pid, wait: true });
  assert.deepEqual([r.exitCode, r.stdout, r.killed], [9, 'up\nusr\n', false]);
});

test('processes in the background end with the tools, and are bounded', async (t) => {
  const box = await Box.start(t);
  const start = (command) => box.call('runCommand', { command, background: true });

  for (let i = 0; i < 63; i++)
    await start('sleep 8765434');
  const short = await start('true');
  await box.call('getProcessOutput', { pid: short.pid, wait: true });
  assert.ok((await start('sleep 8765434')).pid, 'the one that had ended made room');
  assert.equal((await start('sleep 8765434')).error.code, 'TOO_MANY_PROCESSES');
  const left = descendants(box.pid);
  await box.stop();
  assert.equal(left.filter((p) => list().some((q) => q.pid === p.pid && q.start === p.start)).length, 0);
});

test('dry run: nothing is run, and the result says so', async (t) => {
  const box = await Box.start(t, { dryRun: true }, withNode);

  for (const [tool, args] of [
    ['runCommand', { command: 'touch made' }],
    ['runCommand', { argv: ['touch', 'made'], background: true }],
    ['runCode', { code: 'open("made", "w")' }],
    ['runTests', { target: 'make' }],
  ]) {
    const r = await box.call(tool, args);
    assert.deepEqual([r.dryRun, r.success], [true, true], JSON.stringify(r));
  }
  assert.deepEqual(readdirSync(box.root), []);
  assert.deepEqual(readdirSync(box.state), []);
});

// --- code ---------------------------------------------------------------------------------------------------

test('the same program in three languages', async (t) => {
  const box = await Box.start(t, {}, withNode);
  const programs = {
    python: 'import sys\nprint("args:", *sys.argv[1:])\nprint("err", file=sys.stderr)\nsys.exit(4)',
    js: 'console.log("args:", ...process.argv.slice(2));\nconsole.error("err");\nprocess.exit(4)',
    ts: 'const rest: string[] = process.argv.slice(2);\nconsole.log("args:", ...rest);\nconsole.error("err");\nprocess.exit(4)',
  };

  for (const language of ['python', 'js', 'javascript', 'ts', 'typescript']) {
    const short = { javascript: 'js', typescript: 'ts' }[language] ?? language;
    const r = await box.call('runCode', { language, code: programs[short], argv: ['a', 'b c'], timeoutSeconds: 120 });

    assert.deepEqual([r.stdout, r.stderr, r.exitCode, r.language], ['args: a b c\n', 'err\n', 4, short]);
    const execution = JSON.parse(r.execution);
    assert.deepEqual(execution.logs, { stdout: ['args: a b c\n'], stderr: ['err\n'] });
    assert.equal(execution.error.value, 'exit code 4');
  }
  assert.deepEqual(readdirSync(box.state), []);
});

test('code: environment, modules of the working directory, time limit', async (t) => {
  const box = await Box.start(t, {}, withNode);

  writeFileSync(join(box.root, 'mine.py'), 'word = "imported"');
  let r = await box.call('runCode', { code: 'import mine, os\nprint(mine.word, os.environ["X"])', envs: { X: 'y' } });
  assert.equal(r.stdout, 'imported y\n');
  assert.deepEqual(JSON.parse(r.execution), { results: [], logs: { stdout: ['imported y\n'], stderr: [] } });
  r = await withLimit(1000, (timeoutMs) => box.call('runCode', { code: 'print("begun", flush=True)\nwhile True: pass', timeoutMs }), (early) => !early.stdout);
  assert.deepEqual([r.timedOut, r.killed, r.stdout], [true, true, 'begun\n']);
  r = await box.call('runCode', { code: 'console.log(process.env.X)', runCodeOpts: { language: 'js', envs: { X: 'nested' }, requestTimeoutMs: 5 } });
  assert.deepEqual([r.stdout, r.language], ['nested\n', 'js']);
  r = await box.call('runCode', { code: 'while (true);', language: 'js', runCodeOpts: { language: 'js', timeoutMs: 1000 } });
  assert.deepEqual([r.timedOut, r.language], [true, 'js']);
  // said twice, and not the same: refused by name
  for (const [args, name] of [
    [{ language: 'js', runCodeOpts: { language: 'python' } }, 'language'],
    [{ envs: { X: 'y' }, runCodeOpts: { envs: {} } }, 'envs'],
    [{ env: {}, runCodeOpts: { envs: {} } }, 'envs'],
    [{ timeoutMs: 5, runCodeOpts: { timeoutMs: 6 } }, 'timeoutMs'],
    [{ timeoutSeconds: 20, runCodeOpts: { timeoutMs: 5000 } }, 'timeoutMs'],
    [{ timeoutSeconds: 20, runCodeOpts: { timeoutMS: 20000 } }, 'timeoutMS'],
    [{ runCodeOpts: { timeoutMs: 5, timeoutMS: 6 } }, 'timeoutMS'],
  ]) {
    const { error } = await box.call('runCode', { code: 'print(1)', ...args });

    assert.deepEqual([error?.code, error?.field], ['INVALID_ARGUMENT', `runCodeOpts.${name}`], JSON.stringify(args));
  }
  // E2B's template spells it so
  r = await box.call('runCode', { code: 'while True: pass', runCodeOpts: { language: 'python', envs: {}, timeoutMS: 1000, requestTimeoutMs: 30000 } });
  assert.deepEqual([r.timedOut, r.killed], [true, true]);
  r = await box.call('runCode', { code: 'print(input())', input: 'given\n' });
  assert.equal(r.stdout, 'given\n');
  assert.deepEqual(readdirSync(box.state), []);
});

test('code of js and ts imports the project, whatever kind of module both are', async (t) => {
  const box = await Box.start(t, {}, withNode);
  const run = (language, code, more) => box.call('runCode', { language, code, timeoutSeconds: 120, ...more });
  const said = async (...args) => {
    const r = await run(...args);
    return r.stdout || r.stderr;
  };

  mkdirSync(join(box.root, 'src'));
  mkdirSync(join(box.root, 'node_modules', 'dep'), { recursive: true });
  mkdirSync(join(box.root, '.git', 'info'), { recursive: true });
  writeFileSync(join(box.root, '.git', 'info', 'exclude'), '*.log');
  writeFileSync(join(box.root, 'node_modules', 'dep', 'package.json'), '{"type":"module","exports":"./d.js"}');
  writeFileSync(join(box.root, 'node_modules', 'dep', 'd.js'), 'export default "dep";');
  writeFileSync(join(box.root, 'src', 'esm.mjs'), 'export const word = "esm";');
  writeFileSync(join(box.root, 'src', 'cjs.cjs'), 'exports.word = "cjs";');
  writeFileSync(join(box.root, 'src', 'typed.mts'), 'export enum Level { low = 1, high }\nexport const top: Level = Level.high;');
  for (const type of ['commonjs', 'module']) {
    writeFileSync(join(box.root, 'package.json'), JSON.stringify({ type }));
    assert.equal(await said('js', 'import dep from "dep";\nimport { word } from "./src/esm.mjs";\nconsole.log(dep, word);'), 'dep esm\n');
    assert.equal(await said('js', 'const { word } = require("./src/cjs.cjs");\nconsole.log(word);'), 'cjs\n');
    assert.equal(await said('js', 'const { word } = await import("./esm.mjs");\nconsole.log(word);', { cwd: 'src' }), 'esm\n');
    assert.equal(await said('ts', 'import { top, Level } from "./src/typed.mts";\nenum Mine { a = "own" }\nconsole.log(Level[top], Mine.a);'), 'high own\n');
    assert.equal(await said('ts', 'enum Mine { a = 7 }\nconst { word }: { word: string } = require("./src/cjs.cjs");\nconsole.log(word, Mine.a);'), 'cjs 7\n');
  }
  assert.equal(readFileSync(join(box.root, '.git', 'info', 'exclude'), 'utf8'), '*.log\n.acpd-code-*\n');
  assert.deepEqual(readdirSync(join(box.root, 'src')).sort(), ['cjs.cjs', 'esm.mjs', 'typed.mts']);
  assert.deepEqual(readdirSync(box.root).sort(), ['.git', 'node_modules', 'package.json', 'src']);
});

test('the file of code that runs is hidden, and goes however the run or the tools end', async (t) => {
  const box = await Box.start(t, {}, withNode);
  const hidden = () => readdirSync(box.root).filter((name) => name.startsWith('.acpd-code-'));
  const endless = { language: 'js', code: 'setInterval(() => {}, 1000)' };
  const timedOut = async (timeoutMs) => {
    let over = false;
    const call = box.call('runCode', { ...endless, timeoutMs }).finally(() => { over = true; });
    const seen = await until(() => (hidden().length === 1 ? 'there' : over && 'over'));

    assert.deepEqual((await box.call('listFiles', { hidden: false })).files, []);
    return { seen, r: await call };
  };
  const { seen, r } = await withLimit(1000, timedOut, (early) => early.seen === 'over');

  assert.deepEqual([seen, r.timedOut], ['there', true]);
  assert.deepEqual(hidden(), []);
  await box.cancelled('runCode', endless, 300);
  await until(() => !hidden().length);
  // until the command has its keeper, nobody could remove the file
  box.request('tools/call', { name: 'runCode', arguments: { ...endless, code: `require('fs').writeFileSync('.begun', ''); ${endless.code}` } });
  await until(() => existsSync(join(box.root, '.begun')));
  assert.equal(hidden().length, 1);
  await box.kill('SIGKILL');
  await until(() => !hidden().length);
});

test('a node that does not know an option is asked with the next; tsx of the project comes first', async (t) => {
  const box = await Box.start(t);
  const fake = (path, text) => {
    writeFileSync(join(box.root, path), `#!/bin/sh\n${text}\n`);
    chmodSync(join(box.root, path), 0o755);
  };
  const run = () => box.call('runCode', { language: 'ts', code: 'let a: number', input: 'given', envs: { PATH: `${box.root}/bin:${process.env.PATH}` } });

  mkdirSync(join(box.root, 'bin'));
  mkdirSync(join(box.root, 'node_modules', '.bin'), { recursive: true });
  fake('bin/node', 'case $1 in *transform*) echo "node: bad option: $1" >&2; exit 9;; esac; echo "$1"; cat; cat "$3"');
  assert.equal((await run()).stdout, '--experimental-strip-types\ngivenlet a: number');
  fake('bin/node', 'echo "node: bad option: $1" >&2; exit 9');
  assert.equal((await run()).error.code, 'INTERPRETER_NOT_FOUND');
  fake('node_modules/.bin/tsx', 'echo "tsx $#"; cat "$1"');
  assert.equal((await run()).stdout, 'tsx 1\nlet a: number');
});

test('an interpreter that is not there, or too old, is named', async (t) => {
  const box = await Box.start(t, { interpreters: { ts: ['no-such-runner', '-x'] } }, { PATH: '/nowhere' });

  for (const language of ['python', 'js', 'ts']) {
    const { error } = await box.call('runCode', { language, code: '1' });
    assert.deepEqual([error.code, error.field], ['INTERPRETER_NOT_FOUND', 'language']);
  }
});

test('interpreters of the configuration are used', async (t) => {
  const box = await Box.start(t, { interpreters: { python: ['./fake', '--flag'] } });

  writeFileSync(join(box.root, 'fake'), '#!/bin/sh\necho "$1"; cat "$2"; echo; echo "$3"\n');
  chmodSync(join(box.root, 'fake'), 0o755);
  const r = await box.call('runCode', { code: 'any text', argv: ['arg'] });
  assert.equal(r.stdout, '--flag\nany text\narg\n');
});

// --- policy -------------------------------------------------------------------------------------------------

test('command rules hold for commands, code and test runs, however they are wrapped', async (t) => {
  const box = await Box.start(t, {
    tests: { bad: { command: ['sh', '-c', 'rm -rf made'] } },
    policy: {
      commands: [
        { prefix: ['echo'], policy: 'allow' },
        { prefix: ['true'], policy: 'allow' },
        { prefix: ['touch'], policy: 'ask' },
        { argv: ['rm', '-rf'], policy: 'deny' },
        { prefix: ['rm'], policy: 'deny' },
      ],
    },
  });
  mkdirSync(join(box.root, '.git'));
  const rows = [
    ['runCommand', { command: 'echo fine' }, undefined],
    ['runCommand', { argv: ['echo', 'fine'] }, undefined],
    ['runCommand', { command: 'rm -rf made' }, 'COMMAND_DENIED'],
    ['runCommand', { command: 'echo a && env X=1 sh -c "rm -rf made"' }, 'COMMAND_DENIED'],
    ['runCommand', { argv: ['sh', '-c', 'exec rm -rf made'] }, 'COMMAND_DENIED'],
    ['runCommand', { command: 'xargs', args: ['rm', '-rf'], input: 'made' }, 'COMMAND_DENIED'],
    ['runCommand', { command: 'rm -rf made', background: true }, 'COMMAND_DENIED'],
    ['runCommand', { command: 'touch made' }, 'APPROVAL_REQUIRED'],
    ['runCommand', { argv: ['touch', 'made'], background: true }, 'APPROVAL_REQUIRED'],
    ['runCommand', { command: 'echo a', envs: { LD_PRELOAD: './x.so' } }, 'APPROVAL_REQUIRED'],
    ['runCode', { code: 'open("made", "w")' }, 'APPROVAL_REQUIRED'],
    ['runCode', { code: '1', language: 'js' }, 'APPROVAL_REQUIRED'],
    ['runTests', { target: 'bad' }, 'COMMAND_DENIED'],
  ];

  for (const [tool, args, code] of rows)
    assert.equal((await box.call(tool, args)).error?.code, code, JSON.stringify(args));
  assert.deepEqual(readdirSync(box.root), ['.git']);
  assert.deepEqual(readdirSync(join(box.root, '.git')), []);
  assert.deepEqual(readdirSync(box.state), []);
});

test('the time that the policy gives is the most, and results before it are kept', async (t) => {
  const all = async (ms) => {
    const limit = { timeoutMs: ms };
    const box = await Box.start(t, {
      tests: { slow: { command: 'echo TAP version 13; echo 1..2; echo ok 1 - a; trap "" TERM; sleep 600; sleep 600', format: 'tap' } },
      policy: { tools: { runCommand: limit, runCode: limit, runTests: limit } },
    });
    const hard = [];

    for (const timeoutMs of [undefined, 0, 600000])
      hard.push(await box.call('runCommand', { command: 'echo begun; trap "" TERM; sleep 600; sleep 600', timeoutMs }));
    return { hard, tests: await box.call('runTests', { target: 'slow' }),
      gentle: await box.call('runCommand', { command: "trap 'echo bye; exit 5' TERM; sleep 600 & echo begun; wait" }) };
  };
  const { hard, tests, gentle } = await withLimit(700, all, (r) => [...r.hard, r.gentle].some((one) => !one.stdout) || !r.tests.passed);

  for (const r of hard)
    assert.deepEqual([r.timedOut, r.killed, r.stdout], [true, true, 'begun\n'], JSON.stringify(r));
  assert.deepEqual([tests.timedOut, tests.partial, tests.passed, tests.planned], [true, true, 1, 2]);
  assert.deepEqual([gentle.timedOut, gentle.exitCode, gentle.stdout], [true, 5, 'begun\nbye\n']);
});
