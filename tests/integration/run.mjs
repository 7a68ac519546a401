// SPDX-License-Identifier: Apache-2.0
// Runs acpd as a command and says how it ended. What it prints with --json has to be as described in daemon/api.

import { spawn, spawnSync } from 'node:child_process';
import { ACPD } from '../lib/daemon.mjs';
import { checkCommand } from '../lib/described-commands.mjs';
import { deadline } from '../lib/rawws.mjs';

// input: text for stdin (undefined: none at all). stdin: what else to give it, e.g. a descriptor.
// env: added to ours, null removes; clean: nothing of ours but PATH. started(child): called at once.
// uid: as whom, with his group alone. described: false: what it prints is not ours, but of a file that a test made. -> {code, signal, stdout, stderr}
export async function acpd(args, { input, stdin, env = {}, clean = false, cwd, uid, timeout = 15000, started, described = true } = {}) {
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
  const ended = await deadline(done, timeout, `acpd ${args.join(' ')}`).finally(() => child.kill('SIGKILL'));

  if (!ended.signal && described)
    checkCommand(args, ended.stdout);
  return ended;
}

// The same while nothing else happens, by spawnSync and its options.
export function acpdSync(args, opts) {
  const ended = spawnSync(ACPD, args, { encoding: 'utf8', ...opts });

  if (!ended.signal && ended.stdout)
    checkCommand(args, ended.stdout);
  return ended;
}
