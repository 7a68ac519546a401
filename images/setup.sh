#!/bin/sh
# setup.sh [FIRST LAST] - the users and directories that acpd.service expects: agent, whom harnesses run as; acpd-fetch and acpd-proxy,
# which speak to other machines and own nothing; one user for each session (agent-users.sh, beside this); the workspaces. As root, in an
# image or on a host. Harmless when repeated; changes nothing that is in order.
set -eu

here=$(dirname "$0")
users=$here/agent-users
[ -e "$users" ] || users=$here/agent-users.sh

user() { # name, options of useradd
	name=$1
	shift
	getent passwd "$name" >/dev/null || useradd --user-group "$@" "$name"
}

# The same uid in every image, as in kubernetes.yaml; on a host where somebody has it, the next free one.
uid=2270
if getent passwd "$uid" | grep -qv '^agent:' || getent group "$uid" | grep -qv '^agent:'; then
	echo "setup: uid or gid $uid is somebody else's here: agent gets another one" >&2
	user agent --create-home --key HOME_MODE=0700 --shell /bin/bash
else
	user agent --uid "$uid" --create-home --key HOME_MODE=0700 --shell /bin/bash
fi
user acpd-fetch --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin
user acpd-proxy --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin
sh "$users" "${1:-61001}" "${2:-61064}"
[ -d /srv/workspaces ] || install -d -m 0755 /srv/workspaces
[ -d /etc/acpd ] || install -d -m 0700 /etc/acpd
