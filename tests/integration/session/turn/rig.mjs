// SPDX-License-Identifier: Apache-2.0
// What the tests of turns with checks share: a session in a directory of its own, checks that fail until the stub mends what is
// broken, and what was told of the turns.

import fs from 'node:fs';
import { until } from '../../../lib/wait.mjs';
import { turnsOf } from '../../ledger.mjs';

// The stub runs the lines of a prompt, those that a check has written among them. `\n` keeps the shell's words on one.
export const mends = { id: 'good', kind: 'command', command: 'test -f good || { echo "write good ok" >&2; exit 1; }' };
export const holds = { id: 'holds', kind: 'command', argv: ['true'] };
export const fails = { id: 'fails', kind: 'command', command: 'echo out; echo err >&2; exit 3' };
// Goes on until somebody makes the file `go`, and then has that file's exit code.
export const waits = { id: 'waits', kind: 'command', command: 'touch here; while ! test -s go; do sleep 0.02; done; exit $(cat go)' };

export async function opened(d, c, meta) {
  const cwd = fs.mkdtempSync(`${d.dir}/cwd-`);

  fs.chmodSync(cwd, 0o777);
  const { sessionId } = await c.newSession({ cwd, meta });
  const go = (code) => { fs.writeFileSync(`${cwd}/new`, String(code)); fs.renameSync(`${cwd}/new`, `${cwd}/go`); };

  return { sessionId, cwd, go, checking: () => until(() => fs.existsSync(`${cwd}/here`), 'a check runs') };
}

export const endsOf = (c, sessionId) => c.notifications.filter((n) => n.method === '_acpd/turn_end' && n.params.sessionId === sessionId).map((n) => n.params);
export const attemptsOf = (list) => list.map((x) => (x._meta?.acpd ?? x).attempt);
export const verdictsOf = (list) => list.map((x) => (x._meta?.acpd ?? x).checks?.verdict);
export const stateOf = async (c, sessionId) => (await c.call('_acpd/status', { sessionId })).sessions[0].state;
export const wrote = (d, sessionId) => turnsOf(d, sessionId).map(({ turn, key, stopReason, error, checks, attempt }) =>
  ({ turn, key, how: stopReason ?? error.class, verdict: checks?.verdict, attempt }));
