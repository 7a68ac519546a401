#!/bin/sh
# agent-users.sh FIRST LAST - makes a user and a group for each uid of acpd's --agent-uids: agent-FIRST to agent-LAST. Programs such
# as ssh, git and npm ask for the name of who runs them. Nobody can log in as one, and none has a home. Their shell is one that runs
# commands, because harnesses start the login shell of their user. Harmless when repeated; changes nothing that is in order.
#
# 61001 to 61064 are a good choice: Debian and systemd leave 60578 to 61183 alone (below are systemd-homed's and above are
# DynamicUser's, up to 65519), and a container that maps only 65536 ids still has them.
set -eu

first=${1:?FIRST} last=${2:?LAST}
if [ "$first" -lt 1000 ] || [ "$last" -lt "$first" ]; then
	echo "agent-users: $first to $last is no range above 999" >&2
	exit 2
fi

# An id of another name is somebody else's.
of_ours() { # database, id, name
	found=$(getent "$1" "$2" | cut -d: -f1) || found=
	[ -z "$found" ] || [ "$found" = "$3" ] || { echo "agent-users: $2 is '$found' in $1" >&2; exit 1; }
}

uid=$first
while [ "$uid" -le "$last" ]; do
	name=agent-$uid
	of_ours passwd "$uid" "$name"
	of_ours group "$uid" "$name"
	getent group "$name" >/dev/null || groupadd --gid "$uid" "$name"
	# a system user: no home, no subordinate ids; its number is beyond theirs, which useradd says
	getent passwd "$name" >/dev/null || useradd --system --uid "$uid" --gid "$uid" --no-create-home --home-dir /nonexistent \
		--shell /bin/sh --comment 'session of acpd' "$name" 2>/dev/null ||
		{ echo "agent-users: $name cannot be made" >&2; exit 1; }
	uid=$((uid + 1))
done
