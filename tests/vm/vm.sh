#!/bin/sh
# vm.sh - checks on Linux 6.1 with all controllers of cgroup v2, in a guest (guest.sh).
#
# A machine that has cgroup v1, or a newer kernel, cannot show what a session is like there. guest/checks.sh prints a line for each check,
# as TAP does; they come over the guest's serial line, all of which build/vm/console.log has.
set -eu
cd "$(dirname "$0")/../.."
. tests/vm/guest.sh

sh tests/install-deps.sh vm
guest_kernel
guest_initramfs tests/vm/guest/checks.sh tests/vm/guest/compare.awk tests/probe/expected.txt
guest_boot checks.sh '' | tee "$vm/console.log" | sed -n '/^\(ok\|not ok\|#\|1\.\.\)/p'

planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$vm/console.log")
passed=$(grep -c '^ok ' "$vm/console.log") || :
if [ -z "$planned" ] || [ "$planned" != "$passed" ]; then
	echo "$passed of ${planned:-unknown, the guest did not come to its end}; $vm/console.log has all that it said"
	exit 1
fi
