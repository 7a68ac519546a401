#!/bin/sh
# hunt.sh PROGRAM CORPUS - runs libFuzzer for FUZZ_SECS seconds on the inputs in the directory CORPUS. Adds a finding there, so that
# make fuzz-corpora fails until it is fixed, and fails. One core, at the lowest priority.
set -u
here=$(dirname "$0")
target=$(basename "$1")
name=${target#fuzz_}
work=$(dirname "$1")/work/$name
corpus=$2
log=$(dirname "$1")/$name.log
mkdir -p "$work" "$corpus"
code=0
nice -n 19 "$1" "$work" "$corpus" -dict="$here/json.dict" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
	-max_total_time="${FUZZ_SECS:-20}" -print_final_stats=1 -artifact_prefix="$corpus/" \
	>"$log" 2>&1 || code=$?
grep -a -h -e 'stat::number_of_executed_units' -e 'stat::average_exec_per_sec' "$log" |
	sed "s/^stat::/$name: /"
[ $code = 0 ] || { tail -n 60 "$log"; echo "$name: FOUND, see $corpus and $log"; }
exit $code
