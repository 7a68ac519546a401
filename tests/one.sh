#!/bin/sh
# one.sh T - what make t runs: the unit tests, or the test files, whose paths below tests/ or tests/integration/ begin with T.
# NAME: a regular expression for the names of tests. WRAP: gdb, strace or valgrind, around the daemon or the unit test.
set -eu
cd "$(dirname "$0")/.."
t=${1:-}
files=$(find tests -name node_modules -prune -o -name '*.test.mjs' -print | sort |
	awk -v t="$t" '{ path = $0; sub("^tests/", "", path) } index(path, t) == 1 || index(path, "integration/" t) == 1')
units=
case $t in
unit/*) units=$(find tests/unit -path "tests/$t*.c" -name 'test_*.c' | sed 's|.*/||; s|\.c$||' | sort) ;;
esac
if [ -n "$units" ]; then
	# shellcheck disable=SC2086 # a list of names
	case ${WRAP:-} in
	"") exec sh tests/unit/run.sh "$UNIT_DIR" $units ;;
	valgrind) exec sh tests/unit/run.sh --valgrind "$UNIT_DIR" $units ;;
	gdb) exec gdb -q --args "$UNIT_DIR/unit" $units ;;
	*) exec "$WRAP" "$UNIT_DIR/unit" $units ;;
	esac
fi
if [ -z "$t" ] || [ -z "$files" ]; then
	echo "make t: no test below tests/ or tests/integration/ begins with '$t'; write T=mcp/relay, or T=unit/json/test_jscan" >&2
	exit 2
fi
if [ -n "${WRAP:-}" ]; then
	if [ ! -e "tests/wrap/$WRAP.sh" ] || ! command -v "$WRAP" >/dev/null; then
		echo "make t: WRAP=$WRAP: not one of gdb, strace and valgrind, or not installed" >&2
		exit 2
	fi
	rm -rf build/t
	export ACPD_WRAP="sh $PWD/tests/wrap/$WRAP.sh" ACPD_TEST_SLOW="${ACPD_TEST_SLOW:-10}"
fi
status=0
# shellcheck disable=SC2086 # a list of files
"$NODE" tests/lib/run.mjs --test-concurrency=2 ${NAME:+"--test-name-pattern=$NAME"} $files || status=$?
[ -z "${WRAP:-}" ] || [ ! -d build/t ] || echo "# $WRAP wrote $(echo build/t/*)"
exit $status
