#!/bin/sh
# all.sh [--all] - what make test does, stage by stage, and with --all what make test-all does after it; at the end the slowest test
# files and what each stage cost. After a stage that fails no other begins, and the last lines name the files that failed.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
# tests/lib adds to these: a line for each file; each that failed for good; each that passed only when it was run again.
TEST_TIMES=$PWD/build/test-times.txt TEST_FAILED=$PWD/build/failed.txt
export TEST_TIMES TEST_FAILED
: >"$TEST_TIMES"
rm -f "$TEST_FAILED" build/flaky.txt
costs=$(mktemp -d)
trap 'rm -rf "$costs"' EXIT
jobs=$(nproc)
begun=$(date +%s)

# stage NAME ARGUMENT... - of make, in a shell of its own, whose "times" are then those of the stage alone; nothing after one that failed.
# $before is put before the command.
before=
stage()
{
	[ ! -e "$costs/failed" ] || return 0
	(
		name=$1
		shift
		wall=$(date +%s)
		ended=0
		# shellcheck disable=SC2086 # a command and its argument
		TEST_STAGE=$name $before make --no-print-directory "$@" || ended=$?
		times >"$costs/$name.times"
		echo "$name $(($(date +%s) - wall)) $(used "$costs/$name.times")" >>"$costs/table"
		[ "$ended" = 0 ] || echo "$name" >>"$costs/failed"
	)
}

# stage_in_memory NAME ARGUMENT... - a stage with a private /tmp in memory
stage_in_memory()
(
	before='sh tests/lib/in-memory.sh'
	stage "$@"
)

# User and system time, in seconds, of what had ended when "times" wrote that file.
used()
{
	tr -c '0-9.\n' ' ' <"$1" | awk 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }'
}

# Waits for what runs, and ends all if something failed.
joined()
{
	wait
	[ -e "$costs/failed" ] || return 0
	echo "make test: failed in: $(tr '\n' ' ' <"$costs/failed")"
	cat "$TEST_FAILED" 2>/dev/null || :
	exit 1
}

stage lint lint &
stage build ONCE=1 -j"$jobs" programs
stage build-san MODE=san -j"$jobs" programs
joined
# The real harnesses mostly wait, for their own start and for the scripted model. What needs the release build has a real disk.
stage_in_memory harness harness &
stage check ONCE=1 check
stage_in_memory check-san check-san
joined
if [ "${1:-}" = --all ]; then
	stage_in_memory test-matrix test-matrix &
	stage check-valgrind -j"$jobs" check-valgrind
	for name in boot test-static test-dist test-trixie test-vm image soak; do
		stage $name -j"$jobs" $name
	done
	joined
fi

echo "# the slowest files (processor seconds, seconds passed); all of them: build/test-times.txt"
sort -rn "$TEST_TIMES" | head -n 20
echo "# stage, wall and CPU (seconds); harness runs beside check and check-san, lint beside the builds"
awk -v wall=$(($(date +%s) - begun)) '{ printf "%-16s %6d %8.0f\n", $1, $2, $3; cpu += $3 }
	END { printf "%-16s %6d %8.0f, which is %.1f minutes, and %.1f of CPU\n", "all", wall, cpu, wall / 60, cpu / 60 }' "$costs/table"
if [ -s build/flaky.txt ]; then
	echo "# flaky: failed, and passed when run again alone (both outputs are at the end of the stage)"
	cat build/flaky.txt
fi
echo "make $([ "${1:-}" = --all ] && echo test-all || echo test): everything passed"
