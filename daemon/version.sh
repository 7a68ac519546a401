#!/bin/sh
# version.sh VERSION - prints the version of what is built from this tree: the tag of its commit (v1.2.3), otherwise VERSION-dev+gHASH. It
# ends with "dirty" if a file of the commit has been changed. Prints VERSION alone if the tree is not a checkout, or without git.
set -eu
cd "$(dirname "$0")/.."
# The tree may belong to another user than the one that builds.
git() { command git --no-optional-locks -c safe.directory='*' "$@" 2>/dev/null; }

if [ ! -e .git ] || ! hash=$(git rev-parse --short=12 HEAD); then
	echo "$1"
	exit
fi
tag=$(git describe --tags --exact-match --match 'v[0-9]*') || tag=
case $tag in
'' | *[!0-9A-Za-z.+~-]*) version=$1-dev+g$hash ;;
*) version=${tag#v} ;;
esac
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	case $version in
	*+*) version=$version.dirty ;;
	*) version=$version+dirty ;;
	esac
fi
echo "$version"
