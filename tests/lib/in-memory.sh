#!/bin/sh
# in-memory.sh COMMAND... - runs it with a /tmp of its own in memory, where that is allowed and there is room; else as it is. A disk costs
# the tests a third of their processor time: ext4 searches long for an inode that was not in use a moment ago, and everything here is made
# and removed at once. The mount is seen by COMMAND and its children alone, and goes with the last of them.
set -eu
NEEDED_KIB=$((8 << 20))

available=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
if [ "$available" -ge "$NEEDED_KIB" ] && unshare --mount mount -t tmpfs tmpfs /tmp 2>/dev/null; then
	# shellcheck disable=SC2016 # expanded by the shell within
	exec unshare --mount sh -euc 'mount -t tmpfs -o mode=1777,size=50% tmpfs /tmp; exec "$@"' sh "$@"
fi
exec "$@"
