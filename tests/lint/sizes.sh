#!/bin/sh
# sizes.sh [TREE] - files of at most 500 lines; C functions of at most 100 lines, with a median of at most 18. A
# function counts from its opening to its closing brace, both included.
. "$(dirname "$0")/files.sh"
LINT_FILE_MAX=500
LINT_FUNCTION_MAX=100
LINT_MEDIAN_MAX=18
export LINT_FILE_MAX LINT_FUNCTION_MAX LINT_MEDIAN_MAX

{
	lint_c_files
	lint_files | grep -E '\.(mjs|sh|awk)$' || true
} | awk -f "$lint_dir/sizes.awk"
