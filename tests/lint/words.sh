#!/bin/sh
# words.sh [TREE] - what must not stand in the tree: the host of a package registry (a lock file names packages and
# hashes, never where they came from), absolute paths of the machine something was built on, trailing whitespace.
# Recorded data keeps its whitespace, binary files are not read.
. "$(dirname "$0")/files.sh"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# Files that have lines and are text: with -I, grep finds nothing in a binary one.
lint_files | tr '\n' '\0' | xargs -0 -r grep -Il -e '' -- >"$list" || true
if [ ! -s "$list" ]; then
	echo "words: no file found"
	exit 2
fi

awk '
function bad(text) { printf "%s:%d: %s\n", file, line, text; failed = 1 }

# True when text holds an absolute path below one of the given tops; a relative path that merely contains the
# word ("ws/work/a", "$dir/build/x") is none.
function absolute(text, tops) {
	return text ~ ("(^|[^A-Za-z0-9_.~/}*$)-])/(" tops ")/")
}
{
	file = $0
	recorded = file ~ /(^|\/)(corpus|corpora|fixtures|transcripts)\//
	line = 0
	while ((getline text < file) > 0) {
		line++
		if (text ~ /:\/\/[^\/ ]*registry\./ ||
		    text ~ /registry\.[a-z0-9-]+\.(org|com|io|dev|net|cn)([^a-z]|$)/)
			bad("names the host of a package registry")
		if (file ~ /lock\.(json|yaml)$/ && text ~ /"resolved"/)
			bad("a lock file must not say where a package came from")
		if (absolute(text, "work|builds|Users|home/runner|github/workspace"))
			bad("names a path of a build machine")
		if (text ~ /[ \t\r]$/ && !recorded)
			bad("trailing whitespace")
	}
	close(file)
	files++
}
END {
	if (!failed)
		printf "words: %d files\n", files
	exit failed
}' "$list"
