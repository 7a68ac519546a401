#!/bin/sh
# run.sh [--valgrind] PROGRAM... - runs cmocka programs and counts their tests. A program that dies counts as a failed
# test; what it printed is shown only then.
set -u
here=$(dirname "$0")
prefix=
if [ "${1:-}" = --valgrind ]; then
	prefix="sh $here/valgrind.sh"
	shift
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
passed=0 failed=0
for program; do
	# shellcheck disable=SC2086 # a command and its argument
	CMOCKA_MESSAGE_OUTPUT=stdout timeout 300 $prefix "$program" >"$out" 2>&1
	code=$?
	ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$out")
	bad=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$out" | head -n 1)
	[ $code = 0 ] || [ "${bad:-0}" != 0 ] || bad=1
	passed=$((passed + ${ok:-0}))
	failed=$((failed + ${bad:-0}))
	if [ $code != 0 ]; then
		echo "FAILED: $program (exit $code)"
		grep -av '^\[  *\(RUN\|OK\) *\]' "$out"
	fi
done
echo "unit: $passed passed, $failed failed"
[ $failed = 0 ] && [ $passed != 0 ]
