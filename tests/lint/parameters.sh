#!/bin/sh
# parameters.sh [TREE] - the rows of the parameters of a session (daemon/session/core/session_parameter.h) against the table of
# daemon/protocol/parameters.md: each is a member there, and one that has a line of its own is said there as its row says it.
# No two rows have one name.
. "$(dirname "$0")/files.sh"

page=daemon/protocol/parameters.md
[ -f $page ] || exit 0
lint_c_files | grep '^daemon/session/' | awk -v page=$page '
function bad(where, text) { printf "%s: %s\n", where, text; failed = 1 }
# The strings of a row: its name, and for a label (core/harness/session_labels.h) or a row what it says.
function take_row(where, text,  q, n) {
	n = split(text, q, "\"")
	if (q[2] in at)
		bad(where, q[2] " is a parameter of " at[q[2]] ", too")
	at[q[2]] = where
	says[q[2]] = q[n - 1]
	rows++
}
function take_cells(text,  q, n, i, cell, names) {
	split(text, cell, " [|] ")
	n = split(cell[1], q, "`")
	names = (n - 1) / 2
	for (i = 2; i <= n; i += 2) {
		sub(/ .*/, "", q[i])
		member[q[i]] = names == 1 ? cell[2] : ""
	}
}
BEGIN {
	while ((getline text < page) > 0) {
		if (text ~ /^## /)
			members = text == "## The members"
		else if (members && text ~ /^[|] `/)
			take_cells(text)
	}
}
{
	file = $0
	line = 0
	row = ""
	while ((getline text < file) > 0) {
		line++
		if (row == "" && text !~ /^\tPARAMETER\("/ && (file !~ /session_labels[.]h$/ || text !~ /^\tX\([A-Z_]+, "/))
			continue
		row = row text
		if (row !~ /"\),?[ \t\\]*$/)
			continue
		take_row(file ":" line, row)
		row = ""
	}
	close(file)
}
END {
	for (name in at) {
		if (!(name in member))
			bad(at[name], "the parameter " name " is not among the members of " page)
		else if (says[name] == "")
			bad(at[name], name " has no sentence")
		else if (member[name] != "" && index(member[name], says[name]) != 1)
			bad(at[name], page " does not say of " name ": " says[name])
	}
	if (!failed)
		printf "parameters: %d rows, all in %s\n", rows, page
	exit failed
}'
