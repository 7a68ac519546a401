#!/bin/sh
# additions.sh - what a new parameter and a new part of a session touch: in a copy of the tree each is added to at most two files that
# were there before, compiles, and passes the lint; and a parameter that no page has is refused.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

complain() {
	printf 'additions: %s\n' "$*"
	failed=1
}

# begin: the tree as it is.
begin() {
	rm -rf "$tree"
	mkdir -p "$tree/tests"
	cp -r "$top/daemon" "$top/harnesses" "$top/tools" "$top/.clang-format" "$tree/"
	cp -r "$here" "$tree/tests/lint"
}

# end WHAT FILE...: these files compile; those that were there before and differ now are at most two; and the lint finds nothing.
end() {
	what=$1
	shift
	touched=$(diff -rq "$top/daemon" "$tree/daemon" | grep -c '^Files' || true)
	[ "$touched" -le 2 ] || complain "$what touches $touched files"
	for file; do
		(cd "$tree" && "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Idaemon -I. -Wall -Werror -fsyntax-only "$file") ||
			complain "$what: $file does not compile"
	done
	for lint in parameters parts layers names; do
		sh "$here/$lint.sh" "$tree" >"$tree/said" 2>&1 || complain "$what: $lint.sh says: $(head -3 "$tree/said")"
	done
}

# A parameter of the first part that has one: its row, its line in the list of the part, and its line of the page.
file=$(cd "$top" && grep -rl '[.]parameters = PARAMETERS(' daemon/session/parts | sort | head -1)
page=daemon/protocol/parameters.md
begin
sed -i -e 's|^const struct session_part [a-z]*_part = {|static const struct session_parameter dummy_parameter = {\
	PARAMETER("dummy", STR, "a word for nothing"),\
	.max = 8,\
	.order = { .stored = PARAMETER_LAST },\
};\
\
&|' -e 's|\.parameters = PARAMETERS(|&\&dummy_parameter, |' "$tree/$file"
cmp -s "$top/$file" "$tree/$file" && complain "nothing was added to $file"
sh "$here/parameters.sh" "$tree" >/dev/null 2>&1 && complain 'a parameter that no page has was not refused'
sed -i 's/^| `model` |/| `dummy` | a word for nothing, as an example |\n&/' "$tree/$page"
end 'a parameter' $file

# A part: a folder, and its row.
file=daemon/session/parts/dummy/dummy_part.c rows=daemon/session/parts/session_parts.h
begin
mkdir "$tree/daemon/session/parts/dummy"
printf '#include "session/parts/session_parts.h"\n\nconst struct session_part dummy_part = {\n\t.name = "dummy",\n};\n' >"$tree/$file"
sed -i 's|^\tX(TRACE, trace)\( *\\\)$|&\n\tX(DUMMY, dummy)\1|' "$tree/$rows"
cmp -s "$top/$rows" "$tree/$rows" && complain "nothing was added to $rows"
end 'a part' $file daemon/session/parts/session_parts.c

[ $failed = 0 ] && echo 'additions: a parameter and a part, in at most two files each'
exit $failed
