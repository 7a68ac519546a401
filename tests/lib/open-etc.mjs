// SPDX-License-Identifier: Apache-2.0
// The ways to root that an image leaves open (E2B's does): empty passwords and sudo without one. With the machine's real su and sudo,
// in a mount namespace whose /etc is a copy: root only, and nothing of the machine changes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { spawn, spawnSync } from 'node:child_process';
import { ROOT } from './daemon.mjs';
import { ownPort } from './ports.mjs';
import { until } from './wait.mjs';

const SSHD = path.join(ROOT, 'build/openssh-server'); // what Debian's package brings (sshd-deps.sh)

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

// A program that starts another one where /etc is the copy. more: shell commands before that.
export function insideEtc(dir, name, command, more = 'true') {
  const file = path.join(dir, name);
  const within = `mount --bind ${dir}/etc /etc && ${more} && shift && exec ${command}`;

  fs.writeFileSync(file, `#!/bin/sh\nexec unshare --mount sh -c '${within} "$@"' sh sh "$@"\n`, { mode: 0o755 });
  return file;
}

// images/close-logins.sh where /etc is the copy.
export const closeLogins = (dir) => spawnSync(insideEtc(dir, 'mend', `sh ${ROOT}images/close-logins.sh`), { encoding: 'utf8' });

export const hasSshd = fs.existsSync(path.join(SSHD, 'usr/sbin/sshd'));

// Debian's sshd, as root, where /etc is the copy, on a port of the loopback: {port, said(): its log, stop()}.
export async function startSshd(dir) {
  const etc = path.join(dir, 'etc');
  const key = path.join(dir, 'hostkey');
  const port = await ownPort();
  const args = `-D -e -h ${key} -p ${port} -o ListenAddress=127.0.0.1 -o PidFile=none -o UsePAM=yes`;
  let log = '';

  fs.copyFileSync(path.join(SSHD, 'etc/pam.d/sshd'), path.join(etc, 'pam.d/sshd'));
  if (!/^sshd:/m.test(fs.readFileSync(path.join(etc, 'passwd'), 'utf8')))
    fs.appendFileSync(path.join(etc, 'passwd'), 'sshd:x:4243:65534::/run/sshd:/usr/sbin/nologin\n');
  assert.equal(spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]).status, 0);
  const run = insideEtc(dir, 'sshd', `sh -c "mount -t tmpfs run /run && mkdir -m 0755 /run/sshd && exec ${SSHD}/usr/sbin/sshd ${args}"`);
  const child = spawn(run, { stdio: ['ignore', 'ignore', 'pipe'] });

  child.stderr.on('data', (data) => { log += data; });
  await until(() => log.includes('Server listening') || child.exitCode !== null, 'sshd listens');
  assert.equal(child.exitCode, null, log);
  return { port, said: () => log, stop: () => child.kill() };
}
