// SPDX-License-Identifier: Apache-2.0
// The users of --agent-uids: images/agent-users.sh makes them, doctor looks for them, and git, ssh and a login shell work as one. In a
// mount namespace whose /etc is a copy: root only, and nothing of the machine changes.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runCommand } from '../../../lib/agent-shell.mjs';
import { ACPD, endInOrder, ROOT } from '../../../lib/daemon.mjs';
import { rootHasNamespaces } from '../../../lib/namespaces.mjs';
import { AGENT, newRange, startWithUids, tell, uidOf } from '../../../lib/users.mjs';

const skip = !rootHasNamespaces && 'not root, or no mount namespaces';
const first = newRange(), last = first + 3;
let dir, program;

const inEtc = (command) => spawnSync('unshare', ['--mount', 'sh', '-c', `mount --bind ${dir}/etc /etc && ${command}`], { encoding: 'utf8' });
const etc = (name) => fs.readFileSync(path.join(dir, 'etc', name), 'utf8');

describe('the users of uids', { skip }, () => {
  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-users-'));
    fs.chmodSync(dir, 0o755);
    assert.equal(spawnSync('cp', ['-a', '/etc', path.join(dir, 'etc')]).status, 0);
    program = path.join(dir, 'acpd');
    fs.writeFileSync(program, `#!/bin/sh\nexec unshare --mount sh -c 'mount --bind ${dir}/etc /etc && exec ${ACPD} "$@"' sh "$@"\n`, { mode: 0o755 });
  });
  after(() => fs.rmSync(dir, { recursive: true, force: true }));

  test('are made once, without a password or a home, and are nobody else\'s', () => {
    const make = () => inEtc(`sh ${ROOT}images/agent-users.sh ${first} ${last}`);
    const one = make();

    assert.equal(one.status, 0, one.stderr);
    const made = etc('passwd').split('\n').filter((l) => l.startsWith('agent-'));
    assert.deepEqual(made, [0, 1, 2, 3].map((i) => `agent-${first + i}:x:${first + i}:${first + i}:session of acpd:/nonexistent:/bin/sh`));
    for (let uid = first; uid <= last; uid++) {
      assert.match(etc('group'), new RegExp(`^agent-${uid}:x:${uid}:$`, 'm'));
      assert.match(etc('shadow'), new RegExp(`^agent-${uid}:[!*]`, 'm'));
    }
    if (fs.existsSync(path.join(dir, 'etc/subuid')))
      assert.doesNotMatch(etc('subuid'), /^agent-/m, 'subordinate ids');
    const before = ['passwd', 'group', 'shadow'].map(etc);
    assert.equal(make().status, 0);
    assert.deepEqual(['passwd', 'group', 'shadow'].map(etc), before);
    assert.notEqual(inEtc(`sh ${ROOT}images/agent-users.sh 65533 65534`).status, 0, 'nobody is nobody\'s');
    assert.notEqual(inEtc(`sh ${ROOT}images/agent-users.sh 9 10`).status, 0);
  });

  test('are what doctor looks for; git, ssh and a login shell work as one', async (t) => {
    const d = await startWithUids({ program, flags: { agentUids: `${first}-${last}` } });
    t.after(() => d.discard());
    const c = await d.client();
    const s = await c.newSession({ meta: { workspace: { ephemeral: true } } });
    const name = `agent-${uidOf(s)}`, doctor = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' });

    assert.match(doctor.stdout, /^ok +sessions +have uids of their own, \d+ to \d+: 3 are free$/m);
    assert.doesNotMatch(doctor.stdout, /agent uids/);
    assert.equal(await tell(c, s.sessionId, 'id -un; id -gn; id -Gn; whoami'), [name, name, name, name].join('\n'));
    await tell(c, s.sessionId, 'git init -q . && git config user.email a@example.org && git config user.name A && echo x >f && git add f && git commit -qm first && git log --oneline');
    assert.match(await tell(c, s.sessionId, 'git config user.email || true; git var GIT_AUTHOR_IDENT'), /a@example.org/);
    if (spawnSync('ssh', ['-V']).status === 0) {
      await tell(c, s.sessionId, 'ssh-keygen -q -t ed25519 -N "" -f $HOME/key && ssh-keygen -l -f $HOME/key.pub');
      assert.match(await tell(c, s.sessionId, 'ssh -G example.org'), new RegExp(`^user ${name}$`, 'm'));
    }
    assert.equal((await runCommand(c, s.sessionId, '$(getent passwd $(id -u) | cut -d: -f7) -lc "exit 7"')).code, 7);
    await endInOrder(d, c);
  });

  test('that are somebody else\'s keep the daemon from starting, and doctor finds those that became so later', async (t) => {
    const d = await startWithUids({ program, flags: { agentUids: `${first}-${last}` } });
    t.after(() => d.discard());
    const check = () => spawnSync(program, ['serve', '--check', '--agent-user', AGENT, '--agent-uids', `${first}-${last}`], { encoding: 'utf8' });

    fs.appendFileSync(path.join(dir, 'etc/passwd'), `guest:x:${first}:100::/:/bin/sh\n`);
    const doctor = spawnSync(ACPD, ['doctor', '--run-dir', d.runDir], { encoding: 'utf8' });
    assert.equal(doctor.status, 16);
    assert.match(doctor.stdout, new RegExp(`^FAIL agent uids +.*${first} is the user 'guest'`, 'm'));
    const refused = check();
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /guest/);
    await d.stop();
  });
});
