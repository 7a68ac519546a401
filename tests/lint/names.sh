#!/bin/sh
# names.sh [TREE] - in daemon/, harnesses/ and tools/ a name stands for one thing: no base name of a file stands in two folders (a .c
# and its .h are one), no tag of a struct, union or enum is defined in two files, and no static function has the name of one in
# another file. The folders of the harnesses are parallel implementations of one contract: among them names may be the same.
. "$(dirname "$0")/files.sh"
lint_files | grep -E '^(daemon|harnesses|tools)/.*\.(c|h|mjs)$' | awk -f "$lint_dir/names.awk"
