#!/bin/sh
# all.sh [--all] - what make test does, stage by stage, and with --all what make test-all does after it; at the end the slowest test
# files and what each stage cost. A stage that fails ends it, so that its own last lines, which say what failed, are the last.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
TEST_TIMES=$PWD/build/test-times.txt # tests/lib/report.mjs adds a line for each file
export TEST_TIMES
: >"$TEST_TIMES"
costs=$(mktemp)
trap 'rm -f "$costs" "$costs.before" "$costs.after"' EXIT
jobs=$(nproc)
rm -f build/flaky.txt # tests/lib/run.mjs adds each file that passed only when it was run again

# stage NAME ARGUMENT... - of make
stage()
{
	name=$1
	shift
	times >"$costs.before"
	wall=$(date +%s)
	TEST_STAGE=$name make --no-print-directory "$@"
	times >"$costs.after"
	echo "$name $(($(date +%s) - wall)) $(used before) $(used after)" >>"$costs"
}

# User and system time, in seconds, of what had ended when "times" wrote that file.
used()
{
	tr -c '0-9.\n' ' ' <"$costs.$1" | awk 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }'
}

stage lint lint
stage build -j"$jobs" programs
stage check ONCE=1 check
stage build-san MODE=san -j"$jobs" programs
stage check-san check-san
stage harness harness
if [ "${1:-}" = --all ]; then
	for name in check-valgrind boot test-matrix test-static test-dist test-trixie test-vm image soak; do
		stage $name $name
	done
fi

echo "# the slowest files (processor seconds, seconds passed); all of them: build/test-times.txt"
sort -rn "$TEST_TIMES" | head -n 20
echo "# stage, wall and CPU (seconds)"
awk '{ printf "%-16s %6d %8.0f\n", $1, $2, $4 - $3; wall += $2; cpu += $4 - $3 }
	END { printf "%-16s %6d %8.0f, which is %.1f minutes of CPU\n", "all", wall, cpu, cpu / 60 }' "$costs"
if [ -s build/flaky.txt ]; then
	echo "# flaky: failed, and passed when run again alone (both outputs are at the end of the stage)"
	cat build/flaky.txt
fi
echo "make $([ "${1:-}" = --all ] && echo test-all || echo test): everything passed"
