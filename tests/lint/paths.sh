#!/bin/sh
# paths.sh [TREE] - a file that a page of the docs names in backticks, from the top of the tree, is there.
. "$(dirname "$0")/files.sh"
named='`\(daemon\|harnesses\|tools\|tests\|images\)/[a-z0-9_./-]*\.[a-z0-9]*`' # a part in capitals stands for a name
found=$(for page in $(lint_files | grep '\.md$'); do
	grep -no "$named" "$page" | tr -d '\140' | while IFS=: read -r line path; do
		[ -e "$path" ] || echo "$page:$line: there is no $path"
	done
done)
if [ -n "$found" ]; then
	printf '%s\n' "$found"
	exit 1
fi
echo "paths: what the docs name is there"
