#!/bin/sh
# power-cut.sh - the power of a guest (guest.sh) is cut while turns end, CUTS times (5), and no turn that was answered is lost.
#
# The state is on a disk with a file system of its own, ext4 on NVMe. A cut is a SIGKILL of the emulator: what the guest's kernel had not
# written, it has lost, and so has the disk what it had not been asked to keep when it is asked for. guest/power.sh says which turns were
# answered, and at the next boot what is there of them: each has one usage record, and its session's journal has its end once.
# build/vm/power-*.log have all that the guests said.
set -eu
cd "$(dirname "$0")/../.."
. tests/vm/guest.sh
cuts=${CUTS:-5}
disk=$vm/disk.img

said() { sed -n "s/^$1 //p" "$2" | sort; }
fail() {
	echo "not ok - $1"
	failed=1
}
# Each of the first is among the second, and none of these stands twice.
all_once() {
	lost=$(comm -23 "$2" "$3")
	doubled=$(uniq -d "$3")
	[ -z "$lost" ] || fail "$1 of answered turns are lost: $lost"
	[ -z "$doubled" ] || fail "$1 stand twice: $doubled"
}
look() {
	said record "$1" >"$vm/records"
	said ended "$1" >"$vm/ends"
	grep -q '^told' "$1" || fail "the guest did not tell all: $(tail -n 1 "$1")"
	! grep '^broken' "$1" || failed=1
	all_once records "$vm/answered" "$vm/records"
	all_once ends "$vm/answered" "$vm/ends"
}
# Some turns after it began to answer, and at any moment of one.
cut() {
	wanted=$((20 + $(od -An -N1 -tu1 /dev/urandom) % 60))
	until [ "$(grep -c '^answered' "$1")" -ge "$wanted" ] || grep -q '^broken' "$1"; do
		sleep 0.05
	done
	sleep "0.0$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')"
	kill -KILL "$(cat "$vm/pid")"
}
boot() { guest_boot power.sh "$1" -pidfile "$vm/pid" -drive "file=$disk,format=raw,if=none,id=disk" -device nvme,drive=disk,serial=acpd; }

sh tests/install-deps.sh vm
guest_kernel
guest_initramfs tests/vm/guest/power.sh
rm -f "$disk" "$vm"/power-*.log
truncate -s 128M "$disk"
mkfs.ext4 -q "$disk"
: >"$vm/answered"
failed=

for i in $(seq "$cuts"); do
	log=$vm/power-$i.log
	: >"$log"
	boot '' >"$log" &
	cut "$log"
	wait $! || :
	look "$log"
	said answered "$log" | sort -u - "$vm/answered" -o "$vm/answered"
done
boot last >"$vm/power-last.log"
look "$vm/power-last.log"
[ -z "$failed" ] || exit 1
echo "ok - $(wc -l <"$vm/answered") answered turns, $cuts cuts: each has one record and one end; $(wc -l <"$vm/records") records"
