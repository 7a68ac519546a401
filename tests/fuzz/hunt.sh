#!/bin/sh
# hunt.sh PROGRAM - lets libFuzzer look for FUZZ_SECS seconds, starting from the corpus; findings stay in found/
# beside the program and make it fail. One core, at the lowest priority.
set -u
here=$(dirname "$0")
target=$(basename "$1")
name=${target#fuzz_}
work=$(dirname "$1")/work/$name
found=$(dirname "$1")/found
mkdir -p "$work" "$found"
code=0
nice -n 19 "$1" "$work" "$here/corpus/$name" -dict="$here/json.dict" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
	-max_total_time="${FUZZ_SECS:-20}" -print_final_stats=1 -artifact_prefix="$found/$name-" \
	>"$found/$name.log" 2>&1 || code=$?
grep -a -h -e 'stat::number_of_executed_units' -e 'stat::average_exec_per_sec' "$found/$name.log" |
	sed "s/^stat::/$name: /"
[ $code = 0 ] || { tail -n 60 "$found/$name.log"; echo "$name: FOUND, see $found"; }
exit $code
