#!/bin/sh
# install-deps.sh LIST... - installs the packages of these lists that are missing, and says which. For Debian 12 and 13.
#	build     what make needs
#	runtime   what the built acpd needs
#	node      something to fetch the pinned Node.js with
#	test      what make test needs besides build and node
#	boot      what make boot makes and boots a root with
#	image     what make image builds an image with, besides
#	vm        what make test-vm boots a guest with
#	static    what make static links besides build
#	dist      what make test-dist needs besides test
#	sandboxes what make bench-sandboxes needs besides what it takes from npm
# install-deps.sh --list LIST... prints the packages and does nothing. --debian N, first: of that release instead of this one.
set -eu

release=
if [ "${1:-}" = --debian ]; then
	release=$2
	shift 2
elif [ -r /etc/os-release ]; then
	release=$(. /etc/os-release && echo "${VERSION_ID:-}")
fi

packages() {
	case $1 in
	build) echo gcc libc6-dev make pkg-config libwebsockets-dev libcjson-dev libssl-dev \
		libarchive-dev zlib1g-dev libzstd-dev libyaml-dev libseccomp-dev \
		libpcre2-dev libcurl4-openssl-dev libc-ares-dev libisal-dev ;;
	runtime)
		case $release in
		13) echo libwebsockets19t64 libcjson1 libssl3t64 libarchive13t64 libcurl4t64 ;;
		*) echo libwebsockets17 libcjson1 libssl3 libarchive13 libcurl4 ;;
		esac
		echo zlib1g libzstd1 libyaml-0-2 libseccomp2 libpcre2-8-0 libc-ares2 libisal2 nftables
		;;
	# clang and its runtime are for libFuzzer, mandoc checks the man page, strace kills at a chosen call, sudo is tried as a way to root,
	# nftables and iproute2 wall users in between namespaces, ssh and libwrap0 are for the sshd of sshd-deps.sh.
	# The format is that of clang-format 14; Debian 13 has none, and lint says so there.
	test)
		case $release in
		13) echo clang-19 libclang-rt-19-dev ;;
		*) echo clang-format-14 clang-14 libclang-rt-14-dev ;;
		esac
		echo libcmocka-dev cppcheck valgrind mandoc git curl strace sudo libarchive-tools unzip zstd python3 python3-pip nftables iproute2 \
			openssh-client libwrap0 dpkg-dev chromium-headless-shell prometheus
		;;
	dist) echo lintian ;;
	static) echo libcap-dev nettle-dev libacl1-dev liblzma-dev liblz4-dev libbz2-dev libxml2-dev libicu-dev ;;
	sandboxes) echo bubblewrap socat ripgrep ;;
	boot) echo mmdebstrap systemd-container ;;
	image) echo buildah ;;
	vm) echo qemu-system-x86 seabios busybox-static cpio ;;
	# Only to fetch the Node.js that tests and demo are pinned to; any version that is there will do.
	node)
		if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
			echo nodejs npm
		fi
		;;
	*)
		echo "install-deps.sh: unknown list '$1' (build, runtime, node, test, boot, image, vm, static, dist, sandboxes)" >&2
		exit 2
		;;
	esac
}

list_only=
[ "${1:-}" != --list ] || { list_only=1; shift; }
[ $# != 0 ] || set -- none
wanted=
for list; do
	wanted="$wanted $(packages "$list" | tr '\n' ' ')"
done
if [ -n "$list_only" ]; then
	# shellcheck disable=SC2086 # a list of words
	echo $wanted
	exit
fi
missing=
for package in $wanted; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=
	[ "$state" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
	exit 0
fi

echo "installing Debian packages ($*):$missing"
sudo=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "install-deps.sh: not root and no sudo; as root, run: apt-get install$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
# Quiet unless it fails; apt-get's own last lines say why.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -qq "$@" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		return 1
	}
}
apt update
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing
