/*
 * run_stats.h - what many turns have in common: tokens, time, cost, how their checks ended, why they failed; for each harness
 * and model, and of all. Records of usage ledgers go in, one object comes out. Pure.
 *
 * A turn without a number counts in no mean of it: absent is not 0. p50 and p95 are values that were there, by nearest
 * rank.
 */
#pragma once

#include "json/jenc.h"

#include <stdbool.h>

struct run_stats;

struct run_stats *run_stats_new(void);
struct run_stats *run_stats_free(struct run_stats *s);
/* One record; what is no turn's is left out. */
void run_stats_add(struct run_stats *s, struct slice record);
/* {turns, groups: [{harness, model, ...}], all: {...}}: protocol/usage.md. */
void run_stats_put(struct run_stats *s, struct jw *w);
/* The same for people, on standard output. */
void run_stats_print(struct run_stats *s);
