#!/bin/sh
# install.sh - installs acpd on this host, from an unpacked tar of `make dist` or from a checkout after `make`; again for a newer one.
#
#	install.sh [--no-start]          programs, units, users; starts the daemon where systemd runs
#	install.sh --uninstall           stops it and removes what was installed; state, settings, workspaces and users stay
#	install.sh --uninstall --purge   state, settings and users go too; workspaces stay
#
# Everything is in /opt/acpd, but for the units and the man page. Settings go into /etc/acpd/acpd.env.
set -eu

prefix=/opt/acpd units=/etc/systemd/system man=/usr/share/man/man1/acpd.1
services='acpd.service acpd-logins.service acpd-logins.path'
here=$(cd "$(dirname "$0")" && pwd)
start=1 remove='' purge=''

for word; do
	case $word in
	--no-start) start='' ;;
	--uninstall) remove=1 ;;
	--purge) purge=1 ;;
	*)
		echo "install.sh: $word: --no-start, --uninstall or --uninstall --purge" >&2
		exit 2
		;;
	esac
done
[ -z "$purge" ] || [ -n "$remove" ] || { echo "install.sh: --purge goes with --uninstall" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "install.sh: must be root" >&2; exit 1; }

runs() { [ -d /run/systemd/system ]; } # systemd, as process 1

uninstall() {
	if runs; then
		# shellcheck disable=SC2086 # a list of words
		systemctl disable --now $services 2>/dev/null || true
	fi
	for unit in $services; do
		rm -f "$units/$unit" "$units/multi-user.target.wants/$unit"
	done
	rm -rf $prefix/bin $prefix/lib $prefix/share/acpd $man
	rmdir $prefix/share 2>/dev/null || true
	rmdir $prefix 2>/dev/null || true # harnesses may be left in it
	if runs; then
		systemctl daemon-reload
	fi
	if [ -n "$purge" ]; then
		rm -rf /var/lib/acpd /etc/acpd /run/acpd
		getent passwd | awk -F: '$1 ~ /^(agent-[0-9]+|acpd-(fetch|proxy))$/ { print $1 }' | while read -r name; do
			userdel "$name"
		done
		! getent passwd agent >/dev/null || userdel --remove agent 2>/dev/null # it alone has a home
	fi
	echo "acpd is removed"
}

# What cannot run is not installed.
check() {
	if ! "$from/acpd" --version >/dev/null 2>&1; then
		echo "install.sh: $from/acpd does not run here:" >&2
		ldd "$from/acpd" 2>/dev/null | grep 'not found' >&2 || "$from/acpd" --version >&2 || true
		exit 1
	fi
}

if [ -n "$remove" ]; then
	uninstall
	exit
fi
if [ -x "$here/bin/acpd" ]; then
	from=$here/bin page=$here/share/man/man1/acpd.1 ui=$here/share/acpd/ui
else
	from=$here/../build/release page=$here/../daemon/acpd.1 ui=$here/../build/ui
	[ -x "$from/acpd" ] || { echo "install.sh: there is no $from/acpd: run make first" >&2; exit 1; }
fi
check
install -d $prefix/bin $prefix/lib "$(dirname $man)"
for program in acpd acpd-unpack acpd-init acpd-fetch acpd-proxy; do
	# the last two may have been left out; a name replaced at once is no half program for a daemon that runs
	if [ -e "$from/$program" ]; then
		install -m 0755 "$from/$program" $prefix/bin/.new
		mv $prefix/bin/.new $prefix/bin/$program
	fi
done
for script in setup agent-users close-logins; do
	install -m 0755 "$here/$script.sh" $prefix/lib/$script
done
install -m 0644 "$page" $man
rm -rf $prefix/share/acpd/ui # that of an older one does not fit
if [ -e "$ui/index.html" ]; then
	install -D -m 0644 -t $prefix/share/acpd/ui "$ui"/*
else
	echo "install.sh: without the run viewer, which make ui builds" >&2
fi
$prefix/lib/setup
if command -v systemctl >/dev/null; then
	for unit in $services; do
		install -D -m 0644 "$here/$unit" "$units/$unit"
	done
	# shellcheck disable=SC2086 # a list of words
	systemctl --quiet enable $services 2>/dev/null
fi
if runs; then
	systemctl daemon-reload
	[ -z "$start" ] || systemctl restart acpd-logins.path
	# in place, once turns have ended; a daemon from before it could do that is stopped
	if [ -n "$start" ] && "$prefix/bin/acpd" doctor --json --run-dir /run/acpd 2>/dev/null | grep -q '"restarts"'; then
		systemctl --no-block reload acpd.service
	elif [ -n "$start" ]; then
		systemctl restart acpd.service
	fi
else
	echo "no systemd here: start the daemon with $prefix/bin/acpd entrypoint -- $prefix/bin/acpd serve (README.md)"
fi
echo "$($prefix/bin/acpd --version) is in $prefix"
