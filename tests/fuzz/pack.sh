#!/bin/sh
# pack.sh DIRECTORY ARCHIVE - packs the inputs of a fuzz target, which make fuzz-pack does. The same inputs give the same bytes, and ARCHIVE
# is then not written.
set -eu
umask 022
names=$(find "$1" -maxdepth 1 -type f ! -name '.*' -printf '%f\n' | LC_ALL=C sort)
[ -n "$names" ] || { echo "pack.sh: $1 has no input" >&2; exit 1; }
trap 'rm -f "$2.tar" "$2.new"' EXIT
printf '%s\n' "$names" | tar -C "$1" --verbatim-files-from -T - --format=ustar --owner=0 --group=0 --numeric-owner --mode=0644 \
	--mtime=@0 -cf "$2.tar"
gzip -9nc "$2.tar" >"$2.new"
cmp -s "$2.new" "$2" || mv "$2.new" "$2"
