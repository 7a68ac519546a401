// SPDX-License-Identifier: Apache-2.0
// What E2B makes of an image, where it matters: packages before the first step, and accounts once the machine has booted.

// Of Debian, with the two that run jobs for users and the one that asks whether a user may: ways to root that must stay shut as well.
export const PACKAGES = ['systemd', 'systemd-sysv', 'dbus', 'openssh-server', 'openssh-client', 'sudo', 'iproute2', 'curl', 'procps', 'passwd',
  'cron', 'at', 'polkitd', 'pkexec'];

// Its configure script: a user with sudo, no passwords, sshd that takes none, everything below /usr/local for everyone.
export const CONFIGURE = `set -e
getent passwd user >/dev/null || useradd --create-home --shell /bin/bash user
echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/user
printf '%s\\n' 'PermitRootLogin yes' 'PermitEmptyPasswords yes' >/etc/ssh/sshd_config
passwd -qd user
passwd -qd root
chmod -R 777 /usr/local
mkdir -p -m 777 /code
`;
