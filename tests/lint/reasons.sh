#!/bin/sh
# reasons.sh [TREE] - every reason of an error, a literal in a call of err_set or err_field, is a word of a page of the
# docs or of the man page: whoever gets it can look it up.
. "$(dirname "$0")/files.sh"

pages=$(lint_files | grep -E '^(daemon|harnesses|tools|images)/.*(\.md|\.1)$' || true)
words=$(printf '%s\n' "$pages" | while IFS= read -r f; do
	[ -z "$f" ] || tr -c 'A-Z0-9_' '\n' <"$f"
done | grep _ | sort -u || true)

# A call may stand over several lines, up to the one that ends in a semicolon.
found=$(lint_files | grep -E '^(daemon|harnesses|tools)/.*\.[ch]$' | while IFS= read -r f; do
	awk -v words="$words" '
	BEGIN {
		n = split(words, list, "\n")
		for (i = 1; i <= n; i++)
			known[list[i]] = 1
	}
	function look(text) {
		while (match(text, /"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+"/)) {
			word = substr(text, RSTART + 1, RLENGTH - 2)
			if (!(word in known))
				printf "%s:%d: reason %s is in no page of the docs\n", FILENAME, FNR, word
			text = substr(text, RSTART + RLENGTH)
		}
	}
	!inside && match($0, /(^|[^a-z_])err_(set|field)\(/) { inside = 1; $0 = substr($0, RSTART) }
	inside { look($0); inside = $0 !~ /;[ \t]*(\/\*.*)?$/ }
	' "$f"
done)
if [ -n "$found" ]; then
	printf '%s\n' "$found"
	exit 1
fi
echo "reasons: all in the docs"
