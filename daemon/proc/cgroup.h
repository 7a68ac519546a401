/*
 * cgroup.h - one cgroup per session where a hierarchy is writable: v2 (cgroup.kill) or v1 (pids, freezer), else none.
 *
 * The daemon makes "acpd-<incarnation>" below its own cgroup and one child directory per session in it. Only
 * membership is used here, no controller: killing a session's processes must reach those that called setsid,
 * double-forked or cleared their environment. Which kind was found is reported, never assumed.
 *
 * The daemon holds a lock on its directory as long as it lives. A daemon that starts removes the directories beside its
 * own that are not locked and are empty. Processes in the others belong to another state directory: the next daemon of
 * that directory kills them (owner.h).
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

struct cgroup_root {
	enum cgroup_kind kind;
	char *path; /* NULL for CGROUP_NONE */
	int lock;   /* its directory, locked; -1: none */
};

const char *cgroup_kind_name(enum cgroup_kind kind);
/* Finds a writable hierarchy and makes the daemon's directory. Never fails: kind says what was achieved. */
void cgroup_root_open(struct cgroup_root *root, const char *incarnation);
/* Removes the directory if it is empty. */
void cgroup_root_close(struct cgroup_root *root);
/* Kills everything below path (a directory of an earlier daemon) and removes it. */
void cgroup_sweep(const char *path);

/* Bytes of memory that the daemon and its children may have together: the machine's, or less if a cgroup says so. */
uint64_t memory_limit(void);

/* A session's directory; NULL if there is no hierarchy. Caller frees the path. */
char *cgroup_create(const struct cgroup_root *root, const char *name);
/* Descriptor of cgroup.procs, to which the child writes "0"; -1 if none. */
int cgroup_open_procs(const char *path);
/* Kills all members once; true when none is left. path may be NULL (true). */
bool cgroup_kill(const char *path);
void cgroup_remove(const char *path);
