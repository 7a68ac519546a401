#!/bin/sh
# page.sh [TREE] - the viewer makes no markup of text: what agents wrote becomes text nodes only, and its page keeps a strict CSP.
. "$(dirname "$0")/files.sh"

bad='innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|parseFromString|srcdoc|document\.write|(^|[^A-Za-z_.])eval\(|new Function'
found=$(lint_files | grep -E '^images/ui/src/.*\.(ts|tsx|mjs)$' | while IFS= read -r f; do
	grep -nE "$bad" "$f" | sed "s|^\([0-9]*\):.*|$f:\1: makes markup or code of text|" || true
done)
if [ -n "$found" ]; then
	printf '%s\n' "$found"
	exit 1
fi
echo "page: $(lint_files | grep -cE '^images/ui/src/' || true) files"
