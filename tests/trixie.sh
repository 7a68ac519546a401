#!/bin/sh
# trixie.sh [COMMAND...] - make test-trixie: the checks in a Debian 13 root, made by mmdebstrap below build/. Needs root.
#
# The root has all that tests need, this tree as it stands (a copy, so that objects do not mix), and the pinned packages of npm, which are
# bound into it read-only. It runs in namespaces of its own: mounts, processes, and a network that has loopback alone. /dev is made anew and
# /proc/sys is read-only there, so that nothing reaches the machine's; /tmp is in memory, as Debian 13 has it.
# COMMAND: what to run in the tree instead of make check. ACPD_TEST_SLOW: a time factor, as elsewhere.
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/trixie
src=$root/usr/src/acpd

if [ "$(id -u)" != 0 ]; then
	echo "trixie.sh: needs root: it makes a root file system and mounts" >&2
	exit 1
fi
if ! command -v mmdebstrap >/dev/null; then
	echo "trixie.sh: mmdebstrap is missing: apt-get install mmdebstrap" >&2
	exit 1
fi
sh tests/node-deps.sh
make -s ui # brings images/ui/node_modules
npm_projects="tests tests/otel tests/copilotkit images/ui"

packages=$(sh tests/install-deps.sh --debian 13 --list build runtime test | tr ' ' ',')
packages="ca-certificates,procps,iproute2,passwd,e2fsprogs,nodejs,npm,$packages" # tests run what users have: npm, and any node
if [ "$(cat "$root/.made-of" 2>/dev/null)" != "$packages" ]; then
	echo "making a Debian 13 root in build/trixie"
	rm -rf "$root" build/trixie.tar
	mkdir -p build
	mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" trixie build/trixie.tar
	mkdir -p "$root"
	tar -C "$root" -xf build/trixie.tar --exclude='./dev/*'
	rm build/trixie.tar
	echo "$packages" >"$root/.made-of"
fi

# What git knows and what is new, without what is ignored; files that are gone here go there.
mkdir -p "$src"
find "$src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -co --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
	tar -cf - -T - | tar -C "$src" -xf -
for project in $npm_projects; do mkdir -p "$src/$project/node_modules"; done

export ACPD_TRIXIE="$root" ACPD_TOP="$PWD" ACPD_NPM="$npm_projects" ACPD_JOBS="$(nproc)"
# shellcheck disable=SC2016 # expanded inside
exec unshare --mount --pid --net --uts --ipc --fork --kill-child sh -euc '
	r=$ACPD_TRIXIE
	mount --bind "$r" "$r" # a mount point, as a root is
	ip link set lo up
	mount -t tmpfs -o mode=755 tmpfs "$r/dev"
	mkdir "$r/dev/pts" "$r/dev/shm"
	node() { mknod -m 666 "$r/dev/$1" c "$2" "$3"; }
	node null 1 3; node zero 1 5; node full 1 7; node random 1 8; node urandom 1 9; node tty 5 0
	for i in 0 1 2; do ln -s "/proc/self/fd/$i" "$r/dev/$(echo stdin stdout stderr | cut -d " " -f $((i + 1)))"; done
	ln -s /proc/self/fd "$r/dev/fd"
	mount -t tmpfs tmpfs "$r/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$r/dev/pts"
	ln -sf pts/ptmx "$r/dev/ptmx"
	mount -t tmpfs -o mode=1777 tmpfs "$r/tmp"
	mount -t proc proc "$r/proc"
	mount -t proc proc "$r/mnt" # whole, or the kernel lets no user namespace mount one
	mount --bind "$r/proc/sys" "$r/proc/sys"
	mount -o remount,bind,ro "$r/proc/sys"
	mount --bind "$r/mnt/sys/net" "$r/proc/sys/net" # each network namespace has its own, which tests set
	mount --rbind /sys "$r/sys"
	for d in $ACPD_NPM; do
		mount --bind "$ACPD_TOP/$d/node_modules" "$r/usr/src/acpd/$d/node_modules"
		mount -o remount,bind,ro "$r/usr/src/acpd/$d/node_modules"
	done
	# Not chroot: a process in one may make no user namespaces, which tests do.
	cd "$r"
	pivot_root . .
	umount -l .
	exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 JOBS="$ACPD_JOBS" \
		${ACPD_TEST_SLOW:+"ACPD_TEST_SLOW=$ACPD_TEST_SLOW"} \
		sh -euc "cd /usr/src/acpd; if [ \$# != 0 ]; then exec \"\$@\"; fi; make -s -j\$JOBS CI=true programs; exec make check" sh "$@"
' sh "$@"
