#!/bin/sh
# parts.sh [TREE] - a session is a core and parts (daemon/README.md). The core includes no header of a part. A part includes the
# headers of the parts that it needs, by the table below, and the needs have no cycle.
. "$(dirname "$0")/files.sh"

# A part, and the parts that it needs.
needs='
approval    budget rules trace
budget      mcp
bundle      model workspace
check       budget trace workspace
confinement mcp
draft       check confinement workspace
mcp
model       budget usage
network     approval confinement model users
programs
rules       mcp
secrets
trace
usage       trace
users
workspace   confinement trace
'
export needs
lint_c_files | grep '^daemon/session/' | awk '
function bad(text) { printf "%s:%d: %s\n", file, line, text; failed = 1 }
function part_of(path,  p) { split(path, p, "/"); return p[1] == "session" && p[2] == "parts" && p[4] != "" ? p[3] : "" }
# Whether "to" is reached from "from" by needs.
function reaches(from, to, depth,  p) {
	if (from == to)
		return 1
	if (depth > 40)
		return 0
	for (p in known)
		if ((from, p) in need && reaches(p, to, depth + 1))
			return 1
	return 0
}
BEGIN {
	n = split(ENVIRON["needs"], row, "\n")
	for (i = 1; i <= n; i++) {
		k = split(row[i], f, " ")
		if (k)
			known[f[1]]
		for (j = 2; j <= k; j++)
			need[f[1], f[j]]
	}
	file = "tests/lint/parts.sh"
	for (from in known)
		for (to in known)
			if ((from, to) in need && reaches(to, from, 0))
				bad("the needs of the parts have a cycle through " from " and " to)
}
{
	file = $0
	line = 0
	mine = part_of(substr(file, 8))
	files++
	while ((getline text < file) > 0) {
		line++
		if (text !~ /^#include "session\/parts\//)
			continue
		split(text, q, "\"")
		other = part_of(q[2])
		if (file ~ /^daemon\/session\/core\//)
			bad("the core may not include " q[2] ": a part has a hook (session/core/session_part.h)")
		else if (mine != "" && other != "" && other != mine) {
			used[mine, other]
			if (!((mine, other) in need))
				bad("the part " mine " does not need " other ": see tests/lint/parts.sh")
		}
	}
	close(file)
}
END {
	line = 0
	file = "tests/lint/parts.sh"
	for (m in need) {
		split(m, f, SUBSEP)
		if (files > 1 && (f[1] in known) && !((f[1], f[2]) in used))
			bad("the part " f[1] " does not use " f[2] " any more: take it out of the table")
	}
	if (!failed)
		printf "parts: %d files, the core names no part\n", files
	exit failed
}'
