#!/bin/sh
# valgrind.sh COMMAND... - runs COMMAND under valgrind: exit status 99 where it finds an error or a leak.
exec valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$@"
