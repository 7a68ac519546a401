// SPDX-License-Identifier: Apache-2.0
// The ways to root that an image leaves open (E2B's does): empty passwords and sudo without one. With the machine's real su and sudo,
// in a mount namespace whose /etc is a copy: root only, and nothing of the machine changes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';

// dir/etc, in which root and "ghost" have no password, and user has sudo.
export function openEtc(dir, user) {
  assert.equal(spawnSync('cp', ['-a', '/etc', path.join(dir, 'etc')]).status, 0);
  const etc = (name) => path.join(dir, 'etc', name);
  const accounts = fs.readFileSync(etc('shadow'), 'utf8').split('\n').filter((line) => line && !/^root:/.test(line));

  fs.writeFileSync(etc('shadow'), `${['root::1:0:99999:7:::', ...accounts, 'ghost::1:0:99999:7:::'].join('\n')}\n`);
  fs.appendFileSync(etc('passwd'), 'ghost:x:4242:4242::/:/bin/sh\n');
  fs.appendFileSync(etc('group'), 'ghost:x:4242:\n');
  fs.mkdirSync(etc('sudoers.d'), { recursive: true });
  fs.writeFileSync(etc('sudoers.d/agent'), `${user} ALL=(ALL) NOPASSWD: ALL\n`, { mode: 0o440 });
  fs.mkdirSync(etc('ssh'), { recursive: true });
  fs.writeFileSync(etc('ssh/sshd_config'), 'PermitRootLogin yes\nPermitEmptyPasswords yes\n');
}

// A program that starts another one where /etc is the copy.
export function insideEtc(dir, name, command) {
  const file = path.join(dir, name);
  const within = `mount --bind ${dir}/etc /etc && shift && exec ${command}`;

  fs.writeFileSync(file, `#!/bin/sh\nexec unshare --mount sh -c '${within} "$@"' sh sh "$@"\n`, { mode: 0o755 });
  return file;
}
