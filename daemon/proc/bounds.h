/*
 * bounds.h - as whom a child runs, and within what: one value for all that runs for a session. All zeros: as the daemon
 * itself, within nothing.
 *
 * What it points to is borrowed. Who keeps one longer than a call takes references with proc_bounds_keep and returns
 * them with proc_bounds_drop.
 */
#pragma once

#include "confine/confinement.h"
#include "proc/cgroup/proc_group.h"
#include "confine/watch/refusals.h"
#include "proc/netns.h"
#include "proc/spaces/spaces.h"

#include <stdbool.h>
#include <sys/types.h>

struct proc_bounds {
	bool switch_user; /* to uid and gid */
	bool may_gain;	  /* setuid programs such as sudo work: no no_new_privs for who switches */
	bool own_uid;	  /* nobody but children of ours with this flag runs as it */
	uid_t uid;
	gid_t gid;
	struct netns *netns;		       /* where its sockets are; NULL: ours */
	const struct confinement *confinement; /* NULL: none */
	struct proc_group *group;	       /* whose limits it shares; NULL: it has none */
	struct spaces *spaces;		       /* its processes and mounts; NULL: ours */
	struct refusals *refusals; /* for a confinement that logs: where to. Of nothing else */
};

void proc_bounds_keep(struct proc_bounds *b);
void proc_bounds_drop(struct proc_bounds *b);
/* A process within one may stay for the other. */
bool proc_bounds_same(const struct proc_bounds *a, const struct proc_bounds *b);
/* Answers the refused calls of a child within them whose confinement logs (confine/watch/confine_watch.h). */
void proc_bounds_watch(const struct proc_bounds *b, int listener);
