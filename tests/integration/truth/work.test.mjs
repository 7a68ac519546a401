// SPDX-License-Identifier: Apache-2.0
// What the daemon does where no answer tells of it: a delivery that is cancelled, a recovery at the limits of a session, what a copy forgets.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { ACPD, Daemon, endInOrder } from '../../lib/daemon.mjs';
import { apply, diff, run, turn } from '../../lib/drafts.mjs';
import * as procs from '../../lib/procs.mjs';
import { assertNoViolations } from '../../lib/rawws.mjs';
import { wholeLines } from '../../lib/vanishing.mjs';
import { until } from '../../lib/wait.mjs';
import { newCwd, stagesBelow, treeOf, upload } from '../../lib/workspace.mjs';
import { Receiver, turns, writeHooks } from '../outbox/rig.mjs';
import { claimed, resumed, sandboxed } from '../robust/away.mjs';
import { acpd } from '../run.mjs';

after(assertNoViolations);

const UNPACK = path.join(path.dirname(ACPD), 'acpd-unpack');

// A helper in the place of acpd-unpack that does this first; $1 is its job.
function helper(t, lines) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-work-'));

  t.after(() => fs.rmSync(dir, { recursive: true }));
  fs.chmodSync(dir, 0o755);
  fs.writeFileSync(path.join(dir, 'acpd-unpack'), `#!/bin/sh\n${lines(dir)}\nexec '${UNPACK}' "$@"\n`, { mode: 0o755 });
  return { dir, env: { ACPD_UNPACK: path.join(dir, 'acpd-unpack') } };
}

test('a delivery that is cancelled while it is written changes nothing', async (t) => {
  const { dir, env } = helper(t, (at) => `if [ "$1" = extract ] && [ -e ${at}/held ]; then echo $$ >> ${at}/jobs; while [ -e ${at}/held ]; do sleep 0.05; done; fi`);
  const d = await Daemon.startFor(t, { env }), c = await d.client(), cwd = newCwd(d);
  const [old, fresh] = [await upload(d, { 'a.txt': 'old' }), await upload(d, { 'a.txt': 'new', 'b.txt': 'new' })];
  const { sessionId } = await c.newSession({ cwd, meta: { workspace: { archive: old } } });
  const before = treeOf(cwd), deliver = () => c.request('_acpd/workspace/materialize', { sessionId, workspace: { archive: fresh } });

  fs.writeFileSync(path.join(dir, 'held'), '');
  const { id, answer } = deliver();
  const jobs = await until(() => wholeLines(path.join(dir, 'jobs')).length && wholeLines(path.join(dir, 'jobs')), 'the helper runs');
  c.notify('$/cancel_request', { requestId: id });
  const { error } = await answer;
  assert.deepEqual([error.code, error.data.reason], [-32800, 'CANCELLED']);
  await until(() => !jobs.some((pid) => procs.cmdline(pid).includes('acpd-unpack')), 'the helper is gone');
  assert.deepEqual([treeOf(cwd), stagesBelow(d.dir)], [before, []]);
  fs.rmSync(path.join(dir, 'held'));
  const { result } = await deliver().answer;
  assert.deepEqual([result.workspace.written, fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8')], [2, 'new']);
  await endInOrder(d, c);
});

test('a recovery is outside of the limits of its session', { skip: process.getuid() !== 0 && 'the groups of the kernel are root\'s' }, async (t) => {
  const { dir, env } = helper(t, (at) => `printf '%s %s\\n' "$1" "$(tr '\\n' ' ' < /proc/self/cgroup)" >> ${at}/groups
if [ "$1" = draft-apply ] && [ ! -e ${at}/died ]; then touch ${at}/died; '${UNPACK}' "$@"; kill -9 $$; fi`);
  const d = await Daemon.startFor(t, { env }), c = await d.client(), cwd = newCwd(d);
  const { sessionId } = await c.newSession({ cwd });
  const groupOf = (job) => wholeLines(path.join(dir, 'groups')).find((line) => line.startsWith(`${job} `));

  await turn(c, sessionId, true);
  await run(c, sessionId, 'printf x > new.txt');
  const { patchDigest } = await diff(c, sessionId);
  await apply(c, sessionId, patchDigest).catch(() => {});
  await until(() => groupOf('recover'), 'it recovers');
  assert.deepEqual([groupOf('draft-apply').includes(`${sessionId}.all`), groupOf('recover').includes(`${sessionId}.all`)], [true, false]);
  await endInOrder(d, c);
});

test('a copy of the sandbox has forgotten the receivers of the claim, also after a restart in place', async (t) => {
  const r = await Receiver.start(t);
  const d = await sandboxed(t, 'i-parent', { token: null, flags: { upstreamAllow: r.host } });
  const file = path.join(d.dir, 'hooks.json'), receivers = async () => (await d.http('/v1/info', { token: d.token })).json.webhooks;

  writeHooks(file, [r.config()]);
  d.token = `token-of-the-first-${process.pid}`;
  assert.equal((await acpd(['claim', '--run-dir', d.runDir, '--webhook', file], { input: d.token })).code, 0);
  assert.equal((await acpd(['restart', '--run-dir', d.runDir], { timeout: 120000 })).code, 0);
  assert.equal((await receivers()).length, 1, 'a restart in place keeps them');
  d.become('i-child');
  await resumed(d);
  assert.equal((await acpd(['restart', '--run-dir', d.runDir], { timeout: 120000 })).code, 0);
  d.token = await claimed(d);
  assert.deepEqual(await receivers(), []);
  const c = await d.client();
  await turns(c, (await c.newSession()).sessionId, 1);
  await endInOrder(d, c);
  assert.deepEqual(r.requests, []);
});
