#!/bin/sh
# selftest.sh - every lint script passes on a clean tree and fails, naming file and line, on each planted violation.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0 tests=0

# put FILE: standard input becomes FILE of the tree.
put() {
	mkdir -p "$tree/$(dirname "$1")"
	cat >"$tree/$1"
}

clean() {
	rm -rf "$tree"
	mkdir -p "$tree"
	cp "$here/../../.clang-format" "$tree/"
	printf '#pragma once\n\n#include <stddef.h>\n\nint buf_len(const char *s);\n' | put daemon/base/buf.h
	printf '#include "base/buf.h"\n\n#include <string.h>\n#include <sys/types.h>\n\n' | put daemon/base/buf.c
	printf 'int buf_len(const char *s)\n{\n\treturn (int)strlen(s);\n}\n' >>"$tree/daemon/base/buf.c"
	printf '#include "acp/acp_server.h"\n#include "net/ws.h"\n\n#include <libwebsockets.h>\n' | put daemon/net/ws.c
	printf '#include "harnesses/harness.h"\n#include "rpc/rpc.h"\n' | put harnesses/x/x.c
	printf '#include <openssl/sha.h>\n' | put daemon/digest/sha.c
	printf '#include <cjson/cJSON.h>\n' | put daemon/json/jdec.c
	printf '#include "session/core/session.h"\n#include "unit.h"\n' | put tests/unit/test.c
	printf 'static const struct opt rows[] = {\n\tOPT("listen", "x"),\n\tOPT("run-dir", "x"),\n};\n' |
		put daemon/cli/options/cli_options.c
	printf '.Dd January 1, 2026\n.Dt ACPD 1\n.Os\n.Sh NAME\n.Nm acpd\n.Nd test\n.Sh DESCRIPTION\n' | put daemon/acpd.1
	printf '.Fl Fl listen\n.Fl Fl run-dir ,\n' >>"$tree/daemon/acpd.1"
	printf 'harnesses/registry.c\nsee ws/work/a\n' | put README.md
}

# expect SCRIPT PASS|FILE:LINE: runs it on the tree.
expect() {
	tests=$((tests + 1))
	code=0
	out=$(sh "$here/$1" "$tree" 2>&1) || code=$?
	case $2 in
	PASS) [ "$code" = 0 ] && return ;;
	*) [ "$code" = 1 ] && printf '%s\n' "$out" | grep -q "^$2:" && return ;;
	esac
	failed=1
	printf 'selftest: %s: expected %s, got exit %s:\n%s\n' "$1" "$2" "$code" "$out"
}

# include FILE LINE: the include must be refused by layers.sh.
include() {
	clean
	printf '/* one */\n#include %s\n' "$2" | put "$1"
	expect layers.sh "$1:2"
}

clean
for script in layers folders parts core parameters names sizes format cppcheck words docs paths page vanishing; do
	expect $script.sh PASS
done

clean
printf '/* one */\n#include "session/parts/draft/draft_internal.h"\n' | put daemon/session/core/a.c
expect parts.sh daemon/session/core/a.c:2
clean
printf '/* one */\n#include "session/parts/draft/draft_internal.h"\n' | put daemon/session/parts/mcp/a.c
expect parts.sh daemon/session/parts/mcp/a.c:2

clean
printf 'void turn_go(void)\n{\n}\n' | put daemon/session/core/turn/a.c
printf 'void event_go(void)\n{\n\tturn_go();\n}\n' | put daemon/session/core/log/b.c
expect core.sh daemon/session/core/log/b.c:3
clean
printf 'void turn_go(void)\n{\n}\n' | put daemon/session/core/new/a.c
expect core.sh daemon/session/core/new/a.c:0

clean
printf 'void one_go(void)\n{\n\ttwo_go();\n}\n' | put daemon/one/a.c
printf 'void two_go(void)\n{\n}\n' | put daemon/two/b.c
expect folders.sh PASS
printf 'void two_go(void)\n{\n\ts->one_go();\n\tone_go();\n}\n' | put daemon/two/b.c
expect folders.sh daemon/two/b.c:4

t() { printf '## The members\n\n| member | meaning |\n|---|---|\n%s\n' "$1" | put daemon/protocol/parameters.md; }
row() { printf 'const struct session_parameter a = {\n\tPARAMETER("a", STR, "what it is"),\n};\n' | put "$1"; }
c=daemon/session/core/a.c
clean; row $c; t '| `a` | what it is, below |'; expect parameters.sh PASS
clean; row $c; t '| `a` `b` | both |'; expect parameters.sh PASS
clean; row $c; t '| `b` | what it is |'; expect parameters.sh $c:2
clean; row $c; t '| `a` | what it was |'; expect parameters.sh $c:2
clean; row $c; row daemon/session/parts/mcp/b.c; t '| `a` | what it is |'; expect parameters.sh daemon/session/parts/mcp/b.c:2

while read -r file what; do
	include "$file" "$what"
done <"$here/selftest-includes.txt"

clean; mkdir "$tree/daemon/other"; : >"$tree/daemon/other/a.c"; expect layers.sh daemon/other/a.c:0

s='struct a {\n\tint x;\n};\n'
clean; printf '\n' | put daemon/net/buf.h; expect names.sh daemon/net/buf.h:0
clean; printf '\n' | put tools/a/buf.mjs; expect names.sh tools/a/buf.mjs:0
clean; printf '\n' | put daemon/base/sub/buf.c; expect names.sh daemon/base/sub/buf.c:0
f='static int finish(void)\n{\n}\n'
clean; printf "$f" >>"$tree/daemon/base/buf.c"; printf "\n$f" | put tools/a/b.c; expect names.sh tools/a/b.c:2
clean; printf '\n' | put tests/unit/buf.c; expect names.sh PASS
clean; printf '\n' | put harnesses/y/x.c; expect names.sh PASS
clean; printf '\n' | put harnesses/x.c; expect names.sh harnesses/x/x.c:0
clean; printf '\n' | put harnesses/x/sub/x.c; expect names.sh harnesses/x/x.c:0
clean; printf "$s" >>"$tree/daemon/base/buf.h"; printf "\n$s" | put tools/a/b.c; expect names.sh tools/a/b.c:2
clean; printf "$s" >>"$tree/daemon/base/buf.h"; printf 'static const enum a {' | put tools/a/b.c; expect names.sh tools/a/b.c:1
clean; printf "$s" >>"$tree/daemon/base/buf.h"; printf 'struct a;\nstruct a *a = &(struct a){ 0 };\n' | put tools/a/b.c; expect names.sh PASS
clean; printf "$s" >>"$tree/harnesses/x/x.c"; printf "$s" | put harnesses/y/y.c; expect names.sh PASS
printf "$s" | put harnesses/y/z.c; expect names.sh harnesses/y/z.c:1

clean; yes '' | head -n 501 | put daemon/base/long.h; expect sizes.sh daemon/base/long.h:501
clean; yes '' | head -n 501 | put tests/x.mjs; expect sizes.sh tests/x.mjs:501
body() { printf 'int f(void) /* { */\n{\n'; yes '	g("{", 0x7b);' | head -n "$1"; printf '}\n'; }
clean; body 98 | put daemon/base/f.c; expect sizes.sh PASS
clean; body 99 | put daemon/base/f.c; expect sizes.sh daemon/base/f.c:2
clean; for i in 1 2 3; do body 17 | put daemon/base/f$i.c; done; expect sizes.sh 'all functions:0'
clean; printf 'int f(void)\n{\n' | put daemon/base/f.c; expect sizes.sh daemon/base/f.c:2

clean; printf 'int f(void) {\n  return 1; }\n' | put daemon/base/f.c; expect format.sh daemon/base/f.c:1
clean; rm "$tree/.clang-format"; expect format.sh .clang-format:0

clean; printf 'int f(int *p);\nint f(int *p)\n{\n\tint a[2];\n\n\ta[2] = *p;\n\treturn a[0];\n}\n' | put daemon/net/f.c
expect cppcheck.sh daemon/net/f.c:6

r=registry
clean; printf 'one\nhttps://%s.example.org/x\n' $r | put a.sh; expect words.sh a.sh:2
clean; printf '%s.npmjs.org\n' $r | put a.md; expect words.sh a.md:1
clean; printf '"resolved": "x"\n' | put tests/package-lock.json; expect words.sh tests/package-lock.json:1
clean; printf 'see /%s/main\n' work | put daemon/a.c; expect words.sh daemon/a.c:1
clean; printf 'a \n' | put daemon/a.c; expect words.sh daemon/a.c:1
clean; printf 'a \n' | put tests/fixtures/a.json; expect words.sh PASS

clean; printf '\tOPT("state", "x"),\n' >>"$tree/daemon/cli/options/cli_options.c"; expect docs.sh daemon/cli/options/cli_options.c:5
clean; printf 'none\n' | put daemon/cli/options/cli_options.c; expect docs.sh daemon/cli/options/cli_options.c:0
clean; printf '%0120d\n' 0 | put a.md; expect docs.sh PASS
clean; printf 'one\n%0121d\n' 0 | put tools/a.md; expect docs.sh tools/a.md:2
clean; printf '| %0119d |\n' 0 | put a.md; expect docs.sh a.md:1
clean; printf '%0119d\303\244\n' 0 | put a.md; expect docs.sh PASS
clean; rm "$tree/daemon/acpd.1"; expect docs.sh daemon/acpd.1:0
clean; printf '.Xx bad\n' >>"$tree/daemon/acpd.1"; expect docs.sh daemon/acpd.1:10
clean; rm "$tree/daemon/cli/options/cli_options.c"; expect docs.sh PASS

s='\treturn err_set(e, -1, 0,\n\t\t"NOT_SAID", "x");\n\tf("NO_REASON");\n'
clean; printf "$s" >>"$tree/daemon/base/buf.c"; printf '`NOT_SAID`\n' | put daemon/a.md; expect reasons.sh PASS
rm "$tree/daemon/a.md"; expect reasons.sh daemon/base/buf.c:11

clean; printf 'see `daemon/base/gone.c`\n' | put a.md; expect paths.sh a.md:1
clean; printf 'see `daemon/base/buf.h` and `tools/call`\n' | put a.md; expect paths.sh PASS

clean; printf 'one\ne.innerHTML = x;\n' | put images/ui/src/a.tsx; expect page.sh images/ui/src/a.tsx:2
clean; printf 'const f = eval(x);\n' | put images/ui/src/a.ts; expect page.sh images/ui/src/a.ts:1
clean; printf 'retrieval(x); // no innerHTML\n' | put images/ui/main.ts; expect page.sh PASS

v() { clean; printf 'one\n%s\n' "$1" | put "tests/$2"; }
p=/proc/
v "const a = fs.readFileSync(\`$p\${pid}/status\`);" a.mjs; expect vanishing.sh tests/a.mjs:2
v "const a = '$p' + pid;" integration/a.test.mjs; expect vanishing.sh tests/integration/a.test.mjs:2
v "path.join('/proc', pid)" a.mjs; expect vanishing.sh tests/a.mjs:2
v "fs.statSync(procs.at(pid))" a.mjs; expect vanishing.sh tests/a.mjs:2
v 'fs.readdirSync(dir, { recursive: true })' a.mjs; expect vanishing.sh tests/a.mjs:2
v "fs.readFileSync('${p}meminfo'); run(\`cat $p\${pid}/stat\`);" a.mjs; expect vanishing.sh PASS
v "const at = (pid) => \`$p\${pid}\`;" lib/procs.mjs; expect vanishing.sh PASS

# fault ID FILE FROM TEST: an element of the list.
fault() { printf "\t{ id: '%s', file: '%s', test: '%s', why: 'w', from: '%s', to: '' },\n" "$1" "$2" "$4" "$3"; }
m() {
	clean; mkdir -p "$tree/tests/mutants" "$tree/tests/unit/base"
	cp "$here/../mutants/run.mjs" "$tree/tests/mutants/"; : >"$tree/tests/unit/base/test_buf.c"
	{ printf 'export const MUTANTS = [\n'; cat; printf '];\n'; } | put $l
}
l=tests/mutants/list.mjs f=daemon/base/buf.c x=harnesses/x/x.c
{ fault a $f 'strlen(s)' test_buf; fault b $x rpc.h $l; } | m; expect mutants.sh PASS
fault a $f 'strlen(t)' test_buf | m; expect mutants.sh $l:2
fault a $f include test_buf | m; expect mutants.sh $l:2
fault a daemon/gone.c x test_buf | m; expect mutants.sh $l:2
fault a $f 'strlen(s)' test_gone | m; expect mutants.sh $l:2
fault a $f 'strlen(s)' tests/gone.mjs | m; expect mutants.sh $l:2
{ fault a $f 'strlen(s)' test_buf; fault a $x rpc.h test_buf; } | m; expect mutants.sh $l:3
{ fault a $f 'strlen(s)' test_buf; fault b $f return test_buf; } | m; expect mutants.sh $l:3

if command -v git >/dev/null; then # what git ignores is not looked at
	clean; git -C "$tree" init -q; printf 'out/\n' | put .gitignore; printf 'a \n' | put out/a.md
	expect words.sh PASS
	printf 'a \n' | put a.md; expect words.sh a.md:1
fi

[ $failed = 0 ] && echo "lint selftest: $tests checks"
exit $failed
