// SPDX-License-Identifier: Apache-2.0
// acpd stats: means over the ledgers of a hundred runs, beside figures that are computed here.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { acpdSync } from '../run.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-stats-'));
after(() => fs.rmSync(dir, { recursive: true }));

const stats = (...args) => acpdSync(['stats', ...args]);
// Runs that differ in all that is counted, the same at each start.
let seed = 7;
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
const RUNS = Array.from({ length: 100 }, (_, i) => {
  const [harness, model] = [['codex', 'gpt-5.5'], ['pi', 'claude'], ['pi', 'gpt-5.5']][random(3)];
  const failed = random(10) < 2;
  const run = { type: 'turn', sessionId: `s${i}`, turn: 1, harness, model, durationMs: 100 + random(90000) };

  if (random(20)) // one in twenty reports nothing
    run.usage = { inputTokens: 10 + random(5000), outputTokens: random(900), totalTokens: 10 + random(6000) };
  if (random(5))
    run.cost = { amount: (1 + random(1000)) / 10000, currency: random(8) ? 'USD' : 'EUR', source: 'harness' };
  if (failed)
    run.error = { class: ['rate_limit', 'harness_exit', 'auth'][random(3)], message: 'x', retryable: false };
  else
    run.stopReason = random(6) ? 'end_turn' : 'max_tokens';
  if (!failed && random(3))
    run.checks = { verdict: ['verified', 'verified', 'failed', 'unchecked'][random(4)], results: [] };
  return run;
});

function ledger(records, name) {
  let digest = null;
  const lines = records.map((r, i) => {
    const line = JSON.stringify({ v: 1, n: i + 1, incarnation: name, prevDigest: digest, ...r });

    digest = crypto.createHash('sha256').update(line).digest('hex');
    return line;
  });
  const file = path.join(dir, `${name}.jsonl`);

  fs.writeFileSync(file, lines.map((l) => `${l}\n`).join(''));
  return file;
}

function summary(values, round = (v) => v) {
  if (!values.length)
    return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (p) => sorted[Math.ceil(sorted.length * p) - 1];
  const total = sorted.reduce((a, b) => a + b, 0);

  return { turns: sorted.length, mean: round(total / sorted.length), p50: at(0.5), p95: at(0.95), total: round(total) };
}
const near = (got, want, what) => {
  assert.equal(got === undefined, want === undefined, what);
  for (const k of Object.keys(want ?? {}))
    assert.ok(Math.abs(got[k] - want[k]) < 0.001, `${what}.${k}: ${got[k]}, not ${want[k]}`);
};
const counted = (words) => words.filter(Boolean).reduce((all, w) => ({ ...all, [w]: (all[w] ?? 0) + 1 }), {});

function hold(got, runs, what) {
  assert.equal(got.turns, runs.length, what);
  assert.equal(got.failed, runs.filter((r) => r.error).length, what);
  for (const [name, key] of [['tokens', 'totalTokens'], ['inputTokens', 'inputTokens'], ['outputTokens', 'outputTokens']])
    near(got[name], summary(runs.filter((r) => r.usage).map((r) => r.usage[key])), `${what} ${name}`);
  near(got.durationMs, summary(runs.map((r) => r.durationMs)), `${what} time`);
  for (const currency of ['USD', 'EUR'])
    near(got.cost.find((c) => c.currency === currency), summary(runs.filter((r) => r.cost?.currency === currency).map((r) => r.cost.amount)), `${what} ${currency}`);
  const checked = runs.filter((r) => r.checks && r.checks.verdict !== 'unchecked');
  const verified = checked.filter((r) => r.checks.verdict === 'verified').length;
  near(got.checks, checked.length ? { turns: checked.length, verified, passRate: verified / checked.length } : undefined, `${what} checks`);
  assert.deepEqual(got.failures, counted(runs.map((r) => r.error?.class)), what);
  assert.deepEqual(got.stops, counted(runs.map((r) => r.stopReason)), what);
}

test('of a hundred runs in two ledgers, by harness and model and of all', () => {
  const call = { type: 'model_call', sessionId: 's0', turn: 1, harness: 'pi', model: 'claude', usage: { totalTokens: 999999 } };
  const run = stats(ledger([call, ...RUNS.slice(0, 60)], 'one'), ledger(RUNS.slice(60), 'two'), '--json');

  assert.equal(run.status, 0, run.stderr);
  const got = JSON.parse(run.stdout);
  hold(got.all, RUNS, 'all');
  assert.equal(got.groups.length, 3);
  for (const g of got.groups)
    hold(g, RUNS.filter((r) => r.harness === g.harness && r.model === g.model), `${g.harness} ${g.model}`);
  const text = stats(path.join(dir, 'one.jsonl')).stdout;
  assert.match(text, /^all: 60 turns/m);
  assert.match(text, /failures .*rate_limit/);
});

test('by what --by lists; a turn without it is in a group of its own', () => {
  const runs = RUNS.map((r, i) => ({ ...r, tsStart: `2026-11-${20 + i % 3}T08:00:00.000Z`, ...(i % 4 && { configVersion: `v${i % 2}` }), billingRef: 'team' }));
  const file = ledger(runs, 'labels');
  const by = (list) => JSON.parse(stats(file, '--by', list, '--json').stdout).groups;

  for (const g of by('configVersion')) {
    assert.equal(g.harness, undefined);
    hold(g, runs.filter((r) => (r.configVersion ?? '-') === g.configVersion), g.configVersion);
  }
  assert.deepEqual(by('configVersion').map((g) => g.configVersion).sort(), ['-', 'v0', 'v1']);
  assert.deepEqual(by('day').map((g) => [g.day, g.turns]), [['2026-11-20', 34], ['2026-11-21', 33], ['2026-11-22', 33]]);
  for (const g of by('configVersion,billingRef,day'))
    hold(g, runs.filter((r) => (r.configVersion ?? '-') === g.configVersion && r.tsStart.startsWith(g.day)), `${g.configVersion} ${g.day}`);
  assert.match(stats(file, '--by', 'billingRef').stdout, /^team: 100 turns/m);
  for (const wrong of ['harness,', 'colour', 'day,,model']) {
    const { status, stderr } = stats(file, '--by', wrong);
    assert.deepEqual([status, /--by: not one of harness model configVersion/.test(stderr)], [2, true], wrong);
  }
});

test('of nothing, of what is no ledger, and of a daemon', async () => {
  assert.equal(JSON.parse(stats(ledger([], 'none'), '--json').stdout).all.turns, 0);
  fs.writeFileSync(path.join(dir, 'bad.jsonl'), 'no ledger\n');
  assert.equal(stats(path.join(dir, 'bad.jsonl')).status, 1);
  assert.equal(stats(path.join(dir, 'missing')).status, 1);
  assert.equal(stats('x', '--url', 'http://127.0.0.1:1').status, 2);
  const d = await Daemon.start();
  const c = await d.client();
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'tokens {"inputTokens":3,"outputTokens":4,"totalTokens":7}; echo hi');
  const got = JSON.parse(stats('--url', `http://127.0.0.1:${d.port}`, '--token-file', d.tokenFile, '--json').stdout);
  assert.deepEqual([got.all.turns, got.all.tokens.total, got.groups[0].harness], [1, 7, 'stub']);
  assert.deepEqual(JSON.parse(stats('--state', d.stateDir, '--json').stdout), got);
  await d.stop();
});
