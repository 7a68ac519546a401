#!/bin/sh
# vm.sh - make test-vm: checks on Linux 6.1 with all controllers of cgroup v2, in a QEMU guest of its own. Needs root, for apt.
#
# A machine that has cgroup v1, or a newer kernel, cannot show what a session is like there. The guest is Debian 12's cloud kernel and an
# initramfs below build/vm: busybox, and the programs of this build with the libraries that they are linked to. It has no disk and
# no network. guest/init prepares it and guest/checks.sh prints a line for each check, as TAP does; they come over its serial line, all of
# which build/vm/console.log has. The processor is emulated (TCG), so that it is the same everywhere.
# BUILD: where the programs are (build/release). VM_SECONDS: how long it may take (900).
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}
vm=build/vm
root=$vm/root
programs="acpd acpd-unpack acpd-fetch acpd-proxy acpd-init stub-agent confine-probe"

sh tests/install-deps.sh vm

# The kernel is only unpacked: this machine keeps its own.
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
if [ ! -e "$vm/$kernel/vmlinuz" ]; then
	echo "fetching $kernel"
	mkdir -p "$vm/$kernel/deb"
	(cd "$vm/$kernel" && apt-get -qq -o APT::Sandbox::User=root download "$kernel" && dpkg-deb -x ./*.deb deb && mv deb/boot/vmlinuz-* vmlinuz)
	rm -r "$vm/$kernel/deb" "$vm/$kernel"/*.deb
fi

rm -rf "$root"
for dir in bin dev etc lib64 opt proc root run sys tmp usr/bin usr/lib var/lib; do
	mkdir -p "$root/$dir"
done
cp /usr/bin/busybox "$root/bin/"
for name in $(busybox --list); do
	ln -s busybox "$root/bin/$name" 2>/dev/null || :
done
for name in $programs; do
	cp "$build/$name" "$root/opt/"
	if libraries=$(ldd "$build/$name" 2>/dev/null); then
		echo "$libraries" | sed -n 's/.*\( \|^\t\)\(\/[^ ]*\) (.*/\2/p'
	fi
done | sort -u | while read -r file; do
	mkdir -p "$root$(dirname "$file")"
	cp -L "$file" "$root$file"
done
cp tests/vm/guest/init tests/vm/guest/checks.sh tests/vm/guest/compare.awk tests/probe/expected.txt "$root/"
chmod 755 "$root/init"
printf '%s\n' root:x:0:0:root:/root:/bin/sh agent:x:1000:1000::/tmp:/bin/sh nobody:x:65534:65534::/:/bin/sh >"$root/etc/passwd"
printf '%s\n' root:x:0: agent:x:1000: nogroup:x:65534: >"$root/etc/group"
(cd "$root" && find . | cpio --quiet -o -H newc --owner 0:0) | gzip -1 >"$vm/initramfs.gz"

timeout "${VM_SECONDS:-900}" qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -nic none -no-reboot -kernel "$vm/$kernel/vmlinuz" \
	-initrd "$vm/initramfs.gz" -append "console=ttyS0 loglevel=0 panic=-1 cgroup_no_v1=all" </dev/null 2>&1 |
	tr -d '\r' | tee "$vm/console.log" | sed -n '/^\(ok\|not ok\|#\|1\.\.\)/p'

planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$vm/console.log")
passed=$(grep -c '^ok ' "$vm/console.log") || :
if [ -z "$planned" ] || [ "$planned" != "$passed" ]; then
	echo "$passed of ${planned:-unknown, the guest did not come to its end}; $vm/console.log has all that it said"
	exit 1
fi
