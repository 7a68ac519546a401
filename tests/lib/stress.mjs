// SPDX-License-Identifier: Apache-2.0
// stress.mjs FILE... - runs each test file N times beside LOAD busy loops, and tells how often it failed and with what: make stress.
// Environment: N (10), LOAD (8), JOBS: how many runs at once (2).
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const { N = 10, LOAD = 8, JOBS = 2 } = process.env;
const REPORT = fileURLToPath(new URL('./report.mjs', import.meta.url));

function runOnce(file) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--test', `--test-reporter=${REPORT}`, file], { stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces = [];

    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece) => pieces.push(piece));
    child.on('error', reject);
    child.on('close', (code) => resolve({ file, code, output: Buffer.concat(pieces).toString() }));
  });
}

const files = process.argv.slice(2);
const runs = files.flatMap((file) => Array(Number(N)).fill(file));
const failures = new Map(files.map((file) => [file, 0]));
const loops = Array.from({ length: Number(LOAD) }, () => spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
const end = () => loops.forEach((loop) => loop.kill('SIGKILL'));

process.on('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => process.exit(1));

async function work() {
  for (let file = runs.shift(); file; file = runs.shift()) {
    const { code, output } = await runOnce(file);

    if (code === 0)
      continue;
    failures.set(file, failures.get(file) + 1);
    console.log(`# ${file} failed\n${output}`);
  }
}

await Promise.all(Array.from({ length: Number(JOBS) }, work));
for (const [file, failed] of failures)
  console.log(`${file}: ${failed} of ${N} runs failed beside ${LOAD} busy loops`);
process.exit([...failures.values()].some(Boolean) ? 1 : 0);
