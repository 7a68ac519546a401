// SPDX-License-Identifier: Apache-2.0
// A daemon with --agent-uids, and what tests ask of a session that has one. Files run at the same time, and what a uid owns is removed
// with its last session: so each daemon has a range of its own.

import assert from 'node:assert/strict';
import { runCommand } from './agent-shell.mjs';
import { Daemon } from './daemon.mjs';
import { until } from './wait.mjs';

export const AGENT = 'nobody';
const SPAN = 16;
let daemons = 0;

// The first uid of a range that no other test has at the time.
export const newRange = () => 1_000_000 + (process.pid * 8 + daemons++ % 8) * SPAN;

export async function startWithUids(opts = {}, count = SPAN) {
  const first = newRange();
  const d = await Daemon.start({ ...opts, flags: { agentUser: AGENT, agentUids: `${first}-${first + count - 1}`, ...opts.flags } });

  return Object.assign(d, { first, last: first + count - 1 });
}

export const userOf = (s) => s._meta.acpd.user;
export const uidOf = (s) => Number(userOf(s).name.match(/^agent-(\d+)$/)?.[1]);
export const ready = async (d) => (await d.http('/ready', { token: d.token })).json;
export const freeUids = async (d) => (await ready(d)).isolation.agentUids.free;
export const freed = (d, count) => until(async () => await freeUids(d) === count, `${count} uids are free`);

// What a command of the session's shell tool says; it works.
export async function tell(c, sessionId, command) {
  const { code, text } = await runCommand(c, sessionId, command);

  assert.equal(code, 0, `${command}: ${text}`);
  return text;
}

// The error of a request that has to fail.
export const refused = (request) => request.then((r) => assert.fail(`not refused: ${JSON.stringify(r)}`), (e) => e);
