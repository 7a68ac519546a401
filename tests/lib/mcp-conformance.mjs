// SPDX-License-Identifier: Apache-2.0
// Runs @modelcontextprotocol/conformance against a server and says what came of it.
//
//   const run = await conformance({ url, requirements: '2025-11-25' });
//   run.passed     names of the scenarios without a failed check, in order; run.failed: {scenario: [check: why]}
//   run.checks     "scenario check" -> status, of all that ran
//
// Only the scenarios that the requirement list scores count; what else the suite runs is in run.unscored.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { namesBelow } from './vanishing.mjs';

const PACKAGE = path.join(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance');

// Scored scenarios of the "server" section of a list.
export function required(requirements) {
  const text = fs.readFileSync(path.join(PACKAGE, 'requirements', `${requirements}.yaml`), 'utf8');
  const [, section] = /^server:\n((?: {2}- .*\n)+)/m.exec(text);

  return section.trim().split('\n').map((line) => line.replace(/^\s*- /, '').trim());
}

function run(args, timeout) {
  const child = spawn(process.execPath, [path.join(PACKAGE, 'dist/index.js'), ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout });
  let output = '';

  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => { output += data; });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, output }));
  });
}

function read(dir) {
  const scenarios = new Map();

  for (const name of namesBelow(dir)) {
    if (path.basename(name) !== 'checks.json')
      continue;
    const scenario = path.basename(path.dirname(name)).replace(/^server-(.*?)-\d{4}-\d\d-\d\dT.*$/, '$1');

    scenarios.set(scenario, JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8')));
  }
  return scenarios;
}

export async function conformance({ url, requirements, timeout = 180_000 }) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-conformance-'));
  const { output } = await run(['server', '--url', url, '--requirements', requirements, '-o', dir], timeout);
  const scenarios = read(dir);
  const result = { passed: [], failed: {}, unscored: {}, checks: {}, output };

  fs.rmSync(dir, { recursive: true });
  for (const scenario of required(requirements)) {
    const checks = scenarios.get(scenario);
    const bad = checks?.filter((c) => c.status === 'FAILURE').map((c) => `${c.id}: ${c.errorMessage}`) ?? ['did not run'];

    for (const c of checks ?? [])
      result.checks[`${scenario} ${c.id}`] = c.status;
    if (bad.length)
      result.failed[scenario] = bad;
    else
      result.passed.push(scenario);
    scenarios.delete(scenario);
  }
  for (const [scenario, checks] of scenarios)
    result.unscored[scenario] = checks.map((c) => `${c.status} ${c.id}`);
  return result;
}
