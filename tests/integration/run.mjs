// SPDX-License-Identifier: Apache-2.0
// Runs acpd as a command and says how it ended.

import { spawn } from 'node:child_process';
import { ACPD } from '../lib/daemon.mjs';
import { deadline } from '../lib/rawws.mjs';

// input: text for stdin (undefined: none at all). stdin: what else to give it, e.g. a descriptor.
// env: added to ours, null removes; clean: nothing of ours but PATH. started(child): called at once.
// uid: as whom, with his group alone. -> {code, signal, stdout, stderr}
export async function acpd(args, { input, stdin, env = {}, clean = false, cwd, uid, timeout = 15000, started } = {}) {
  const all = { ...(clean ? { PATH: process.env.PATH } : process.env), ...env };

  for (const [name, value] of Object.entries(all)) {
    if (value === null)
      delete all[name];
  }
  const first = stdin ?? (input === undefined ? 'ignore' : 'pipe');
  const child = spawn(ACPD, args, { env: all, cwd, uid, gid: uid, stdio: [first, 'pipe', 'pipe'] });
  const out = { stdout: '', stderr: '' };

  child.stdout.on('data', (data) => { out.stdout += data; });
  child.stderr.on('data', (data) => { out.stderr += data; });
  if (input !== undefined) {
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  }
  const done = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, ...out }));
  });
  started?.(child, out);
  return deadline(done, timeout, `acpd ${args.join(' ')}`).finally(() => child.kill('SIGKILL'));
}
