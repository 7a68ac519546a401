# bench.mk - the benchmarks; included by the Makefile, which defines BUILD, CC, CFLAGS, NODE and ENV.
#	bench        the daemon beside bare references; BENCH_QUICK=1: a short run; PARTS="archives rest": only those
#	bench-sandboxes  its part confine, beside bubblewrap and srt, which it installs
#	bench-peers  the daemon beside the npm package sandbox-agent, installed into build/peers
# They print and judge, and never fail on a figure.
BENCH_DIR := $(BUILD)/bench
BENCH_BINS := $(BENCH_DIR)/client $(BENCH_DIR)/growth $(BENCH_DIR)/start $(BENCH_DIR)/bare $(BENCH_DIR)/bare-linked $(BENCH_DIR)/cost $(BENCH_DIR)/mcp $(BENCH_DIR)/model \
	$(BENCH_DIR)/filter $(BENCH_DIR)/levels $(BENCH_DIR)/tunnel $(BENCH_DIR)/floor
BENCH_LIB := $(addprefix tests/bench/,acp.c args.c wire.c sse.c probe.c)
BENCH_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARN) $(WERROR)
BENCH_ENV = ACPD=$(abspath $(BUILD)/acpd) ACPD_STUB=$(abspath $(BUILD)/stub-agent)

$(addprefix $(BENCH_DIR)/,client growth mcp model): $(BENCH_DIR)/%: tests/bench/%.c $(BENCH_LIB) $(wildcard tests/bench/*.h)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $< $(BENCH_LIB)
$(BENCH_DIR)/start: tests/bench/start.c $(filter-out tests/bench/acp.c tests/bench/args.c,$(BENCH_LIB)) $(wildcard tests/bench/*.h)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $(filter %.c,$^)
$(BENCH_DIR)/bare $(BENCH_DIR)/tunnel: $(BENCH_DIR)/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $<
# The same relay with the libraries of acpd, none of which it calls: what these cost at a start, and in memory.
$(BENCH_DIR)/bare-linked: tests/bench/bare.c
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Wl,--no-as-needed -o $@ $< $(LDLIBS)
$(BENCH_DIR)/cost $(BENCH_DIR)/floor: $(BENCH_DIR)/%: tests/bench/%.c tests/bench/probe.c tests/bench/probe.h
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $(filter %.c,$^)
$(BENCH_DIR)/filter: tests/bench/filter.c tests/bench/probe.c tests/bench/probe.h $(OBJS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Idaemon -o $@ $(filter %.c,$^) $(filter $(BUILD)/obj/daemon/confine/% $(BUILD)/obj/daemon/base/%,$^) -lseccomp
$(BENCH_DIR)/levels: tests/bench/levels.c tests/bench/probe.c tests/bench/probe.h $(UNIT_OBJS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Idaemon -o $@ $(filter %.c,$^) $(UNIT_OBJS) $(UNIT_LIBS)

.PHONY: bench bench-peers bench-sandboxes
bench-sandboxes: ## figures of sandboxes
	@BENCH_SANDBOXES=1 $(MAKE) --no-print-directory bench PARTS=confine
bench: all $(BUILD)/stub-agent $(MCP_FIXTURE) $(EGRESS_DRIVER) $(BENCH_BINS) ## figures beside a bare reference: PARTS="exec idle"
	@$(BENCH_ENV) $(NODE) tests/bench/bench.mjs $(PARTS)
bench-peers: all $(BUILD)/stub-agent $(BENCH_BINS) ## figures beside other daemons
	@$(BENCH_ENV) $(NODE) tests/bench/peers.mjs
