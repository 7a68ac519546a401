#!/bin/sh
# valgrind.sh PROGRAM [ARG]... - under memcheck; any error or lost block is a failure.
FUZZ_CUTS=4 UNIT_STRIDES=1 ACPD_TEST_SLOW=10 exec valgrind -q --error-exitcode=99 --suppressions="$(dirname "$0")/valgrind.supp" --leak-check=full \
	--show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible "$@"
