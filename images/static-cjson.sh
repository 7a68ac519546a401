#!/bin/sh
# static-cjson.sh DIR - libcjson.a in DIR, from the source package of this Debian release, whose libcjson-dev has no static library.
# Everything else that `make static` links is in packages (tests/install-deps.sh static). Once; needs the package mirror.
set -eu

mkdir -p "$1/source/lists/partial"
cd "$1"
[ ! -e libcjson.a ] || exit 0
cd source
sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >src.sources
apt() {
	apt-get -qq -o Dir::Etc::sourcelist="$PWD/src.sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$PWD/lists" "$@"
}
apt update
apt source --download-only cjson 2>/dev/null
tar -xf cjson_*.orig.tar.*
tar -xf cjson_*.debian.tar.*
top=$(find . -maxdepth 1 -iname 'cjson-*' -type d)
for patch in $(cat debian/patches/series 2>/dev/null); do
	patch -s -d "$top" -p1 <"debian/patches/$patch"
done
gcc -O2 -fPIE -ffunction-sections -fdata-sections -c "$top/cJSON.c" -o cJSON.o
ar rcs ../libcjson.a cJSON.o
