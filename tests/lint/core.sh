#!/bin/sh
# core.sh [TREE] - the folders of the core of a session have an order: a file calls functions of its own folder and of those
# that stand before it (daemon/README.md). What has to go up is a pointer that its owner gives to the lower one: a hook of a
# part, a timer, a callback.
. "$(dirname "$0")/files.sh"

# The lowest first; "." is session/core/ itself.
order='. redact log turn harness store life'

export order
lint_c_files | grep '^daemon/session/core/.*[.]c$' | awk '
function rank_of(path,  p, n) { n = split(path, p, "/"); return rank[n == 4 ? "." : p[4]] }
BEGIN {
	n = split(ENVIRON["order"], folder, " ")
	for (i = 1; i <= n; i++)
		rank[folder[i]] = i
}
{
	if (!rank_of($0)) {
		printf "%s:0: the order of tests/lint/core.sh does not have its folder\n", $0
		failed = 1
	}
	files[++count] = $0
	# A definition begins in the first column, and its brace stands there, too.
	head = ""
	while ((getline text < $0) > 0) {
		if (text ~ /^[a-z]/)
			head = text
		if (text == "{" && head !~ /^static/ && match(head, /[a-z_0-9]+\(/))
			home[substr(head, RSTART, RLENGTH - 1)] = $0
	}
	close($0)
}
END {
	for (i = 1; i <= count; i++) {
		file = files[i]
		line = 0
		while ((getline text < file) > 0) {
			line++
			if (text !~ /^\t/)
				continue
			while (match(text, /[a-z_0-9]+\(/)) {
				name = substr(text, RSTART, RLENGTH - 1)
				text = substr(text, RSTART + RLENGTH)
				if (name in home && rank_of(home[name]) > rank_of(file)) {
					printf "%s:%d: %s() stands higher, in %s\n", file, line, name, home[name]
					failed = 1
				}
			}
		}
		close(file)
	}
	if (!failed)
		printf "core: %d files, no call goes up\n", count
	exit failed
}'
