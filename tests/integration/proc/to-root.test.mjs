// SPDX-License-Identifier: Apache-2.0
// build: release
// The ways to root that an image leaves open: closed to what runs as --agent-user by no_new_privs, told by log, /ready and doctor, and
// closed altogether by images/close-logins.sh. With the machine's real su and sudo, in a mount namespace whose /etc is a copy: root
// only, and nothing of the machine changes.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { rootHasNamespaces } from '../../lib/namespaces.mjs';
import { ACPD, Daemon, STUB } from '../../lib/daemon.mjs';
import { closeLogins, insideEtc, openEtc } from '../../lib/open-etc.mjs';

const USER = 'nobody';
const user = Number(spawnSync('id', ['-u', USER], { encoding: 'utf8' }).stdout);
const skip = process.getuid() !== 0 && 'not root';

let dir; // with etc, a copy of /etc as E2B leaves one

// The answer of "id -u" at the end of each way, for a process of the agent's user.
const WAYS = 'for way in "su root -c" "su ghost -c" "sudo -n sh -c"; do $way "id -u" </dev/null 2>/dev/null || echo no; done';

describe('ways to root', { skip }, () => {
  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-to-root-'));
    fs.chmodSync(dir, 0o755);
    openEtc(dir, USER);
  });
  after(() => fs.rmSync(dir, { recursive: true, force: true }));

  test('are closed to what runs as the agent\'s user, and the log, /ready and doctor say that they are open', async (t) => {
    const agent = path.join(dir, 'agent');
    const seen = path.join(dir, 'seen');

    fs.writeFileSync(seen, '');
    fs.chownSync(seen, user, user);
    fs.writeFileSync(agent, `#!/bin/sh\n(${WAYS}; grep NoNewPrivs /proc/self/status) >${seen}\nexec ${STUB} "$@"\n`, { mode: 0o755 });
    const d = await Daemon.start({ program: insideEtc(dir, 'acpd', ACPD), flags: { agentUser: USER },
      harnesses: [{ id: 'tries', command: agent }] });

    t.after(() => d.discard());
    const c = await d.client();

    await c.newSession({ _meta: { acpd: { harness: 'tries' } } });
    assert.equal(fs.readFileSync(seen, 'utf8'), 'no\nno\nno\nNoNewPrivs:\t1\n');

    const { isolation } = await (await fetch(`http://127.0.0.1:${d.port}/ready`, { headers: { Authorization: `Bearer ${d.token}` } })).json();
    const kinds = ['EMPTY_PASSWORD', 'EMPTY_PASSWORD', 'SUDO_NOPASSWD', 'SSHD_EMPTY_PASSWORDS'];

    assert.equal(isolation.level.requested, 'guarded');
    delete isolation.level;
    delete isolation.levels;
    assert.deepEqual({ ...isolation, waysToRoot: isolation.waysToRoot.map((way) => way.kind) },
      { agentUser: USER, noNewPrivileges: true, daemonUser: false, sharedUser: true, networkNamespaces: rootHasNamespaces, waysToRoot: kinds });
    await d.waitLog((l) => l.msg === 'a way to root is open' && l.kind === kinds.at(-1));
    const warned = d.stderr.split('\n').filter((line) => line.includes('a way to root is open')).map((line) => JSON.parse(line));
    assert.deepEqual(warned.map((line) => line.kind), kinds);
    const doctor = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' });
    assert.equal(doctor.status, 17);
    assert.equal(doctor.stdout.match(/^FAIL way to root /gm)?.length, 4, doctor.stdout);
    assert.match(doctor.stdout, /^-- +sessions +share one user/m);
    await d.stop();
  });

  test('are closed for every process once close-logins.sh has run; it changes nothing more when run again', () => {
    const as = (command) => spawnSync(insideEtc(dir, 'run', 'setpriv --reuid 65534 --clear-groups sh -c'), [command], { encoding: 'utf8' });
    const mend = () => closeLogins(dir);

    assert.equal(as(WAYS).stdout, '0\n4242\n0\n', 'the ways are there before');
    const first = mend();
    assert.equal(first.status, 0, first.stderr);
    assert.equal(as(WAYS).stdout, 'no\nno\n0\n', 'sudo is the image\'s own decision');
    assert.match(fs.readFileSync(path.join(dir, 'etc/ssh/sshd_config'), 'utf8'), /^PermitEmptyPasswords no\nPermitRootLogin yes\n/);
    const shadow = fs.readFileSync(path.join(dir, 'etc/shadow'), 'utf8');
    assert.doesNotMatch(shadow, /^[^:]+::/m);
    assert.deepEqual({ ...mend(), pid: 0, output: 0 }, { ...first, pid: 0, output: 0, stdout: '' });
    assert.equal(fs.readFileSync(path.join(dir, 'etc/shadow'), 'utf8'), shadow);
  });
});
