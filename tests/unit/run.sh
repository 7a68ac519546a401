#!/bin/sh
# run.sh [--valgrind] DIR [NAME...] - runs the test files of these names (all of them) with the programs in DIR, each in a
# process of its own, two at a time, and counts their tests. One that dies counts as a failed test; what it printed is
# shown only then.
set -u
here=$(dirname "$0")

# one NAME: its numbers go into $out/NAME, and what it printed if it failed.
if [ "${1:-}" = --one ]; then
	dir=$2 out=$3 prefix=$4 name=$5
	program="$dir/unit $name"
	for alone in "$dir"/*/"$name"; do
		[ -x "$alone" ] && program=$alone
	done
	# shellcheck disable=SC2086 # commands and their arguments
	CMOCKA_MESSAGE_OUTPUT=stdout timeout 300 $prefix $program >"$out/$name.text" 2>&1
	code=$?
	ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out/$name.text")
	bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$out/$name.text" | head -n 1)
	[ $code = 0 ] || [ "${bad:-0}" != 0 ] || bad=1
	echo "${ok:-0} ${bad:-0}" >"$out/$name.count"
	if [ $code != 0 ]; then
		echo "FAILED: $name (exit $code)"
		grep -av '^\[  *\(RUN\|OK\) *\]' "$out/$name.text"
	fi
	exit 0
fi

prefix=
if [ "${1:-}" = --valgrind ]; then
	prefix="sh $here/valgrind.sh"
	shift
fi
dir=$1
shift
[ $# != 0 ] || set -- $(find "$here" -name 'test_*.c' | sed 's|.*/||; s|\.c$||' | sort)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -n 1 sh "$0" --one "$dir" "$out" "$prefix"
counts=$(cat "$out"/*.count | awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }')
passed=${counts% *} failed=${counts#* }
echo "unit: $passed passed, $failed failed"
[ "$(ls "$out"/*.count | wc -l)" = $# ] && [ "$failed" = 0 ] && [ "$passed" != 0 ]
