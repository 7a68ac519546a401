// SPDX-License-Identifier: Apache-2.0
// GET /ready while no session could be served: each reason by the real state that it names, and gone when that is over.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { onSmallDisk } from '../../lib/disk.mjs';
import { until } from '../../lib/wait.mjs';

const mount = (...args) => spawnSync('mount', args).status === 0;

async function ready(d) {
  const { status, json } = await d.http('/ready', { token: d.token });

  return { status, ready: json.ready, reasons: json.notReady.map((p) => p.reason), messages: json.notReady.map((p) => p.message) };
}

function refused({ messages, ...answer }, reason) {
  assert.deepEqual(answer, { status: 503, ready: false, reasons: [reason] });
  assert.ok(messages.every((text) => text.length > 10), messages.join());
}

const serves = async (d) => assert.deepEqual(await ready(d), { status: 200, ready: true, reasons: [], messages: [] });

test('NO_SPACE: the disk of the state directory is full', async (t) => {
  const { d, fill, empty } = await onSmallDisk(t, '2m');

  if (!d)
    return;

  await serves(d);
  fill();
  refused(await ready(d), 'NO_SPACE');
  empty();
  await serves(d);
});

test('STATE_NOT_WRITABLE: the state directory has become read-only', async (t) => {
  const { d } = await onSmallDisk(t, '2m');

  if (!d)
    return;
  const state = d.stateDir;

  await serves(d);
  assert.ok(mount('--bind', state, state) && mount('-o', 'remount,bind,ro', state));
  refused(await ready(d), 'STATE_NOT_WRITABLE');
  spawnSync('umount', ['-l', state]);
  await serves(d);
});

test('SHUTTING_DOWN: the daemon was told to end, and a session takes its time', async (t) => {
  const d = await Daemon.startFor(t);
  const c = await d.client({ record: false });
  const { sessionId } = await c.newSession();

  await c.prompt(sessionId, 'ignoreterm; echo x');
  await serves(d);
  process.kill(d.child.pid, 'SIGTERM');
  const answer = await until(async () => {
    const now = await ready(d);

    return now.status === 503 && now;
  }, '/ready says that it cannot serve');
  refused(answer, 'SHUTTING_DOWN');
  await d.exited;
});
