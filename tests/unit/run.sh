#!/bin/sh
# run.sh [--valgrind] DIR [NAME...] - runs the test files of these names (all of them) with the programs in DIR, each in a
# process of its own, two at a time, and counts their tests. One that dies counts as a failed test; what it printed is
# shown only then.
set -u
here=$(dirname "$0")

# some NAME...: the numbers of each go into $out/NAME.count, and what it printed is shown if it failed.
if [ "${1:-}" = --some ]; then
	dir=$2 out=$3 prefix=$4
	shift 4
	export CMOCKA_MESSAGE_OUTPUT=stdout
	together=
	for name; do
		program=
		for alone in "$dir"/*/"$name"; do
			[ -x "$alone" ] && program=$alone
		done
		if [ -z "$program" ]; then
			together="$together $name"
			continue
		fi
		# shellcheck disable=SC2086 # a command and its arguments
		timeout 300 $prefix "$program" >"$out/$name.text" 2>&1
		echo $? >"$out/$name.code"
	done
	# shellcheck disable=SC2086 # the same, and names
	[ -z "$together" ] || $prefix "$dir/unit" --each "$out" $together
	for name; do
		code=$(cat "$out/$name.code" || echo none)
		ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out/$name.text")
		bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$out/$name.text" | head -n 1)
		[ "$code" = 0 ] || [ "${bad:-0}" != 0 ] || bad=1
		echo "${ok:-0} ${bad:-0}" >"$out/$name.count"
		if [ "$code" != 0 ]; then
			echo "FAILED: $name (exit $code)"
			grep -av '^\[  *\(RUN\|OK\) *\]' "$out/$name.text"
		fi
	done
	exit 0
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
prefix='' many=1
if [ "${1:-}" = --valgrind ]; then
	# its start costs more than most files: one for many, and a log for each process
	prefix="sh $here/valgrind.sh" many=15
	export VALGRIND_OPTS="--log-file=$out/valgrind.%p"
	shift
fi
dir=$1
shift
[ $# != 0 ] || set -- $(find "$here" -name 'test_*.c' | sed 's|.*/||; s|\.c$||' | sort)
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -n "$many" sh "$0" --some "$dir" "$out" "$prefix"
counts=$(cat "$out"/*.count | awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }')
passed=${counts% *} failed=${counts#* }
[ "$failed" = 0 ] || cat "$out"/valgrind.* 2>/dev/null
echo "unit: $passed passed, $failed failed"
[ "$(ls "$out"/*.count | wc -l)" = $# ] && [ "$failed" = 0 ] && [ "$passed" != 0 ]
