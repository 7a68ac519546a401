#!/bin/sh
# vanishing.sh [TREE] - in tests/ the files of a process are read by tests/lib/procs.mjs alone: a process ends, a descriptor is closed and
# a thread goes between two looks, and who reads /proc/PID by hand fails then, once in thousands of runs. Nor does anybody list a tree
# at one go (readdir with recursive), which fails when a directory goes meanwhile: tests/lib/vanishing.mjs has that.
. "$(dirname "$0")/files.sh"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
lint_files | grep -E '^tests/.*\.mjs$' | grep -vxE 'tests/lib/procs\.mjs' >"$list" || true

awk '
function bad(text) { printf "%s:%d: %s\n", file, line, text; failed = 1 }
{
	file = $0
	line = 0
	while ((getline text < file) > 0) {
		line++
		# A path that begins there (commands of a shell only hold one), however it is put together.
		if (text ~ /`\/proc\/\$\{/ || text ~ /["'\'']\/proc\/["'\''] *\+/ || text ~ /(Sync|join|resolve)\([`"'\'']\/proc\/?[`"'\'']/)
			bad("a file of a process is read by hand: tests/lib/procs.mjs has it")
		if (text ~ /(Sync|readFile|readdir|readlink|open|stat)\(procs\.at\(/)
			bad("procs.at is for other programs: tests/lib/procs.mjs reads")
		if (text ~ /readdirSync\(.*recursive: true/)
			bad("a tree is listed at one go: tests/lib/vanishing.mjs has namesBelow and filesBelow")
	}
	close(file)
	files++
}
END {
	if (!failed)
		printf "vanishing: %d files\n", files
	exit failed
}' "$list"
