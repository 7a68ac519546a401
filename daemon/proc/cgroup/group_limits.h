/*
 * group_limits.h - limits of memory, processes and CPU as a value, and as members of an object: what a client asks for,
 * what a journal keeps.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct jw;

struct group_limits {
	uint64_t memory, pids; /* bytes, processes and threads; 0: none, or nothing said */
	unsigned cpu_weight;   /* 1 to 10000, 100 is everybody's; 0: the same */
};

#define CPU_WEIGHT_EVEN 100
#define CPU_WEIGHT_MAX 10000
#define CPU_SHARES_MAX 262144 /* of v1, the kernel's own */

/* Takes over what want says. True if that changes anything. */
bool group_limits_replace(struct group_limits *have, const struct group_limits *want);
/* What to does not say is as in from. */
void group_limits_inherit(struct group_limits *to, const struct group_limits *from);
/* An object with memoryBytes, pids, cpuWeight, those that are said; nothing if none is. */
void group_limits_put(const struct group_limits *l, struct jw *w, const char *key);
/* The members alone. */
void group_limits_put_members(const struct group_limits *l, struct jw *w);
/* From such an object; what is malformed counts as absent. */
void group_limits_load(struct slice object, struct group_limits *ret);
