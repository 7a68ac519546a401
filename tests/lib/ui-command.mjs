// SPDX-License-Identifier: Apache-2.0
// `acpd ui` as a process: the address that it prints, and its end.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { ACPD } from './daemon.mjs';
import { deadline, patience } from './rawws.mjs';

export const ADDRESS = /^(http:\/\/127\.0\.0\.1:(\d+)\/([0-9a-f]{32}))\/ui\/#token=\n$/;

// -> {page: what a person opens, base: what the page asks, port, secret, pid, stop()}; stop says how it ended.
export async function startUi(args, { env = {} } = {}) {
  const child = spawn(ACPD, ['ui', ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const out = { stdout: '', stderr: '' };
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, ...out })));

  child.stderr.on('data', (data) => { out.stderr += data; });
  await deadline(Promise.race([ended, new Promise((resolve) => child.stdout.on('data', (data) => {
    out.stdout += data;
    if (out.stdout.includes('\n'))
      resolve();
  }))]), patience(20000), 'acpd ui to say its address');
  const found = ADDRESS.exec(out.stdout);

  assert.ok(found, `acpd ui said ${JSON.stringify(out)}`);
  return {
    page: out.stdout.trim(), base: found[1], port: Number(found[2]), secret: found[3], pid: child.pid, out,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      return deadline(ended, patience(20000), 'acpd ui to end');
    },
    kill: () => child.kill('SIGKILL'),
  };
}
