#!/bin/sh
# cppcheck.sh [TREE] - warnings, performance and portability findings. A false one is silenced where it stands:
# cppcheck-suppress id in a comment, with the reason. System headers are left out, cppcheck knows libc from its own
# tables. Silenced everywhere: what is not reentrant (no program here has a second thread), a bare NULL at the end of
# variable arguments (with glibc it is a pointer), and leaks: cppcheck 2.10 does not know the cleanup attribute; the
# sanitizers and valgrind do. Of what 2.17 (Debian 13) says besides: how far it looks; in tests, memory that may run out (a test
# that dies has failed), and a text that stands in a check to be read.
. "$(dirname "$0")/files.sh"
lint_need cppcheck

silenced=$(printf -- '--suppress=%s ' missingIncludeSystem unmatchedSuppression varFuncNullUB resourceLeak memleak \
	readdirCalled getpwnamCalled getpwuidCalled getgrnamCalled gmtimeCalled localtimeCalled strtokCalled \
	normalCheckLevelMaxBranches 'nullPointerOutOfMemory:tests/*' 'nullPointerOutOfResources:tests/*' \
	'nullPointerArithmeticOutOfMemory:tests/*' 'incorrectStringBooleanError:tests/fuzz/*')

cache=build/lint/cppcheck
mkdir -p "$cache"
list=$cache/files
lint_c_files | grep '\.c$' >"$list" || { echo "cppcheck: no C file found"; exit 2; }
# shellcheck disable=SC2086 # a list of words
cppcheck --quiet --std=c11 --platform=unix64 --library=posix --language=c -j 2 \
	--enable=warning,performance,portability --inline-suppr --error-exitcode=1 $silenced \
	--cppcheck-build-dir="$cache" --template='{file}:{line}: {severity}: {id}: {message}' \
	-D_GNU_SOURCE -D__linux__ -D__x86_64__ -D__cppcheck__ -I daemon -I . -I tests/unit --file-list="$list"
echo "cppcheck: $(wc -l <"$list") files"
