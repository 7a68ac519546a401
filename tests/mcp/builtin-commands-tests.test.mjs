// SPDX-License-Identifier: Apache-2.0
// build: release
// runTests: targets of the configuration and of what lies in the directory, partial results, shards.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { ACPD } from '../lib/daemon.mjs';
import { descendants } from '../lib/procs.mjs';
import { withLimit } from '../lib/wait.mjs';
import { Box } from './builtin-commands-rig.mjs';

const withNode = { PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };

const counts = ({ passed, failed, skipped, partial, success }) => ({ passed, failed, skipped, partial, success });
const brief = (r) => r.results.map((x) => `${x.status} ${x.suite ? `${x.suite}/` : ''}${x.name}`);

const tap = (pause) => `echo TAP version 13; echo 1..5; for i in 1 2 3 4 5; do ${pause} echo "ok $i - test $i"; done`;

test('a time limit after three of five tests gives the three, and says partial', async (t) => {
  const box = await Box.start(t, { tests: { slow: { command: tap('[ $i = 4 ] && sleep 60;'), format: 'tap' } } });
  const r = await withLimit(800, (timeoutMs) => box.call('runTests', { target: 'slow', timeoutMs }), (early) => early.passed < 3);

  assert.deepEqual(brief(r), ['passed test 1', 'passed test 2', 'passed test 3']);
  assert.deepEqual(counts(r), { passed: 3, failed: 0, skipped: 0, partial: true, success: false });
  assert.deepEqual([r.timedOut, r.killed, r.planned, r.signal], [true, true, 5, 'SIGTERM']);
  assert.match(readFileSync(r.log, 'utf8'), /^TAP version 13\n1\.\.5\nok 1 - test 1\n/);
  assert.equal(descendants(box.pid).length, 0);
});

test('the end of a run: exit code, results and plan must agree to be a success', async (t) => {
  const box = await Box.start(t, {
    tests: {
      good: { command: tap('') },
      lies: { command: 'echo TAP version 13; echo "not ok 1 - a"; echo 1..1; exit 0' },
      stops: { command: 'echo TAP version 13; echo 1..3; echo ok 1 - a; exit 0' },
      dies: { command: 'echo TAP version 13; echo ok 1 - a; kill -9 $$' },
      plain: { command: 'echo nothing to read; exit 1' },
      words: { command: ['sh', '-c', 'exit 0'], format: 'exit' },
      limit: { command: 'sleep 60', timeoutMs: 100 },
    },
  });
  const run = async (target) => box.call('runTests', { target });
  let r = await run('good');

  assert.deepEqual(counts(r), { passed: 5, failed: 0, skipped: 0, partial: false, success: true });
  assert.ok(r.output.endsWith('ok 5 - test 5\n'));
  assert.deepEqual(counts(await run('lies')), { passed: 0, failed: 1, skipped: 0, partial: false, success: false });
  assert.deepEqual(counts(await run('stops')), { passed: 1, failed: 0, skipped: 0, partial: true, success: false });
  r = await run('dies');
  assert.deepEqual(counts(r), { passed: 1, failed: 0, skipped: 0, partial: true, success: false });
  assert.deepEqual([r.exitCode, r.signal], [137, 'SIGKILL']);
  r = await run('plain');
  assert.deepEqual(brief(r), ['failed plain']);
  assert.equal(r.exitCode, 1);
  assert.deepEqual(brief(await run('words')), ['passed words']);
  r = await run('limit');
  assert.deepEqual([r.timedOut, r.partial, r.results], [true, true, []]);
});

test('targets that are not configured are known by what lies there', async (t) => {
  const box = await Box.start(t, {}, withNode);
  let r = await box.call('runTests', {});

  assert.deepEqual([r.error.code, r.error.field], ['TEST_TARGET_UNKNOWN', 'target']);
  writeFileSync(join(box.root, 'Makefile'), 'all:\n\ttrue\ntest:\n\t@echo "TAP version 13"; echo "ok 1 - made"; echo 1..1\n');
  r = await box.call('runTests', { target: 'make' });
  assert.deepEqual([r.target, brief(r), r.success], ['make', ['passed made'], true]);
  mkdirSync(join(box.root, 'pkg'));
  writeFileSync(join(box.root, 'pkg', 'package.json'), '{"scripts":{"test":"node --test --test-reporter=tap"}}');
  writeFileSync(join(box.root, 'pkg', 'a.test.js'), `
    const { describe, test } = require('node:test');
    describe('things', () => {
      test('work', () => {});
      test('break', () => { throw new Error('boom'); });
      test('wait', { skip: 'later' }, () => {});
    });`);
  r = await box.call('runTests', { target: 'auto', cwd: 'pkg' });
  assert.equal(r.target, 'npm');
  assert.deepEqual(brief(r), ['passed things/work', 'failed things/break', 'skipped things/wait']);
  assert.match(r.results[1].message, /boom/);
  assert.deepEqual(counts(r), { passed: 1, failed: 1, skipped: 1, partial: false, success: false });
  r = await box.call('runTests', { cwd: 'pkg', shards: 2 });
  assert.deepEqual([r.error.code, r.error.field], ['SHARDS_UNSUPPORTED', 'shards']);
  r = await box.call('runTests', { only: ['a'] });
  assert.deepEqual([r.error.code, r.error.field], ['ONLY_UNSUPPORTED', 'only']);
});

test('shards run at a time (each waits for the others), each its part; only is passed on', async (t) => {
  const box = await Box.start(t, {
    tests: {
      parts: { command: ['sh', '-c', ': > "at-$0"; until [ -e at-1 ] && [ -e at-2 ] && [ -e at-3 ] && [ -e at-4 ]; do sleep 0.02; done; echo "TAP version 13"; echo "ok 1 - part $0 of $1"; shift; for n; do echo "ok 2 - $n"; done', '{shard}', '{shards}', '{only}'] },
      text: { command: 'printf "ok 1 - %s\\n" {only}', format: 'tap' },
    },
  });
  const r = await box.call('runTests', { target: 'parts', shards: 4, only: ['a b', '$x'], timeoutMs: 30000 });

  assert.deepEqual(brief(r).filter((x) => x.includes('part')), [1, 2, 3, 4].map((n) => `passed part ${n} of 4`));
  assert.deepEqual(counts(r), { passed: 12, failed: 0, skipped: 0, partial: false, success: true });
  assert.equal(r.shards, 4);
  assert.deepEqual(brief(await box.call('runTests', { target: 'text', only: ["it's", '$(touch made)'] })),
    ["passed it's", 'passed $(touch made)']);
  assert.deepEqual(brief(await box.call('runTests', { target: 'parts' })), ['passed part 1 of 1']);
});

test('a JUnit report that is whole and new counts; else what was printed', async (t) => {
  const xml = '<testsuite><testcase classname="C" name="one"/><testcase classname="C" name="two"><failure message="no"/></testcase></testsuite>';
  const box = await Box.start(t, {
    tests: {
      whole: { command: `echo '--- PASS: Printed (0.00s)'; printf '%s' '${xml}' > report.xml; exit 1`, report: 'report.xml' },
      torn: { command: `echo '--- PASS: Printed (0.00s)'; printf '%.60s' '${xml}' > report.xml`, report: 'report.xml', format: 'go' },
      old: { command: "touch -d 2001-01-01 report.xml; echo '--- PASS: Printed (0.00s)'", report: 'report.xml', format: 'go' },
    },
  });
  const r = await box.call('runTests', { target: 'whole' });

  assert.deepEqual(brief(r), ['passed C/one', 'failed C/two']);
  assert.equal(r.results[1].message, 'no');
  assert.deepEqual(brief(await box.call('runTests', { target: 'torn' })), ['passed Printed']);
  assert.deepEqual(brief(await box.call('runTests', { target: 'old' })), ['passed Printed']);
});

// What the real ones wrote (testruns/), at the path that the call asked for, or where none was asked for what they print.
function recorded(box, runner, report) {
  const bin = join(box.root, 'node_modules', '.bin');

  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, runner), `#!${process.execPath}
    const { writeFileSync } = require('node:fs');
    const out = process.argv.find((word) => word.startsWith('--outputFile'))?.split('=')[1];
    console.log(process.argv.includes('--nothing') ? 'No test files found, exiting with code 1' : ' ✓ printed 1ms');
    if (out) writeFileSync(out, ${JSON.stringify(report)}.replaceAll('{cwd}', process.cwd()));
    process.exitCode = 1;`);
  chmodSync(join(bin, runner), 0o755);
  writeFileSync(join(box.root, 'package.json'), JSON.stringify({ scripts: { test: runner } }));
}

for (const runner of ['vitest', 'jest'])
  test(`${runner} is asked for its report: files, suites, names and messages`, async (t) => {
    const box = await Box.start(t, {}, withNode);
    const kind = runner === 'vitest' ? 'vtest.mjs' : 'jtest.js';

    recorded(box, runner, readFileSync(join(import.meta.dirname, 'testruns', `${runner}.json`), 'utf8'));
    const r = await box.call('runTests', {});

    assert.deepEqual(brief(r).sort(), [
      `failed src/broken.${kind}`,
      `failed src/sum.${kind} > sums > of small numbers/adds "a" & <b>`,
      `passed src/sum.${kind} > sums > of small numbers/adds 1 and 2`,
      `passed src/sum.${kind}/stands alone`,
      `skipped src/sum.${kind} > sums/is for later`,
      `skipped src/sum.${kind} > sums/is to be written`,
    ]);
    assert.match(r.results.find((x) => x.name.startsWith('adds "a"')).message, runner === 'vitest' ? /expected 3 to be 4/ : /Expected: 4\nReceived: 3/);
    assert.match(r.results.find((x) => x.name.startsWith('src/broken')).message, /Cannot find module/);
    assert.deepEqual(counts(r), { passed: 2, failed: 2, skipped: 2, partial: false, success: false });
    assert.deepEqual(readdirSync(box.state).filter((name) => !name.endsWith('.log')), []);
    assert.deepEqual(readdirSync(box.root).sort(), ['node_modules', 'package.json']);

    // nothing to run is no test that failed
    recorded(box, runner, '{"numTotalTests":0,"success":true,"testResults":[]}');
    const none = await box.call('runTests', {});
    assert.deepEqual([none.results, none.exitCode, none.success, none.failed], [[], 1, false, 0]);
    writeFileSync(join(box.root, 'package.json'), JSON.stringify({ scripts: { test: `${runner} --nothing && true` } }));
    const unasked = await box.call('runTests', {});
    assert.deepEqual([unasked.results, unasked.exitCode, unasked.success], [[], 1, false]);
    // and a report that is none leaves what was printed
    recorded(box, runner, '{"testResults":[');
    assert.deepEqual(brief(await box.call('runTests', {})), ['passed printed']);
  });

// A stand-in for each runner says how it was called; node is there itself.
test('only is a filter for names where the runner has one, and the result says so', async (t) => {
  const box = await Box.start(t, {}, withNode);
  const called = async (runner) => {
    const bin = join(box.root, 'node_modules', '.bin');

    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, runner), `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(2)));`);
    chmodSync(join(bin, runner), 0o755);
    writeFileSync(join(box.root, 'package.json'), JSON.stringify({ scripts: { test: runner } }));
    const r = await box.call('runTests', { only: ['adds 1 + 2 (quickly)', '-x'] });
    return [r.onlyAs, JSON.parse(/^\[.*\]$/m.exec(r.output)[0]).slice(-2)];
  };

  for (const runner of ['vitest', 'jest']) {
    const [as, words] = await called(runner);
    assert.deepEqual([as, words.at(-1)], ['names', String.raw`--testNamePattern=adds 1 \+ 2 \(quickly\)|-x`]);
  }
  assert.deepEqual(await called('mocha'), ['arguments', ['adds 1 + 2 (quickly)', '-x']]);
  writeFileSync(join(box.root, 'package.json'), '{"scripts":{"test":"node --test"}}');
  writeFileSync(join(box.root, 'a.test.js'), `
    const { test } = require('node:test');
    for (const name of ['adds 1 + 2 (quickly)', 'adds more', 'other'])
      test(name, () => {});`);
  const r = await box.call('runTests', { only: ['1 + 2 (', 'othe'] });
  assert.deepEqual(brief(r).filter((x) => x.startsWith('passed')).sort(), ['passed adds 1 + 2 (quickly)', 'passed other']);
  assert.equal(r.onlyAs, 'names');
  assert.equal((await box.call('runTests', {})).onlyAs, undefined);
});

// What the real ones printed (testruns/, cargo 1.95 and go 1.19), by a program of that name.
const NATIVE = {
  cargo: { file: 'Cargo.toml', code: 101, results: ['passed tests::adds', 'skipped tests::later', 'passed tests::panics', 'failed tests::breaks'],
    name: 'tests::breaks', why: /^what it printed\n[^]*assertion `left == right` failed: the sum\n +left: 3\n +right: 4$/m, only: ['test', '--', 'a', 'b'] },
  go: { file: 'go.mod', code: 1, results: ['passed TestAdds', 'failed TestBreaks', 'skipped TestLater', 'failed TestTable', 'passed TestTable/one', 'failed TestTable/two_words'],
    name: 'TestBreaks', why: /^sums_test\.go:12: on the way\nsums_test\.go:14: got 3,\nwanted 4$/, only: ['test', '-v', './...', '-run', '^a$|^b$'] },
};

for (const [runner, { file, code, results, name, why, only }] of Object.entries(NATIVE))
  test(`${runner}: each test, and why it failed`, async (t) => {
    const bin = mkdtempSync(join(tmpdir(), 'acpd-bin-'));
    const box = await Box.start(t, {}, { PATH: `${bin}:${process.env.PATH}` });

    t.after(() => rmSync(bin, { recursive: true }));
    writeFileSync(join(bin, runner), `#!/bin/sh\nfor word; do echo "+$word" >> ${join(bin, 'words')}; done\ncat ${join(import.meta.dirname, 'testruns', `${runner}.txt`)}; exit ${code}\n`);
    chmodSync(join(bin, runner), 0o755);
    writeFileSync(join(box.root, file), '');
    const r = await box.call('runTests', {});

    assert.deepEqual(brief(r), results);
    assert.match(r.results.find((x) => x.name === name).message, why);
    const [failed, skipped] = ['failed', 'skipped'].map((word) => results.filter((x) => x.startsWith(word)).length);
    assert.deepEqual([r.target, r.exitCode, counts(r)], [runner, code, { passed: results.length - failed - skipped, failed, skipped, partial: false, success: false }]);
    rmSync(join(bin, 'words'));
    await box.call('runTests', { only: ['a', 'b'] });
    assert.deepEqual(readFileSync(join(bin, 'words'), 'utf8').trim().split('\n'), only.map((word) => `+${word}`));
  });

test('the options for a report are not put to the policy', async (t) => {
  const box = await Box.start(t, { policy: { commands: [{ argv: ['npm', 'test', '--'], policy: 'allow' }], categories: { execute: 'ask' } } }, withNode);

  recorded(box, 'jest', '{"testResults":[]}');
  assert.equal((await box.call('runTests', {})).error, undefined);
});

test('what is wrong in the configuration is named, before any tool runs', () => {
  const rows = { command: [{ command: 5 }, { command: [] }, {}, { command: '' }], format: [{ command: 'x', format: 'nope' }], more: [{ command: 'x', more: 1 }] };

  for (const [field, wrong] of Object.entries(rows))
    for (const t of wrong) {
      const { status, stderr } = spawnSync(ACPD, ['mcp', '--builtin', '--config-fd', '0'], { input: JSON.stringify({ roots: ['/'], tests: { t } }), encoding: 'utf8' });
      assert.deepEqual([status, stderr.includes(`tests.t.${field}`)], [2, true], `${field}: ${stderr}`);
    }
});

test('files with the output are bounded in number, and go with the tools', async (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'acpd-state-'));
  const box = await Box.start(t, { stateDir, tests: { t: { command: 'echo a line', format: 'exit' } } });
  const logs = [];

  t.after(() => rmSync(stateDir, { recursive: true }));

  for (let i = 0; i < 18; i++)
    logs.push((await box.call('runTests', { target: 't' })).log);
  assert.deepEqual(logs.map((log) => existsSync(log)), logs.map((_, i) => i >= 2));
  assert.equal(readFileSync(logs[17], 'utf8'), 'a line\n');
  await box.stop();
  assert.deepEqual(readdirSync(stateDir), []);
});

// The seed's values are 20, 30 and 120 seconds: the same ones, a hundred times as fast.
test('each tool has its own time, by configuration alone', async (t) => {
  const times = { runCode: 200, runCommand: 300, runTests: 1200 };
  const box = await Box.start(t, {
    tests: { t: { command: 'sleep 60', format: 'exit' } },
    policy: { tools: Object.fromEntries(Object.entries(times).map(([name, timeoutMs]) => [name, { timeoutMs }])) },
  });
  const calls = { runCode: { language: 'python', code: 'import time\ntime.sleep(60)' }, runCommand: { command: 'sleep 60' }, runTests: { target: 't' } };
  // The time is that of the call, of which the program has what is left when it runs.
  const timed = async (name, args) => {
    const from = performance.now();

    return { ...await box.call(name, args), took: performance.now() - from };
  };
  const ran = await Promise.all(Object.entries(calls).map(([name, args]) => timed(name, args)));

  for (const [i, [name, ms]] of Object.entries(times).entries()) {
    const { timedOut, took, executionTime } = ran[i];

    assert.equal(timedOut, true, name);
    assert.ok(took >= ms - 1 && executionTime <= took + 1 && executionTime < 50000, `${name}: ${executionTime} and ${took} of ${ms} ms`);
  }
});
