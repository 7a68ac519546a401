#!/bin/sh
# run.sh - what make lint runs: first the proof that the lint scripts find what they should, then all of them, to the
# end even when one fails.
cd "$(dirname "$0")" || exit 2
failed=0
for script in selftest additions layers folders parts core parameters names sizes format cppcheck words docs reasons paths page vanishing api mutants; do
	sh ./$script.sh || failed=1
done
exit $failed
