#!/bin/sh
# close-logins.sh - closes the ways to root that need no password: locks every account that has an empty one, and makes sshd
# refuse empty passwords. Keys, envd and sudo of other users go on working. Harmless when repeated; changes nothing that is in order.
#
# Platforms empty passwords while they finish an image (E2B: those of root and "user"), so this runs at each boot and
# whenever /etc/shadow changes (acpd-logins.service, acpd-logins.path). Elsewhere run it once in the image, as root.
set -eu

for account in $({ awk -F: '$2 == "" { print $1 }' /etc/shadow; awk -F: '$2 == "" { print $1 }' /etc/passwd; } | sort -u); do
	passwd -q -l "$account"
	echo "close-logins: locked the empty password of $account"
done

# The first word counts in sshd_config, before all that it includes.
config=/etc/ssh/sshd_config
if [ -e "$config" ] && [ "$(head -n 1 "$config")" != 'PermitEmptyPasswords no' ]; then
	new=$(mktemp "$config.XXXXXX")
	{ echo 'PermitEmptyPasswords no'; cat "$config"; } >"$new"
	chmod --reference="$config" "$new"
	chown --reference="$config" "$new"
	mv "$new" "$config"
	echo "close-logins: sshd refuses empty passwords"
	# One that runs has read the old words; at boot this comes before it.
	if command -v systemctl >/dev/null; then
		systemctl --no-block try-reload-or-restart ssh.service sshd.service 2>/dev/null || true
	fi
fi
