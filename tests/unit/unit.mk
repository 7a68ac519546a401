# unit.mk - unit tests and fuzz targets; included by the Makefile, which defines BUILD, OBJS and the flags.
#	unit           builds and runs all unit tests
#	unit-valgrind  the same under valgrind
#	fuzz-corpora   runs every corpus through its target, as ordinary programs
#	fuzz           hunts with libFuzzer (clang), FUZZ_SECS for each target of FUZZ
FUZZ_SECS ?= 20
CLANG ?= $(or $(notdir $(shell command -v clang-14)),clang-19)

UNIT_TESTS := $(basename $(notdir $(wildcard tests/unit/test_*.c)))
UNIT_BINS := $(UNIT_TESTS:%=$(BUILD)/tests/unit/%)
UNIT_LIB := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%.o,\
	$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
FUZZ_LIB := $(BUILD)/tests/unit/fakehost.o $(BUILD)/tests/fuzz/adapter.o
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ:%=$(BUILD)/tests/fuzz/fuzz_%)
# cli/ leans on main.o
UNIT_OBJS := $(filter-out $(BUILD)/obj/daemon/cli/%,$(OBJS))
UNIT_LIBS := $(LDLIBS) $(HELPER_LDLIBS)
UNIT_CFLAGS = $(CPPFLAGS) -Itests/unit $(CFLAGS) -MMD -MP

$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) -c -o $@ $<
$(UNIT_BINS): %: %.o $(UNIT_LIB) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(UNIT_LIB) $(UNIT_OBJS) $(UNIT_LIBS) -lcmocka
$(FUZZ_BINS): %: %.o $(BUILD)/tests/fuzz/main.o $(FUZZ_LIB) $(UNIT_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(UNIT_LIBS)
.SECONDARY: $(UNIT_BINS:%=%.o) $(FUZZ_BINS:%=%.o)
-include $(wildcard $(BUILD)/tests/unit/*.d $(BUILD)/tests/fuzz/*.d)

.PHONY: unit unit-valgrind fuzz-corpora fuzz
unit: $(UNIT_BINS)
	@sh tests/unit/run.sh $^
unit-valgrind: $(UNIT_BINS) $(FUZZ_BINS)
	@sh tests/unit/run.sh --valgrind $(UNIT_BINS)
	@for t in $(FUZZ); do \
		sh tests/unit/valgrind.sh $(BUILD)/tests/fuzz/fuzz_$$t tests/fuzz/corpus/$$t || exit 1; \
	done
fuzz-corpora: $(FUZZ_BINS)
	@for t in $(FUZZ); do $(BUILD)/tests/fuzz/fuzz_$$t tests/fuzz/corpus/$$t || exit 1; done

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
fuzz: $(FUZZ:%=$(FUZZ_DIR)/fuzz_%)
	@for t in $(FUZZ); do FUZZ_SECS=$(FUZZ_SECS) sh tests/fuzz/hunt.sh $(FUZZ_DIR)/fuzz_$$t || exit 1; done
