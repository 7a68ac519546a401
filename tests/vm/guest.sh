# guest.sh - a guest of QEMU with Linux 6.1; sourced by the scripts of make test-vm, in the project's directory. Needs root, for apt.
#
# It is Debian 12's cloud kernel and an initramfs below build/vm: busybox, and the programs of this build with the libraries that they are
# linked to. The processor is emulated (TCG), so that it is the same everywhere. It has no network.
# BUILD: where the programs are (build/release). VM_SECONDS: how long a guest may run (900).
build=${BUILD:-build/release}
vm=build/vm
root=$vm/root
programs="acpd acpd-unpack acpd-fetch acpd-proxy acpd-init stub-agent confine-probe"

# The kernel is only unpacked: this machine keeps its own.
guest_kernel() {
	kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
	[ ! -e "$vm/$kernel/vmlinuz" ] || return 0
	echo "fetching $kernel"
	mkdir -p "$vm/$kernel/deb"
	(cd "$vm/$kernel" && apt-get -qq -o APT::Sandbox::User=root download "$kernel" && dpkg-deb -x ./*.deb deb && mv deb/boot/vmlinuz-* vmlinuz)
	rm -r "$vm/$kernel/deb" "$vm/$kernel"/*.deb
}

guest_programs() {
	for name in $programs; do
		cp "$build/$name" "$root/opt/"
		if libraries=$(ldd "$build/$name" 2>/dev/null); then
			echo "$libraries" | sed -n 's/.*\( \|^\t\)\(\/[^ ]*\) (.*/\2/p'
		fi
	done | sort -u | while read -r file; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
	done
}

# guest_initramfs FILE...: with these files in its root
guest_initramfs() {
	rm -rf "$root"
	for dir in bin dev etc lib64 opt proc root run sys tmp usr/bin usr/lib var/lib; do
		mkdir -p "$root/$dir"
	done
	cp /usr/bin/busybox "$root/bin/"
	for name in $(busybox --list); do
		ln -s busybox "$root/bin/$name" 2>/dev/null || :
	done
	guest_programs
	cp tests/vm/guest/init "$@" "$root/"
	chmod 755 "$root/init"
	printf '%s\n' root:x:0:0:root:/root:/bin/sh agent:x:1000:1000::/tmp:/bin/sh nobody:x:65534:65534::/:/bin/sh >"$root/etc/passwd"
	printf '%s\n' root:x:0: agent:x:1000: nogroup:x:65534: >"$root/etc/group"
	(cd "$root" && find . | cpio --quiet -o -H newc --owner 0:0) | gzip -1 >"$vm/initramfs.gz"
}

# guest_boot SCRIPT WORDS [OPTION...]: the guest, which runs /SCRIPT and powers itself off; WORDS are for it, in /proc/cmdline. What it
# says goes to the standard output.
guest_boot() {
	script=$1 words=$2
	shift 2
	timeout "${VM_SECONDS:-900}" qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -nic none -no-reboot -kernel "$vm/$kernel/vmlinuz" \
		-initrd "$vm/initramfs.gz" "$@" -append "console=ttyS0 loglevel=0 panic=-1 cgroup_no_v1=all acpd.script=$script $words" </dev/null 2>&1 | tr -d '\r'
}
