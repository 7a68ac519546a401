// SPDX-License-Identifier: Apache-2.0
// build: release
// CopilotKit's runtime with acpd as a remote agent: what a page of it would ask, and every event that comes back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, test } from 'node:test';
import { Daemon, ROOT } from '../../lib/daemon.mjs';
import { end, events, input, said, user } from '../../lib/agui.mjs';
import { until } from '../../lib/wait.mjs';
import { turnsOf } from '../ledger.mjs';

let d, runtime, port;

before(async () => {
  d = await Daemon.start();
  runtime = spawn(process.execPath, [path.join(ROOT, 'tests/copilotkit/runtime.mjs'), `http://127.0.0.1:${d.port}/v1/agui/stub`, d.token],
    { env: { ...process.env, COPILOTKIT_TELEMETRY_DISABLED: 'true', DO_NOT_TRACK: '1' }, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of readline.createInterface({ input: runtime.stdout }))
    if ((port = /^port (\d+)$/.exec(line)?.[1]))
      break;
  assert.ok(port, 'the runtime has started');
});
after(async () => {
  runtime.kill();
  await d.stop();
});

const ask = (method, params, body) => fetch(`http://127.0.0.1:${port}/api/copilotkit`, { method: 'POST',
  headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ method, params: { agentId: 'sandbox', ...params }, body }) });

async function run(body, seen = []) {
  for await (const e of events(await ask('agent/run', {}, body)))
    seen.push(e);
  return seen;
}

test('a page has its answers, its history, and its questions as interrupts', async () => {
  const first = user('think hm; echo Hello; tool c1 read a.txt; echo bye'), second = user('perm c2'), third = user('RECALL');
  const of = (messages, more = {}) => input('page', messages, { protocolVersion: undefined, ...more });

  assert.equal(said(await run(of([first]))), 'Hellobye');
  const asked = end(await run(of([first, second])));
  assert.equal(asked.outcome.type, 'interrupt');
  const answered = await run(of([first, second], { resume: [{ interruptId: asked.outcome.interrupts[0].id, status: 'resolved', payload: { optionId: 'reject' } }] }));
  assert.match(said(answered), /permission:reject/);
  assert.deepEqual(JSON.parse(said(await run(of([first, second, third])))), [first.content, second.content]);
  assert.equal(end(await run(of([third]))).code, 'HISTORY_CHANGED');
});

test('Stop stops the turn, and the next message is taken', async () => {
  const first = user('echo begun; sleep 600000'), second = user('echo next'), seen = [];
  const of = (messages) => input('stopped', messages, { protocolVersion: undefined });
  const running = run(of([first]), seen);

  await until(() => said(seen) === 'begun');
  assert.equal((await (await ask('agent/stop', { threadId: 'stopped' }, {})).json()).stopped, true);
  await running;
  const next = await run(of([first, second]));

  assert.equal(said(next), 'next', JSON.stringify(end(next)));
  const { sessionId } = next.find((e) => e.type === 'STATE_SNAPSHOT').snapshot.acpd;

  assert.deepEqual(turnsOf(d, sessionId).map((turn) => turn.stopReason), ['cancelled', 'end_turn']);
});
