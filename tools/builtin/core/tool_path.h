/*
 * tool_path.h - where tools may reach: the one rule for paths, and the policy's word on each, in one place.
 *
 * A path is relative to the working directory, or absolute; "~" and "file:" mean nothing. It must name something inside a root (the
 * configuration's): what counts is where it really ends, after every symbolic link and ".." on the way. NUL,
 * more than 4096 bytes, names of more than 255 bytes and bytes that are no UTF-8 are refused; names with control characters are names.
 *
 * How it is held: the kernel resolves the path once (openat2 BENEATH from the root's descriptor; where links lead to another root or
 * there is no openat2, by O_PATH), into a descriptor that opens nothing; where that really lies is asked of the kernel
 * (/proc/self/fd) and compared with the roots; policy judges that real path; and only then it is opened for its bytes, through the
 * descriptor that was judged. Whoever renames directories or puts links meanwhile changes what a later look finds, not what was judged.
 * FIFOs, sockets and devices are never opened.
 *
 * Functions return 0, or a negative errno with e->reason: ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG, OUTSIDE_ROOTS, PATH_INVALID,
 * PATH_DENIED, PATH_NOT_ALLOWED (policy; e->field: the path).
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <sys/stat.h>

struct tool_call;

enum place_use {
	PLACE_LOOK,  /* names and stat only: no policy but its denials */
	PLACE_READ,  /* its bytes */
	PLACE_WRITE, /* change, make, remove */
};

/* Something that exists. */
struct place {
	int fd; /* O_PATH */
	struct stat sb;
	char *real; /* absolute, no links */
};

/* A name in a directory that exists: what is there may be absent, and is not followed. */
struct place_name {
	int dir;    /* O_PATH */
	char *leaf; /* one component, never "." or ".." */
	char *real; /* directory's real path and leaf */
	bool root;  /* it is a root: leaf is empty, and dir the root itself */
};

#define PLACE_NONE ((struct place){ .fd = -1 })
#define PLACE_NAME_NONE ((struct place_name){ .dir = -1 })

/* Follows a link in last place. */
int place_find(const struct tool_call *c, const char *path, enum place_use use, struct place *ret,
	       struct err *e);
/* The directory must exist. follow: if there is a link, the name it leads to is meant (for writing through it). */
int place_name(const struct tool_call *c, const char *path, enum place_use use, bool follow,
	       struct place_name *ret, struct err *e);
/* The same; parents are made if missing (dry: not made, and ret->dir is -1). */
int place_name_parents(const struct tool_call *c, const char *path, enum place_use use, bool dry,
		       struct place_name *ret, struct err *e);
/* For reading: a regular file (EISDIR, or NOT_A_FILE) or a directory (ENOTDIR). A descriptor. */
int place_open_file(const struct place *p, const char *path, struct err *e);
int place_open_dir(const struct place *p, const char *path, struct err *e);
void place_done(struct place *p);
void place_name_done(struct place_name *p);

/* Policy alone, for walks: real is in the roots. 0 or -EACCES; e may be NULL. */
int place_judge(const struct tool_call *c, const char *real, enum place_use use, struct err *e);
/* As results name it: relative to the working directory if it is below, "." itself, else absolute. Points into real. */
const char *place_shown(const struct tool_call *c, const char *real);
/* Bytes of the root's path that real lies in, without a slash (of "/": 0). */
size_t place_root_len(const struct tool_call *c, const char *real);
