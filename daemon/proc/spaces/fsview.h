/*
 * fsview.h - what of the file system a session sees, and what of it can be written: a list of places.
 *
 * Everything that is not named is seen as it is, and cannot be written. Paths inside are those outside. Places may lie
 * within each other: the deeper one counts, and of two at the same path the later kind of the list below. Mounts below
 * a place that is seen come along, as they are.
 *
 * The list is made and judged by the daemon (fsview.c), where paths are resolved; a child carries it out by plain system
 * calls (fsview_mount.c), and follows no link any more: a path that has changed since is an error there.
 *
 * Also its own: /proc of the pid namespace, without the files that tell of the machine; /dev with the usual devices, a
 * devpts of its own and a /dev/shm bounded by SPACES_SHM_BYTES. Set-user-id programs give nothing, and devices elsewhere
 * cannot be opened.
 */
#pragma once

#include "base/err.h"

enum fsview_kind {
	FSVIEW_TOOLS, /* programs: read-only. Left out where it is not there, or lies below something secret */
	FSVIEW_HIDDEN, /* an empty directory but for places below it; left out where it is not there */
	FSVIEW_TMP,    /* another directory stands there, writable (fsview_put) */
	FSVIEW_SHOWN, /* read-only */
	FSVIEW_WRITABLE,
	FSVIEW_DRAFT, /* another directory stands there, and at all that is writable below it (fsview_over) */
	FSVIEW_SECRET, /* as FSVIEW_HIDDEN, its names can only be passed through, and nothing may be at its very path */
};

struct fsview;

struct fsview *fsview_new(void);
struct fsview *fsview_free(struct fsview *v);
/* A directory. -errno with e, reason CONFINEMENT_UNSUPPORTED, if it cannot be had. */
int fsview_add(struct fsview *v, enum fsview_kind kind, const char *path, struct err *e);
/* The directory `source` is seen at path, writable; left out where nothing is at path. */
int fsview_put(struct fsview *v, const char *path, const char *source, struct err *e);
/* The directory `source` is seen at path, which must be there. */
int fsview_over(struct fsview *v, const char *path, const char *source, struct err *e);
/* Only for fsview_mount_places: /dev/null covers these files, as far as they exist. NULL-terminated, and static. */
void fsview_shut(struct fsview *v, const char *const *files);
/* Every place has been added. Refuses what cannot be: a workspace that is all of the file system, or what is secret. */
int fsview_settle(struct fsview *v, struct err *e);

/* What went wrong in the child. */
enum fsview_step {
	FSVIEW_CALLS,  /* the calls that make it are not there */
	FSVIEW_MOUNTS, /* making everything private and read-only */
	FSVIEW_PROC,
	FSVIEW_DEV,
	FSVIEW_COVERS, /* covering a file */
	FSVIEW_PLACE,  /* a place: number */
};

struct fsview_fault {
	enum fsview_step step;
	int error; /* errno */
	unsigned number;
};

/* In the first process of new mount and pid namespaces: carries a settled view out. Directories that are made for mounts
 * to stand on are given to uid and gid where they stay. 0 or -errno with ret. */
int fsview_mount(struct fsview *v, uid_t uid, gid_t gid, struct fsview_fault *ret);
/* In a new mount namespace: nothing but the places of a settled view, all of them FSVIEW_DRAFT, and its covers; the rest
 * stays as it is. Without places, what is mounted and unmounted outside later is so in there, too. */
int fsview_mount_places(struct fsview *v, struct fsview_fault *ret);
/* The path of a place, for a message. */
const char *fsview_path(const struct fsview *v, unsigned number);

/* Which programs there are in a view, and what is hidden around them: places that every confined command is given. */

/* The directory of a program as it is called, and of what that really is. Relative: nothing. */
void seen_program(struct fsview *v, const char *file);
/* The directories of a PATH. */
void seen_path(struct fsview *v, const char *path);
/* /run, and the homes of users with our own. */
void seen_homes_hidden(struct fsview *v);
