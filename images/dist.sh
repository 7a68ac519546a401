#!/bin/sh
# dist.sh BUILD VERSION OUT UI - what `make dist` runs: a tar and a Debian package of the programs in BUILD and the run viewer in UI, if it
# was built, into OUT. The same programs give the same bytes: names are sorted, owners are root, and every time is SOURCE_DATE_EPOCH (else
# that of the last commit).
set -eu
umask 022

build=$(cd "$1" && pwd) version=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
ui=$(cd "$4" 2>/dev/null && pwd) || ui=
cd "$(dirname "$0")/.."
arch=$(dpkg --print-architecture)
# The programs need the libraries of the release that they were built on, and the package says which that is.
release=$(. /etc/os-release && echo "$ID$VERSION_ID" | sed 's/^debian/deb/')
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# To dpkg a build of a commit comes before the release that it leads to, and after that of an earlier commit: 0.1.0-dev+gHASH is
# 0.1.0~gitTIME.HASH.
time=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)
deb_version=$(echo "$version" | sed "s/-dev+g/~git$time./; s/-/~/g")+$release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

programs() { # into a folder, stripped
	mkdir -p "$1"
	for program in acpd acpd-unpack acpd-init acpd-fetch acpd-proxy; do
		[ ! -e "$build/$program" ] || install -s -m 0755 "$build/$program" "$1/"
	done
}

viewer() { # into a folder, share/ beside the programs' bin/
	[ -e "$ui/index.html" ] || return 0
	install -D -m 0644 -t "$1/acpd/ui" "$ui"/*
}
[ -e "$ui/index.html" ] || echo "dist.sh: without the run viewer: make ui builds it" >&2

# --- the tar ---------------------------------------------------------------------------------------------------
name=acpd-$version-linux-$arch
top=$work/$name
programs "$top/bin"
viewer "$top/share"
install -D -m 0644 daemon/acpd.1 "$top/share/man/man1/acpd.1"
install -m 0644 LICENSE .github/CHANGELOG.md images/NOTICE images/README.md images/acpd.service images/acpd-logins.service images/acpd-logins.path "$top/"
install -m 0755 images/install.sh images/setup.sh images/agent-users.sh images/close-logins.sh "$top/"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=ustar -cf - "$name" |
	gzip -9n >"$out/$name.tar.gz"

# --- the package -----------------------------------------------------------------------------------------------
deb=$work/deb
doc=$deb/usr/share/doc/acpd
programs "$deb/opt/acpd/bin"
viewer "$deb/opt/acpd/share"
for script in setup agent-users close-logins; do
	install -D -m 0755 images/$script.sh "$deb/opt/acpd/lib/$script"
done
install -D -m 0644 -t "$deb/usr/lib/systemd/system" images/acpd.service images/acpd-logins.service images/acpd-logins.path
install -D -m 0644 -t "$doc" images/README.md images/NOTICE
gzip -9nc .github/CHANGELOG.md >"$doc/NEWS.gz" # changelog.gz is Debian's own, below
install -D -m 0644 daemon/acpd.1 "$deb/usr/share/man/man1/acpd.1"
gzip -9n "$deb/usr/share/man/man1/acpd.1"
mkdir -p "$deb/usr/bin" "$deb/DEBIAN" "$deb/usr/share/lintian/overrides" "$work/debian"
ln -s /opt/acpd/bin/acpd "$deb/usr/bin/acpd"

cat >"$doc/copyright" <<'END'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: acpd

Files: *
Copyright: 2026 the acpd authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
END
cat >"$work/changelog" <<END
acpd ($deb_version) unstable; urgency=medium

  * What has changed is in NEWS.gz.

 -- acpd maintainers <acpd@packages.invalid>  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
gzip -9nc "$work/changelog" >"$doc/changelog.gz"

# An add-on of a third party belongs into /opt. acpd-init has no libc on purpose.
cat >"$deb/usr/share/lintian/overrides/acpd" <<'END'
acpd: dir-or-file-in-opt
acpd: statically-linked-binary [opt/acpd/bin/acpd-init]
END

# What the programs need says the package database, from the libraries that they were linked with.
printf 'Source: acpd\n\nPackage: acpd\nArchitecture: any\n' >"$work/debian/control"
needs=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "$deb"/opt/acpd/bin/acpd "$deb"/opt/acpd/bin/acpd-[!i]* 2>/dev/null |
	sed -n 's/^shlibs:Depends=//p')
[ -n "$needs" ] || { echo "dist.sh: dpkg-shlibdeps named no library" >&2; exit 1; }
cat >"$deb/DEBIAN/control" <<END
Package: acpd
Version: $deb_version
Architecture: $arch
Maintainer: acpd maintainers <acpd@packages.invalid>
Installed-Size: $(du -k --apparent-size -s "$deb" | cut -f 1)
Depends: $needs, passwd
Recommends: ca-certificates, git, nftables, python3, ripgrep
Section: net
Priority: optional
Description: agent runtime and ACP daemon for sandboxes
 Serves the Agent Client Protocol over WebSocket to an orchestrator, and runs
 coding-agent harnesses behind it: Pi, Codex, OpenCode, and others that speak
 ACP on standard input and output.
 .
 This package is built on $(. /etc/os-release && echo "$PRETTY_NAME"), for that release.
END
cat >"$deb/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
	/opt/acpd/lib/setup
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		systemctl enable --now acpd-logins.path acpd-logins.service
		systemctl enable acpd.service
		if /opt/acpd/bin/acpd doctor --json --run-dir /run/acpd 2>/dev/null | grep -q '"restarts"'; then
			systemctl --no-block reload acpd.service # in place, once turns have ended
		else
			systemctl restart acpd.service
		fi
	elif command -v systemctl >/dev/null; then
		systemctl --quiet enable acpd.service acpd-logins.service acpd-logins.path
	fi
fi
END
cat >"$deb/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && command -v systemctl >/dev/null; then
	if [ -d /run/systemd/system ]; then
		systemctl stop acpd.service acpd-logins.path || true
	fi
	systemctl --quiet disable acpd.service acpd-logins.service acpd-logins.path || true
fi
END
# Users stay, as Debian does it: files may be theirs.
cat >"$deb/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
	rm -rf /var/lib/acpd
	rmdir /etc/acpd 2>/dev/null || true
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
END
chmod 0755 "$deb/DEBIAN/postinst" "$deb/DEBIAN/prerm" "$deb/DEBIAN/postrm"
(cd "$deb" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
find "$deb" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --build "$deb" "$out/acpd_${deb_version}_$arch.deb" >/dev/null
echo "$out/$name.tar.gz"
echo "$out/acpd_${deb_version}_$arch.deb"
