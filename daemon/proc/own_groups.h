/*
 * own_groups.h - the daemon's cgroups (cgroup/cgroups.h), made when they are first asked for: before any child is started. To make them
 * takes about as long as all else of a start, and a daemon that has started nobody can answer without them.
 *
 * The owner's file names them from then on (owner.h). All zeros, but for the owner, is a valid one.
 */
#pragma once

#include "proc/cgroup/cgroups.h"

struct owner_lock;

struct own_groups {
	struct cgroups *made;
	struct owner_lock *owner; /* outlives it; NULL: there is none */
};

struct cgroups *own_groups_get(struct own_groups *g);
/* Removes what is empty. */
void own_groups_done(struct own_groups *g);
