#!/bin/sh
# strace.sh COMMAND... - runs COMMAND, and writes its system calls and those of its children to build/t/strace.PID.
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$here/build/t"
exec strace -D -f -qq -o "$here/build/t/strace.$$" "$@" # -D: the process that a test knows is COMMAND itself
