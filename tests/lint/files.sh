# files.sh - sourced by the lint scripts. Moves to the tree to check (first argument, else the repository this
# script stands in) and lists its files one a line: what git tracks or would track; without git, all but build output.

set -eu
LC_ALL=C
export LC_ALL
lint_dir=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$lint_dir/../..}"

# All text files that belong to the tree.
lint_files() {
	if [ -e .git ] && command -v git >/dev/null 2>&1; then
		# ls-files also names files that are deleted but not yet committed as such.
		git -c safe.directory='*' ls-files -co --exclude-standard | sort -u | while IFS= read -r f; do
			[ ! -f "$f" ] || printf '%s\n' "$f"
		done
	else
		find . \( -name .git -o -name node_modules -o -name build -o -name .cache \) -prune \
			-o -type f -print | sed 's|^\./||' | sort
	fi
}

# The C files and headers.
lint_c_files() {
	lint_files | grep -E '^(daemon|harnesses|tools|tests|images)/.*\.[ch]$' || true
}

# Stops with 2 (not a finding, but not a pass either) when a tool is missing.
lint_need() {
	command -v "$1" >/dev/null 2>&1 && return
	echo "$(basename "$0"): $1 is not installed; run: make test-deps" >&2
	exit 2
}
