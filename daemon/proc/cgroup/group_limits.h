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

/* What to does not say is as in from. */
void group_limits_inherit(struct group_limits *to, const struct group_limits *from);
/* An object with memoryBytes, pids, cpuWeight, those that are said; nothing if none is. */
void group_limits_put(const struct group_limits *l, struct jw *w, const char *key);
/* From such an object; what is malformed counts as absent. */
void group_limits_load(struct slice object, struct group_limits *ret);

struct cgroups;
struct proc_group;

/* Limits as clients see them: the numbers, what enforces each of them, and what cannot be enforced and why. */
struct limits_report {
	const struct group_limits *limits; /* what is 0 is left out */
	const struct cgroups *groups;
	const struct proc_group *group; /* that has these limits; NULL: none has yet */
	bool switch_user;		/* its processes run as another user than we do */
};

/* An object: memoryBytes, pids, cpuWeight; by {of each: "cgroup v2", "cgroup v1", "rlimit" or "none"};
 * missing [{what, why}]. */
void limits_report_put(struct jw *w, const char *key, const struct limits_report *r);
