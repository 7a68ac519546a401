#!/bin/sh
# format.sh [TREE] - clang-format 14 has nothing to change in any .c or .h; format.sh --fix changes it.
fix=
[ "${1:-}" != --fix ] || { fix=1; shift; }
. "$(dirname "$0")/files.sh"

# Another version formats differently, so a newer clang-format is as good as none.
tool=clang-format-14
if ! command -v $tool >/dev/null 2>&1 && clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	tool=clang-format
fi
if ! command -v $tool >/dev/null 2>&1 && [ "$(. /etc/os-release && echo "${VERSION_ID:-}")" = 13 ]; then
	echo "format: left out, Debian 13 has no clang-format 14"
	exit 0
fi
lint_need $tool
if [ ! -f .clang-format ]; then
	echo ".clang-format:0: missing"
	exit 1
fi
if [ -n "$fix" ]; then
	lint_c_files | xargs -r $tool --style=file -i
	exit
fi
# xargs ends with 123 when a batch failed.
lint_c_files | xargs -r $tool --style=file --dry-run -Werror --ferror-limit=5 2>&1 || {
	echo "format: run tests/lint/format.sh --fix"
	exit 1
}
echo "format: $(lint_c_files | wc -l) files"
