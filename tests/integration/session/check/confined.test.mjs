// SPDX-License-Identifier: Apache-2.0
// A check is confined as its session is: its user, level, network and namespaces; and the session's policy does not bind it. As root.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { endInOrder } from '../../../lib/daemon.mjs';
import { othersHaveNamespaces, pidNamespaces } from '../../../lib/namespaces.mjs';
import { dropPlain, startPlain } from '../../../lib/plain.mjs';
import * as procs from '../../../lib/procs.mjs';
import { startWithUids, uidOf } from '../../../lib/users.mjs';
import { isRoot, upload } from '../../../lib/workspace.mjs';

const able = isRoot && othersHaveNamespaces && pidNamespaces;

test('a daemon without privileges, where no cgroup can be had: nothing is left', async (t) => {
  const d = await startPlain();

  t.after(async () => {
    await endInOrder(d);
    dropPlain(d);
  });
  const c = await d.client();
  const { sessionId } = await c.newSession({ cwd: '/' });
  const one = async (command, more) => (await c.call('_acpd/check', { sessionId, checks: [{ id: 'it', kind: 'command', command, ...more }] })).results[0];
  const running = () => procs.list().filter((p) => procs.alive(p) && procs.cmdline(p.pid).includes('sleep\x001724'));
  const leaving = '(setsid env -i /bin/sleep 1724 >/dev/null 2>&1 &); (setsid /bin/sleep 1724 &)';

  assert.equal((await one(`${leaving}; sleep 0.1`)).leftBehind, 2);
  assert.deepEqual(running(), []);
  assert.equal((await one(`${leaving}; trap "" TERM; sleep 1724; sleep 1724`, { timeoutMs: 300 })).error.reason, 'CHECK_TIMED_OUT');
  assert.deepEqual(running(), []);
  assert.equal((await one(`setsid sh -c '/bin/sleep 1724 & /bin/sleep 1724' & kill -9 $(ps -o ppid= -p $PPID); sleep 5`)).error.reason, 'CHECK_LOST');
  assert.deepEqual(running(), []);
});

describe('confined', { skip: !able && 'needs root and namespaces' }, () => {
  let d, c;

  before(async () => {
    d = await startWithUids({ workspaces: true });
    c = await d.client();
  });
  after(() => endInOrder(d, c));

  for (const level of ['open', 'guarded', 'strict'])
    test(`at level ${level}`, async () => {
      const s = await c.newSession({ meta: { level, network: { mode: 'off' }, policy: { commands: [{ prefix: [], policy: 'deny' }], categories: { execute: 'deny' } },
        workspace: { ephemeral: true, archive: await upload(d, { 'a/b': 'text' }) } } });
      const sh = async (command, more) => {
        const r = (await c.call('_acpd/check', { sessionId: s.sessionId, checks: [{ id: 'it', kind: 'command', command, ...more }] })).results[0];

        assert.equal(r.ok, true, `${command}: ${JSON.stringify(r)}`);
        return r.stdoutTail.trim();
      };
      const asAgent = async (command) => {
        const from = c.updates.length;

        await c.prompt(s.sessionId, `run ${command.replaceAll(';', '\\;')}`);
        return /^run:0:([^]*)$/.exec(c.chunks(s.sessionId, from).join(''))[1].trim();
      };

      assert.equal(await sh('id -u; touch made; stat -c %u made'), `${uidOf(s)}\n${uidOf(s)}`);
      for (const what of ['grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status', 'readlink /proc/self/ns/net /proc/self/ns/mnt /proc/self/ns/ipc', 'ls /proc/sys/net/ipv4/conf', 'pwd; ls'])
        assert.equal(await sh(what), await asAgent(what), what);
      assert.equal(await sh(`test -r ${d.dir}/token && cat ${d.dir}/token || echo no`), 'no');
      assert.equal((await c.call('_acpd/check', { sessionId: s.sessionId, checks: [{ id: 't', kind: 'tests', command: 'echo "ok 1 - a"; echo 1..1', format: 'tap' }] })).verdict, 'verified');
      assert.deepEqual((await c.call('_acpd/check', { sessionId: s.sessionId, checks: [{ id: 'c', kind: 'command', command: 'echo x > a/b' }, { id: 'p', kind: 'paths', allow: ['a/*'], since: 'baseline' }] }))
        .results.map((r) => r.changed ?? r.offending), [{ paths: ['a/b'], total: 1 }, ['made']]);
      await c.call('session/delete', { sessionId: s.sessionId });
      assert.ok(!fs.existsSync(`${d.dir}/state/homes/${s.sessionId}`));
    });
});
