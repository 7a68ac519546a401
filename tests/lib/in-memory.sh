#!/bin/sh
# in-memory.sh COMMAND... - runs COMMAND with a private /tmp in memory if it may mount one and 8 GiB are free; otherwise runs it unchanged.
# A disk costs the tests a sixth of their processor time: they make and remove files all the time, and ext4 searches long for an inode that
# was not deleted a moment ago. Only COMMAND and its children see the mount, which ends with the last of them.
set -eu
NEEDED_KIB=$((8 << 20))

available=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
if [ "$available" -ge "$NEEDED_KIB" ] && unshare --mount mount -t tmpfs tmpfs /tmp 2>/dev/null; then
	# shellcheck disable=SC2016 # expanded by the shell within
	exec unshare --mount sh -euc 'mount -t tmpfs -o mode=1777,size=50% tmpfs /tmp; exec "$@"' sh "$@"
fi
exec "$@"
