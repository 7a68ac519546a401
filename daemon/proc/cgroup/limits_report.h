/*
 * limits_report.h - limits as clients see them: the numbers, what holds each of them, and what cannot be held and why.
 */
#pragma once

#include "proc/cgroup/proc_group.h"

struct jw;

struct limits_report {
	const struct group_limits *limits; /* what is 0 is left out */
	const struct cgroups *groups;
	const struct proc_group *group; /* that has these limits; NULL: none has yet */
	bool switch_user;		/* its processes run as another user than we do */
};

/* An object: memoryBytes, pids, cpuWeight; by {of each: "cgroup v2", "cgroup v1", "rlimit" or "none"};
 * missing [{what, why}]. */
void limits_report_put(struct jw *w, const char *key, const struct limits_report *r);
