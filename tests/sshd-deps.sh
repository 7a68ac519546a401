#!/bin/sh
# sshd-deps.sh - brings build/openssh-server: the sshd of this Debian, which tests try as a way to root (lib/open-etc.mjs).
# The package is unpacked, not installed: nothing starts it, now or at boot, and the machine gets no user, host keys or settings of it.
# Without it, as offline, those tests are skipped.
set -eu
cd "$(dirname "$0")/.."
to=build/openssh-server
[ ! -x $to/usr/sbin/sshd ] || exit 0

mkdir -p build
new=$(mktemp -d build/openssh-server.XXXXXX)
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
if ! (cd "$new" && apt-get -qq -o APT::Sandbox::User= download openssh-server >log 2>&1); then
	tail -n 5 "$new/log" >&2
	echo "sshd-deps.sh: no openssh-server; tests with it are skipped" >&2
	exit 0
fi
dpkg-deb -x "$new"/*.deb "$new"
rm -rf "$new"/*.deb "$new/log" $to
mv "$new" $to
