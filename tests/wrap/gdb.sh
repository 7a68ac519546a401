#!/bin/sh
# gdb.sh COMMAND... - runs COMMAND, and has gdb follow it: if a signal kills COMMAND, build/t/gdb.PID has the backtraces of its threads.
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$here/build/t"
shell=$(readlink "/proc/$$/exe")

# As a process that is nobody's child, so that COMMAND, which keeps this process's number, has none that it does not know.
follow()
{
	until [ "$(readlink "/proc/$1/exe")" != "$shell" ]; do
		[ -d "/proc/$1" ] || return 0
		sleep 0.01
	done
	exec gdb -q -batch -p "$1" -ex 'handle SIGTERM SIGINT SIGHUP SIGPIPE SIGCHLD SIGUSR1 SIGUSR2 nostop noprint pass' \
		-ex continue -ex 'thread apply all backtrace' </dev/null >"$here/build/t/gdb.$1" 2>&1
}
(follow $$ &)
exec "$@"
