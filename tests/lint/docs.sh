#!/bin/sh
# docs.sh [TREE] - no line of a *.md file is longer than 120 characters. The man page is well formed and names every flag
# of the config table (daemon/cli/options/cli_options.c, where each row begins a line with OPT("name",).
. "$(dirname "$0")/files.sh"
lint_need mandoc

failed=0
# Bytes that continue a UTF-8 character are not counted.
wide=$(lint_files | grep '\.md$' | while IFS= read -r f; do
	awk -v file="$f" '{
		chars = $0
		gsub(/[\200-\277]/, "", chars)
		if (length(chars) > 120)
			printf "%s:%d: %d characters, 120 are allowed\n", file, FNR, length(chars)
	}' "$f"
done)
if [ -n "$wide" ]; then
	printf '%s\n' "$wide"
	failed=1
fi

page=daemon/acpd.1
table=daemon/cli/options/cli_options.c
if [ ! -f $page ]; then
	echo "$page:0: the man page is missing"
	exit 1
fi
# Remarks of style are not asked for.
found=$(mandoc -T lint -W warning $page 2>&1 | sed 's/^mandoc: //')
if [ -n "$found" ]; then
	printf '%s\n' "$found"
	failed=1
fi

if [ ! -f $table ]; then
	echo "docs: $table does not exist yet, its flags are not checked"
	exit $failed
fi
# mdoc writes a long flag as "Fl Fl name" or "\-\-name"; both become --name, each on a line of its own.
flags=$(sed -e 's/Fl Fl  */--/g' -e 's/\\-/-/g' $page | tr -c 'a-zA-Z0-9-' '\n' | grep -e '^--' | sort -u)
awk -v page=$page -v flags="$flags" '
BEGIN {
	n = split(flags, list, "\n")
	for (i = 1; i <= n; i++)
		known[list[i]] = 1
}
/^[ \t]*OPT\("/ {
	rows++
	split($0, part, "\"")
	if (!(("--" part[2]) in known)) {
		printf "%s:%d: --%s is not in %s\n", FILENAME, FNR, part[2], page
		failed = 1
	}
}
END {
	if (!rows) {
		printf "%s:0: no row OPT(\"name\", ...) found\n", FILENAME
		failed = 1
	}
	if (!failed)
		printf "docs: %d flags, all in %s\n", rows, page
	exit failed
}' $table || failed=1
exit $failed
