/*
 * proc_group.h - what all processes of one session share: a cgroup with its limits of memory, processes and CPU, and in
 * it, where killing is done, a cgroup for each child, because a child is ended without its neighbours.
 *
 * The directories are there while a process of the session is: made with the first, removed with the last. What the
 * kernel counted in them is kept. Limits can be changed at any time, and hold at once.
 *
 * Memory is a hard limit without a lower one that slows down first: a session that crawls at its limit would hang where
 * it should fail. Swap counts as none. The kernel kills the process that it likes least, not the whole group
 * (memory.oom.group stays 0): a command that took too much need not end the harness.
 *
 * A limit that was found to be possible and cannot be set is an error; what is not possible is left out (cgroups.h).
 */
#pragma once

#include "proc/cgroup/cgroups.h"
#include "proc/cgroup/group_limits.h"

struct proc_group;

struct proc_group *proc_group_new(struct cgroups *c, const char *session,
				  const struct group_limits *limits);
struct proc_group *proc_group_ref(struct proc_group *g);
struct proc_group *proc_group_unref(struct proc_group *g);
/* At once. What could not be set: proc_group_why. */
void proc_group_limit(struct proc_group *g, const struct group_limits *limits);
const struct group_limits *proc_group_limits(const struct proc_group *g);
/* Why the kernel does not hold that limit as it was last set; "" if it does, or will with the first process. */
const char *proc_group_why(const struct proc_group *g, enum cgroup_use use);

/* Processes that were killed because there was no memory, since the group was made. Cheap: it is asked twice a turn. */
uint64_t proc_group_kills(struct proc_group *g);
/* Bytes that all of them had together at most; 0: the kernel does not say. */
uint64_t proc_group_peak(const struct proc_group *g);

/* Ids that the kernel has for groups of v2. */
struct cgroup_ids {
	uint64_t *v;
	size_t n;
};
/* Adds those of the group and of its children's; none where there is no v2. */
void proc_group_add_ids(const struct proc_group *g, struct cgroup_ids *ids);

/* The place of one child. */
struct cgroup_seat {
	const struct cgroups *groups;
	struct proc_group *group; /* a reference; NULL: of no session */
	char *dir;		  /* where it is killed; NULL: there is no cgroup */
};

/* Descriptors of cgroup.procs, to each of which the child writes "0". */
struct cgroup_join {
	int fds[CGROUP_TREES_MAX];
	unsigned n;
};

/* group may be NULL; name is no other child's. 0, or a negative errno with nothing taken. */
int cgroup_seat_take(const struct cgroups *c, struct proc_group *group, const char *name,
		     struct cgroup_seat *ret, struct cgroup_join *ret_join);
void cgroup_join_close(struct cgroup_join *j);
/* Nobody is left in it. Harmless when repeated. */
void cgroup_seat_leave(struct cgroup_seat *s);
