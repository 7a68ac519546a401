/*
 * cgroups.h - the hierarchies of cgroups that this machine lets us write, what each serves for, and the daemon's own
 * directory "acpd-<mark>" in each of them.
 *
 * What serves for what. Killing a session's processes must reach those that called setsid, double-forked or cleared
 * their environment: that takes membership only, no controller, so any hierarchy does. v2 comes first, because
 * cgroup.kill ends all members at once, those too that are just being forked, and cgroup.events says in a word whether
 * any is left; v1 has lists that are old once they are read. Limits come from the hierarchy where the kernel has the
 * controller: v2 where they are delegated to us, else v1. On a hybrid machine the two are different ones.
 *
 * v2 lets a group have either processes or controllers for its children. Where our own group would have both, the
 * daemon moves itself into a leaf, "acpd-<mark>/daemon", and back at its end. Where others sit in our group, too,
 * that does not help, and there are no limits.
 *
 * What was found is reported, never assumed; what was not, with the reason.
 */
#pragma once

#include "proc/cgroup/cgroup_place.h"

/* The limits come first. */
enum cgroup_use { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU, CGROUP_KILLING, CGROUP_USES };
#define CGROUP_LIMITS CGROUP_KILLING

/* Most hierarchies that are used together. */
#define CGROUP_TREES_MAX CGROUP_USES

struct cgroups;

/* Never fails: what was achieved can be asked. root: see cgroup_place.h. */
struct cgroups *cgroups_open(const char *root, const char *mark);
/* Removes what is empty. */
struct cgroups *cgroups_close(struct cgroups *c);

/* The hierarchy for that; CGROUP_NONE: there is none. */
enum cgroup_kind cgroups_kind(const struct cgroups *c, enum cgroup_use use);
/* Why not; "" if there is one. */
const char *cgroups_why(const struct cgroups *c, enum cgroup_use use);
/* Its directory in the hierarchy for that; NULL. */
const char *cgroups_path(const struct cgroups *c, enum cgroup_use use);
/* The same by number, from 0, each hierarchy once; NULL: no more. */
const char *cgroups_tree(const struct cgroups *c, unsigned i);
/* A session's group of that weight is made, or removed (weight negative), or changes its weight by so much: the daemon's
 * directory weighs as much as all of them, so that each session counts beside what others run on the machine. */
void cgroups_weigh(struct cgroups *c, int weight);
/* Which that is: below CGROUP_TREES_MAX, or -1. */
int cgroups_tree_of(const struct cgroups *c, enum cgroup_use use);
