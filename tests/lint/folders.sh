#!/bin/sh
# folders.sh [TREE] - the calls between the folders of the product have no loop. What has to go up is a pointer that its owner
# gives to the lower folder: a callback, a hook, a row of a table. Calls are read from the text; a name that functions of two
# folders have, in two programs, says nothing and is left out.
. "$(dirname "$0")/files.sh"

# FROM TO FILE:LINE NAME, one line for each two folders
arrows=$(lint_c_files | grep -E '^(daemon|tools|harnesses)/.*[.]c$' | awk '
function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
{
	files[++count] = $0
	# A definition begins in the first column, and its brace stands there, too.
	head = ""
	while ((getline text < $0) > 0) {
		if (text ~ /^[a-z]/)
			head = text
		if (text != "{" || !match(head, /[a-z_0-9]+\(/))
			continue
		name = substr(head, RSTART, RLENGTH - 1)
		if (head ~ /^static/)
			own[$0, name]
		else if (!(name in home))
			home[name] = folder_of($0)
		else if (home[name] != folder_of($0))
			home[name] = ""
	}
	close($0)
}
END {
	for (i = 1; i <= count; i++) {
		from = folder_of(files[i])
		line = 0
		while ((getline text < files[i]) > 0) {
			line++
			# not a member that points to a function
			while (text ~ /^\t/ && match(text, /(^|[^a-zA-Z_0-9.>])[a-z_0-9]+\(/)) {
				name = substr(text, RSTART, RLENGTH - 1)
				text = substr(text, RSTART + RLENGTH)
				sub(/^[^a-z_0-9]/, "", name)
				to = home[name]
				if (!to || to == from || (files[i], name) in own || (from, to) in told)
					continue
				told[from, to]
				printf "%s %s %s:%d %s\n", from, to, files[i], line, name
			}
		}
		close(files[i])
	}
}')
if printf '%s\n' "$arrows" | cut -d ' ' -f 1,2 | tsort >/dev/null 2>&1; then
	printf 'folders: %d arrows, no loop\n' "$(printf '%s\n' "$arrows" | wc -l)"
	exit 0
fi
# The folders of the first loop, and the arrows between them.
loop=$(printf '%s\n' "$arrows" | cut -d ' ' -f 1,2 | tsort 2>&1 >/dev/null | awk '/loop:$/ { if (loops++) exit; next } { print $2 }')
printf '%s\n' "$arrows" | awk -v loop="$loop" '
BEGIN {
	n = split(loop, folder, "\n")
	for (i = 1; i <= n; i++)
		known[folder[i]]
}
$1 in known && $2 in known { printf "%s: %s() is in %s, which calls %s over a loop\n", $3, $4, $2, $1 }'
exit 1
