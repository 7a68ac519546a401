// SPDX-License-Identifier: Apache-2.0
// build: release
// `acpd usage` and `acpd usage verify` on ledgers made by hand after daemon/protocol/usage.md: without a daemon, on whole and on broken files.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { ACPD, ROOT } from '../../lib/daemon.mjs';
import { patience } from '../../lib/rawws.mjs';
import { acpd } from '../run.mjs';

let dir;
let count = 0;

before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-usage-'));
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const sha256 = (text) => crypto.createHash('sha256').update(text).digest('hex');

// Lines of a whole ledger: records is [incarnation, record] pairs.
function chain(records) {
  let n = 0;
  let last;

  return records.map(([incarnation, record]) => {
    const prevDigest = last?.incarnation === incarnation ? sha256(last.line) : null;
    const line = JSON.stringify({ v: 1, n: ++n, incarnation, prevDigest, ...record });

    last = { incarnation, line };
    return line;
  });
}

const turn = (sessionId, number, more = {}) => ({
  type: 'turn', sessionId, turn: number, harness: 'pi', provider: 'anthropic', model: 'm-1', tsStart: '2026-11-21T08:00:00.123Z',
  tsEnd: '2026-11-21T08:00:09.456Z', durationMs: 9333, stopReason: 'end_turn', modelCalls: 1, toolCalls: {}, ...more,
});
const usage = (inputTokens, outputTokens, more = {}) =>
  ({ usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...more } });
const cost = (amount, currency) => ({ cost: { amount, currency, source: 'harness' } });

const RECORDS = [
  ['aa', { type: 'model_call', sessionId: 's-1', turn: 1, call: 1, harness: 'pi', model: 'm-1', ts: '2026-11-21T08:00:05Z', ...usage(100, 10) }],
  ['aa', turn('s-1', 1, { ...usage(100, 10, { cacheReadTokens: 90, reasoningTokens: 0 }), ...cost(0.1, 'USD') })],
  ['aa', turn('s-2', 1, { harness: 'codex', provider: 'openai', model: 'gpt-5', ...usage(2000, 300) })],
  ['bb', turn('s-1', 1, { ...usage(5, 6), ...cost(0.2, 'USD') })],
  ['bb', turn('s-1', 2, { stopReason: undefined, error: { class: 'rate_limit', httpStatus: 429, retryable: true }, ...cost(1.5, 'EUR') })],
];
const LINES = chain(RECORDS);

function write(text) {
  const file = path.join(dir, `ledger-${++count}.jsonl`);

  fs.writeFileSync(file, Array.isArray(text) ? text.map((line) => `${line}\n`).join('') : text);
  return file;
}

const show = (file, ...args) => acpd(['usage', '--file', file, ...args]);
const verify = (file, ...args) => acpd(['usage', 'verify', '--file', file, ...args]);

test('the records come out byte for byte, from --file, --state and ACPD_STATE', async () => {
  const want = LINES.map((line) => `${line}\n`).join('');
  const state = path.join(dir, 'state');

  assert.deepEqual(await show(write(LINES)), { code: 0, signal: null, stdout: want, stderr: '' });
  assert.equal((await show(write(LINES), '--json')).stdout, want);
  fs.mkdirSync(state);
  fs.writeFileSync(path.join(state, 'usage.jsonl'), want);
  assert.equal((await acpd(['usage', '--state', state], { described: false })).stdout, want);
  assert.equal((await acpd(['usage'], { env: { ACPD_STATE: state }, described: false })).stdout, want);
  // a harness's command has these in its environment; they choose nothing
  assert.equal((await acpd(['usage'], { env: { ACPD_STATE: state, ACPD_SESSION: 's-2', ACPD_SINCE: '4' }, described: false })).stdout, want);
});

test('--since and --session choose', async () => {
  const file = write(LINES);
  const numbers = async (...args) => (await show(file, ...args)).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line).n);

  assert.deepEqual(await numbers('--since', '3'), [4, 5]);
  assert.deepEqual(await numbers('--since', '5'), []);
  assert.deepEqual(await numbers('--since', '99'), []);
  assert.deepEqual(await numbers('--session', 's-1'), [1, 2, 4, 5]);
  assert.deepEqual(await numbers('--session', 's-2', '--since', '2'), [3]);
  assert.deepEqual(await numbers('--session', 's'), []);
});

test('the end of a large ledger is found', async () => {
  const lines = chain(Array.from({ length: 20000 }, (_, i) => ['aa', turn(`s-${i % 7}`, i, usage(i, 1))]));
  const file = write(lines);

  for (const since of [0, 1, 777, 10000, 19990, 19999]) {
    const { code, stdout } = await show(file, '--since', String(since));

    assert.equal(code, 0);
    assert.ok(stdout === lines.slice(since).map((line) => `${line}\n`).join(''), `since ${since}`);
  }
  assert.deepEqual((await verify(file)).stdout, 'ok: 20000 records, 1 incarnations\n');
});

// Cells of the lines that match.
const row = (stdout, pattern) => stdout.split('\n').filter((line) => pattern.test(line)).map((line) => line.trim().split(/ +/));

test('--table: one row a turn, totals for each model; absent is -, an incomplete sum has +', async () => {
  const { code, stdout, stderr } = await show(write(LINES), '--table');

  assert.deepEqual([code, stderr], [0, '']);
  assert.deepEqual(row(stdout, /^ +\d+ 2026/), [
    ['2', '2026-11-21T08:00:09', 's-1', '1', 'pi', 'm-1', 'end_turn', '100', '10', '90', '-', '0', '110', '0.1', 'USD'],
    ['3', '2026-11-21T08:00:09', 's-2', '1', 'codex', 'gpt-5', 'end_turn', '2000', '300', '-', '-', '-', '2300', '-'],
    ['4', '2026-11-21T08:00:09', 's-1', '1', 'pi', 'm-1', 'end_turn', '5', '6', '-', '-', '-', '11', '0.2', 'USD'],
    ['5', '2026-11-21T08:00:09', 's-1', '2', 'pi', 'm-1', 'rate_limit', '-', '-', '-', '-', '-', '-', '1.5', 'EUR'],
  ]);
  assert.deepEqual(row(stdout, /^(anthropic|openai|all)/), [
    ['anthropic/m-1', '3', '105+', '16+', '90+', '-', '0+', '121+', '0.3', 'USD,', '1.5', 'EUR'],
    ['openai/gpt-5', '1', '2000', '300', '-', '-', '-', '2300', '-'],
    ['all', '4', '2105+', '316+', '90+', '-', '0+', '2421+', '0.3', 'USD,', '1.5', 'EUR+'],
  ]);
  const one = await show(write(LINES), '--table', '--session', 's-2');
  assert.deepEqual(row(one.stdout, /^all/), [['all', '1', '2000', '300', '-', '-', '-', '2300', '-']]);
  assert.equal(row(one.stdout, /^ +\d+ 2026/).length, 1);
});

test('--table: names cannot steer the terminal, odd members count as absent', async () => {
  const file = write(chain([
    ['aa', turn('s-1', 1, { model: 'a\u001b[31mb\nc', usage: { inputTokens: -1, outputTokens: 1.5, totalTokens: '7' }, cost: { amount: 1 } })],
    ['aa', turn('s-1', 2, { model: undefined, provider: undefined, usage: 7, cost: [] })],
    ['aa', { type: 7 }],
  ]));
  const { code, stdout } = await show(file, '--table');

  assert.equal(code, 0);
  assert.ok(!stdout.includes('\u001b') && stdout.includes('a [31mb c'), stdout);
  assert.deepEqual(row(stdout, /^all/), [['all', '2', '-', '-', '-', '-', '-', '-', '-']]);
});

test('an empty ledger is no error, a missing one is', async () => {
  const empty = write('');

  assert.deepEqual(await show(empty), { code: 0, signal: null, stdout: '', stderr: '' });
  assert.deepEqual(row((await show(empty, '--table')).stdout, /^all/), [['all', '0', '-', '-', '-', '-', '-', '-', '-']]);
  assert.equal((await verify(empty)).stdout, 'ok: 0 records, 0 incarnations\n');
  for (const args of [['usage'], ['usage', '--table'], ['usage', 'verify']]) {
    for (const file of [path.join(dir, 'missing'), dir]) {
      const { code, stderr } = await acpd([...args, '--file', file]);

      assert.equal(code, 1, `${args} ${file}`);
      assert.match(stderr, /^acpd: [^\n]+\n$/);
      assert.ok(stderr.includes(file), stderr);
    }
  }
});

test('wrong use is exit code 2', async () => {
  for (const args of [['--json', '--table'], ['--since', '-1'], ['--since', 'x'], ['nope'], ['verify', '--since', '1'], ['verify', '--table'],
    ['verify', 'x'], ['--file']]) {
    const { code, stdout, stderr } = await acpd(['usage', ...args]);

    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^acpd: [^\n]+\n$/);
  }
});

test('verify: a whole ledger, also one that acpd wrote after a torn end was cut', async () => {
  assert.deepEqual(await verify(write(LINES)), { code: 0, signal: null, stdout: 'ok: 5 records, 2 incarnations\n', stderr: '' });
  assert.deepEqual(JSON.parse((await verify(write(LINES), '--json')).stdout), { ok: true, records: 5, incarnations: 2 });
});

test('the example in usage.md is a record', async () => {
  const text = fs.readFileSync(path.join(ROOT, 'daemon/protocol/usage.md'), 'utf8');
  const [, example] = /A full record[^]*?```json\n([^]*?)```/.exec(text);
  const file = write([JSON.stringify(JSON.parse(example))]);

  assert.deepEqual(await verify(file), { code: 0, signal: null, stdout: 'ok: 1 records, 1 incarnations\n', stderr: '' });
  assert.match((await show(file, '--table')).stdout, / end_turn .* 1200 +340 +900 +100 +64 +1540 +0\.0123 USD\n/);
});

const swap = (lines, i, j) => lines.with(i, lines[j]).with(j, lines[i]);

// What is done to the lines, which line is blamed, and why.
const BROKEN = [
  ['a changed byte', (l) => l.with(1, l[1].replace('"inputTokens":100', '"inputTokens":900')), 3, /not the digest of the line before/],
  ['a changed byte that is no JSON', (l) => l.with(1, l[1].replace('{', '[')), 2, /JSON/],
  ['a removed line', (l) => l.toSpliced(1, 1), 2, /n is 3 where 2 was due/],
  ['a removed first line', (l) => l.slice(1), 1, /n is 2 where 1 was due/],
  ['a removed line, renumbered', (l) => [l[0], ...l.slice(2).map((t, i) => t.replace(/"n":\d+/, `"n":${i + 2}`))], 2, /not the digest/],
  ['a removed first incarnation', (l) => l.slice(3), 1, /n is 4 where 1 was due/],
  ['two lines exchanged', (l) => swap(l, 1, 2), 2, /n is 3 where 2 was due/],
  ['two lines exchanged and renumbered', (l) => swap(l, 1, 2).map((t, i) => t.replace(/"n":\d+/, `"n":${i + 1}`)), 2, /not the digest/],
  ['a line twice', (l) => l.toSpliced(2, 0, l[1]), 3, /n is 2 where 3 was due/],
  ['an inserted line', (l) => l.toSpliced(1, 0, '{"type":"turn"}'), 2, /v is not 1/],
  ['an empty line', (l) => l.toSpliced(1, 0, ''), 2, /JSON/],
  ['another version', (l) => l.with(4, l[4].replace('"v":1', '"v":2')), 5, /v is not 1/],
  ['members in another order', (l) => l.with(0, l[0].replace('"v":1,"n":1', '"n":1,"v":1')), 1, /does not begin with/],
  ['a member twice', (l) => l.with(0, l[0].replace('"type"', '"n":1,"type"')), 1, /twice/],
  ['the chain cut', (l) => l.with(1, l[1].replace(/"prevDigest":"\w+"/, '"prevDigest":null')), 2, /null within an incarnation/],
  ['the chain over incarnations', (l) => l.with(3, l[3].replace('"prevDigest":null', `"prevDigest":"${sha256(l[2])}"`)), 4, /not null in the first record/],
  ['white space', (l) => l.with(0, l[0].replace('"n":1', '"n": 1')), 1, /does not begin with/],
  ['carriage returns', (l) => l.map((t) => `${t}\r`), 1, /does not begin with/],
];

for (const [what, change, line, reason] of BROKEN) {
  test(`verify: ${what} is found in line ${line}`, async () => {
    const file = write(change(LINES));
    const { code, stdout, stderr } = await verify(file);
    const json = JSON.parse((await verify(file, '--json')).stdout);

    assert.deepEqual([code, stdout], [1, '']);
    assert.ok(stderr.startsWith(`acpd: ${file}: line ${line}: `), stderr);
    assert.match(stderr, reason);
    assert.equal(stderr.split('\n').length, 2);
    assert.deepEqual([json.ok, json.records, json.line], [false, line - 1, line]);
    assert.match(json.reason, reason);
  });
}

test('verify: every byte that changes is found, but in the last line of an incarnation', async () => {
  const text = Buffer.from(LINES.slice(0, 2).map((line) => `${line}\n`).join(''));
  const first = LINES[0].length;

  for (let i = 0; i <= first; i += 3) {
    const changed = Buffer.from(text);

    changed[i] ^= 1;
    const { code, stdout } = await verify(write(changed));
    assert.deepEqual([code, stdout], [1, ''], `byte ${i}`);
  }
});

test('a torn end: verify names it, usage prints what is whole', async () => {
  const whole = LINES.slice(0, 4).map((line) => `${line}\n`).join('');

  for (const tail of ['{', LINES[4].slice(0, 70), LINES[4]]) {
    const file = write(whole + tail);
    const { code, stderr } = await verify(file);

    assert.equal(code, 1);
    assert.match(stderr, /line 5: the last line is not complete\n$/);
    assert.deepEqual(await show(file), { code: 0, signal: null, stdout: whole, stderr: '' });
  }
});

test('usage: lines that are no records are left out, and said', async () => {
  const file = write(LINES.with(2, 'garbage').toSpliced(1, 0, ''));
  const { code, stdout, stderr } = await show(file);

  assert.equal(code, 1);
  assert.deepEqual(stdout.trimEnd().split('\n'), [LINES[0], LINES[1], LINES[3], LINES[4]]);
  assert.match(stderr, /2 lines are no records and were left out\n$/);
});

test('a full standard output is a failure', async () => {
  const file = write(chain(Array.from({ length: 500 }, (_, i) => ['aa', turn('s-1', i, usage(i, 1))])));

  for (const args of [[], ['--table']]) {
    const full = fs.openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(ACPD, ['usage', '--file', file, ...args], { stdio: ['ignore', full, 'pipe'], timeout: patience(10000) });

    fs.closeSync(full);
    assert.equal(status, 1);
    assert.match(String(stderr), /^acpd: standard output: No space left on device\n$/);
  }
});
