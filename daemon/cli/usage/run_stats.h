/*
 * run_stats.h - what many turns have in common: tokens, time, cost, how their checks ended, why they failed; for each group
 * and of all. Records of usage ledgers go in, one object comes out. Pure.
 *
 * A turn without a number counts in no mean of it: absent is not 0. p50 and p95 are values that were there, by nearest
 * rank.
 */
#pragma once

#include "base/err.h"
#include "json/jenc.h"

struct run_stats;

/* Words that turns can be grouped by, in the order of the output. between: what separates them, such as ", ". */
#define RUN_STATS_BY(between)                                                                      \
	"harness" between "model" between "configVersion" between "billingRef" between "day"

/* Groups by those words of RUN_STATS_BY, separated by commas; NULL: harness,model. Returns NULL with e if one is not among them. */
struct run_stats *run_stats_new(const char *by, struct err *e);
struct run_stats *run_stats_free(struct run_stats *s);
/* One record; what is no turn's is left out. */
void run_stats_add(struct run_stats *s, struct slice record);
/* {groups: [{harness, model, ...}], all: {...}}: protocol/usage.md. */
void run_stats_put(struct run_stats *s, struct jw *w);
/* The same for people, on standard output. */
void run_stats_print(struct run_stats *s);
