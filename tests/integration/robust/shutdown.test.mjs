// SPDX-License-Identifier: Apache-2.0
// The end of a daemon with many sessions: harnesses are stopped all at once, at each step of the ladder. Not timed: each of them waits
// until all are told to end (the stub's "together"), which they never are where one is stopped after the other.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { Daemon } from '../../lib/daemon.mjs';
import { dropPlain, startPlain } from '../../lib/plain.mjs';
import { cgroupKind } from './rig.mjs';

const EACH = 8;
const KINDS = {
  eof: 'that end at the end of their input',
  term: 'that end at SIGTERM only',
  kill: 'that have to be killed',
};

async function told(t, start, cgroup) {
  const d = await start({ flags: { harnessMax: EACH * 3 } });
  t.after(async () => {
    await d.discard();
    dropPlain(d);
  });
  if (((await cgroupKind(d)) !== 'none') !== cgroup)
    return t.skip('this machine lets us make no cgroup');
  const c = await d.client();
  const dirs = Object.keys(KINDS).map((kind) => path.join(d.workDir, kind));

  for (const dir of dirs) {
    fs.mkdirSync(dir);
    fs.chmodSync(dir, 0o777);
  }
  for (const [i, kind] of Object.keys(KINDS).entries())
    await Promise.all(Array.from({ length: EACH }, async () => {
      const { sessionId } = await c.newSession();

      await c.prompt(sessionId, `together ${kind} ${EACH} ${dirs[i]}; echo ready`);
    }));
  const harnesses = d.harnesses();
  assert.equal(harnesses.length, EACH * 3);
  await d.stop({ keep: true, timeout: 60000 });
  await d.gone(harnesses, 0);
  for (const [i, kind] of Object.keys(KINDS).entries()) {
    const said = fs.readdirSync(dirs[i]);

    for (const what of ['told', 'all'])
      assert.equal(said.filter((name) => name.startsWith(`${what}-`)).length, EACH, `${what}: those ${KINDS[kind]}`);
  }
}

describe('SIGTERM: harnesses are stopped all at once, those that heed nothing too', { concurrency: true }, () => {
  test('in cgroups', (t) => told(t, Daemon.start, true));
  test('without cgroups', (t) => told(t, startPlain, false));
});
