# unit.mk - unit tests and fuzz targets; included by the Makefile, which defines BUILD, OBJS and the flags.
#	unit           builds and runs all unit tests, or those of UNIT='test_buf test_err'
#	unit-valgrind  the same under valgrind
#	fuzz-corpora   runs every corpus through its target, as ordinary programs
#	fuzz           hunts with libFuzzer (clang), FUZZ_SECS for each target of FUZZ
#	fuzz-pack      packs the corpora, with what was added in build/corpus
FUZZ_SECS ?= 20
CLANG ?= $(or $(notdir $(shell command -v clang-14)),clang-19)

# Linking all of acpd costs seconds, and under sanitizers many: the tests are one program, and so are the corpora. main() of a
# test file becomes a function named after it; tests/unit/run.sh still runs each file in a process of its own.
UNIT_SRC := $(filter-out $(if $(HAVE_CURL),,tests/unit/fetch/%) $(if $(HAVE_CARES),,tests/unit/proxy/%),$(call sources,tests/unit))
UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(foreach f,$(UNIT_SRC),$(if $(filter test_%,$(notdir $(f))),$(f))))
# These put functions of their own in the place of the C library's, for the whole of their program.
UNIT_ALONE := unpack/test_commit_kill base/test_crc32c tree/test_tree usage/test_ahead \
	$(addprefix usage/test_ledger_,power retention rotate sync)
UNIT_TOGETHER := $(filter-out $(UNIT_ALONE),$(UNIT_TESTS))
UNIT_DIR := $(BUILD)/tests/unit
UNIT_BINS := $(UNIT_DIR)/unit $(UNIT_ALONE:%=$(UNIT_DIR)/%)
UNIT_LIB := $(patsubst tests/unit/%.c,$(UNIT_DIR)/%.o,$(filter-out tests/unit/main.c,$(wildcard tests/unit/*.c)))
FUZZ_LIB := $(UNIT_DIR)/fakehost.o $(BUILD)/tests/fuzz/adapter.o
FUZZ_ALL := $(filter-out $(if $(HAVE_CARES),,fuzz_sni fuzz_proxy_request), \
	$(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c))))
FUZZ ?= $(FUZZ_ALL:fuzz_%=%)
CORPORA := $(BUILD)/tests/fuzz/corpora
# Git has one archive of inputs for each target. They are unpacked into a folder, where .unpacked lists them: what a newer archive does not
# have any more is removed, and what was added stays.
CORPUS := build/corpus
UNPACKED := $(patsubst tests/fuzz/corpus/%.tar.gz,$(CORPUS)/%/.unpacked,$(wildcard $(FUZZ:%=tests/fuzz/corpus/%.tar.gz)))
# cli/ leans on main.o
UNIT_OBJS := $(filter-out $(BUILD)/obj/daemon/cli/%,$(OBJS))
comma := ,
UNIT_LIBS := $(LDLIBS) $(HELPER_LDLIBS) $(FETCH_LDLIBS) $(PROXY_LDLIBS)
# What tests/unit/session_world.c holds still for the tests of sessions; for all others it passes on.
WORLD_WRAPS := $(addprefix -Wl$(comma)--wrap=,clock_mono_ms tree_now loop_timer_set loop_timer_cancel loop_defer \
	loop_run_deferred ledger_sync ledger_wait_cancel $(addprefix proc_,spawn free pid stop kill sweep_turn measure host_count host_cgroups host_on_idle) \
	$(addprefix materialize_,start abort free) $(addprefix check_process_,start stop free))
# Test code runs for less long than its optimization takes.
UNIT_CFLAGS = $(CPPFLAGS) -Itests/unit $(CFLAGS) -O0 -U_FORTIFY_SOURCE -MMD -MP

$(BUILD)/tests/%.o: tests/%.c tests/unit/unit.mk Makefile
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(RENAMED) -c -o $@ $<
$(UNIT_TOGETHER:%=$(UNIT_DIR)/%.o): RENAMED = -Dmain=$(*F) -Wno-missing-prototypes
$(FUZZ_ALL:%=$(BUILD)/tests/fuzz/%.o): RENAMED = -DLLVMFuzzerTestOneInput=$(*F)

# What each of the two programs has: a line ROW(NAME) for each file, made anew when the folder changes.
$(UNIT_DIR)/list.h: tests/unit $(sort $(dir $(UNIT_SRC)))
	@mkdir -p $(@D)
	@printf 'ROW(%s)\n' $(notdir $(UNIT_TOGETHER)) >$@
$(BUILD)/tests/fuzz/list.h: tests/fuzz
	@mkdir -p $(@D)
	@printf 'ROW(%s)\n' $(FUZZ_ALL) >$@
$(UNIT_DIR)/main.o: $(UNIT_DIR)/list.h
$(UNIT_DIR)/main.o: RENAMED = -I$(UNIT_DIR)
$(BUILD)/tests/fuzz/main.o: $(BUILD)/tests/fuzz/list.h
$(BUILD)/tests/fuzz/main.o: RENAMED = -I$(BUILD)/tests/fuzz

$(UNIT_DIR)/unit: $(UNIT_DIR)/main.o $(UNIT_TOGETHER:%=$(UNIT_DIR)/%.o) $(UNIT_LIB) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(WORLD_WRAPS) -o $@ $(filter %.o,$^) $(UNIT_LIBS) -lcmocka
$(UNIT_ALONE:%=$(UNIT_DIR)/%): %: %.o $(UNIT_LIB) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(WORLD_WRAPS) -o $@ $< $(UNIT_LIB) $(UNIT_OBJS) $(UNIT_LIBS) -lcmocka
$(CORPORA): $(BUILD)/tests/fuzz/main.o $(FUZZ_ALL:%=$(BUILD)/tests/fuzz/%.o) $(FUZZ_LIB) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(UNIT_LIBS)
-include $(wildcard $(UNIT_DIR)/*.d $(UNIT_DIR)/*/*.d $(BUILD)/tests/fuzz/*.d)

$(CORPUS)/%/.unpacked: tests/fuzz/corpus/%.tar.gz
	@mkdir -p $(@D)
	@if [ -e $@ ]; then cd $(@D) && xargs -d '\n' rm -f -- <.unpacked; fi
	@tar -xzf $< -C $(@D)
	@tar -tzf $< >$@

.PHONY: unit unit-valgrind fuzz-corpora fuzz fuzz-pack
# These kill a program of theirs again and again, walk thousands of states, or hold many random trees and patches against another
# answer: what they call is under valgrind in the tests of the same folder, and they are under ASan themselves.
# The CONFINED give up calls that valgrind itself makes, or make some that it does not know; under a limit of memory it is too large.
CONFINED := test_caller test_confine_self test_confinement test_spaces test_spaces_life test_cgroups
NOT_VALGRIND := test_commit_kill test_ledger_power test_ledger_rotate test_patch_git test_apply_git test_ignore_git test_snapshot_git test_commit_random \
	test_diff_lines test_explore $(CONFINED)
# A fork copies all that ASan keeps of what was freed, 256 MB by default: those that fork hundreds of times would do little else.
unit: $(UNIT_BINS) $(PROGRAMS) ## unit tests: UNIT='test_buf test_err'
	@ASAN_OPTIONS=$$ASAN_OPTIONS:quarantine_size_mb=16 sh tests/unit/run.sh $(UNIT_DIR) $(UNIT)
unit-valgrind: $(UNIT_BINS) $(CORPORA) $(UNPACKED) $(PROGRAMS) ## unit tests of the release build, under valgrind where it can
	@$(if $(UNIT),:,sh tests/unit/run.sh $(UNIT_DIR) $(NOT_VALGRIND))
	@sh tests/unit/run.sh --valgrind $(UNIT_DIR) $(or $(UNIT),$(filter-out $(NOT_VALGRIND),$(notdir $(UNIT_TESTS))))
	@sh tests/unit/valgrind.sh $(CORPORA) --each $(CORPUS) $(FUZZ)
fuzz-corpora: $(CORPORA) $(UNPACKED) ## each corpus through its fuzz target
	@$(CORPORA) --each $(CORPUS) $(FUZZ)
fuzz-pack: $(UNPACKED) ## pack the corpora, with what was added in build/corpus: FUZZ='frames wire'
	@for t in $(FUZZ); do sh tests/fuzz/pack.sh $(CORPUS)/$$t tests/fuzz/corpus/$$t.tar.gz || exit 1; done

# libFuzzer needs clang, and every object built for it.
FUZZ_DIR := build/fuzz
FUZZ_FLAGS := -std=gnu11 -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link \
	-fno-sanitize-recover=undefined
FUZZ_OBJS := $(UNIT_OBJS:$(BUILD)/obj/%=$(FUZZ_DIR)/obj/%) $(FUZZ_LIB:$(BUILD)/%=$(FUZZ_DIR)/obj/%)

$(FUZZ_DIR)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) -Itests/unit $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<
$(FUZZ_DIR)/fuzz_%: $(FUZZ_DIR)/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJS)
	$(CLANG) -fsanitize=address,undefined,fuzzer -o $@ $^ $(UNIT_LIBS)
.SECONDARY: $(FUZZ_OBJS) $(FUZZ:%=$(FUZZ_DIR)/obj/tests/fuzz/fuzz_%.o)
-include $(wildcard $(FUZZ_OBJS:.o=.d) $(FUZZ_DIR)/obj/tests/fuzz/*.d)
fuzz: $(FUZZ:%=$(FUZZ_DIR)/fuzz_%) $(UNPACKED) ## hunt with libFuzzer: FUZZ_SECS=60 FUZZ='frames wire'
	@for t in $(FUZZ); do FUZZ_SECS=$(FUZZ_SECS) sh tests/fuzz/hunt.sh $(FUZZ_DIR)/fuzz_$$t $(CORPUS)/$$t || exit 1; done
