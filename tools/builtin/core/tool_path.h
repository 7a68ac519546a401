/*
 * tool_path.h - which paths tools may reach: the one rule for paths, and the policy's verdict on each, in one place.
 *
 * A path is relative to the working directory, or absolute; "~" and "file:" mean nothing. It must name something
 * inside a root (the configuration's): what counts is where it really ends, after every symbolic link and ".." on the
 * way. NUL, more than 4096 bytes, names of more than 255 bytes and bytes that are no UTF-8 are refused; names with
 * control characters are names.
 *
 * How it is held: the kernel resolves the path once (openat2 BENEATH from the root's descriptor; where links lead to
 * another root or there is no openat2, by O_PATH), into a descriptor that opens nothing; where that really lies is
 * asked of the kernel (/proc/self/fd) and compared with the roots; policy judges that real path; and only then it is
 * opened for its bytes, through the descriptor that was judged. Whoever renames directories or puts links meanwhile
 * changes what a later look finds, not what was judged. FIFOs, sockets and devices are never opened.
 *
 * Functions return 0, or a negative errno with e->reason: ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG,
 * OUTSIDE_ROOTS, PATH_INVALID, PATH_DENIED, PATH_NOT_ALLOWED (policy; e->field: the path).
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <sys/stat.h>

struct builtin_call;

enum tool_path_use {
	TOOL_PATH_STAT,	 /* names and stat only: no policy but its denials */
	TOOL_PATH_READ,	 /* its bytes */
	TOOL_PATH_WRITE, /* change, make, remove */
};

/* Something that exists. */
struct tool_path {
	int fd; /* O_PATH */
	struct stat sb;
	char *real; /* absolute, no links */
};

/* A name in a directory that exists: what is there may be absent, and is not followed. */
struct tool_path_entry {
	int dir;      /* O_PATH */
	char *leaf;   /* one component, never "." or ".." */
	char *real;   /* directory's real path and leaf */
	bool is_root; /* it is a root: leaf is empty, and dir the root itself */
};

#define TOOL_PATH_NONE ((struct tool_path){ .fd = -1 })
#define TOOL_PATH_ENTRY_NONE ((struct tool_path_entry){ .dir = -1 })

/* Follows a link in last place. */
int tool_path_find(const struct builtin_call *c, const char *path, enum tool_path_use use,
		   struct tool_path *ret, struct err *e);
/* The directory must exist. follow: if there is a link, the name it leads to is meant (for writing through it). */
int tool_path_entry(const struct builtin_call *c, const char *path, enum tool_path_use use,
		    bool follow, struct tool_path_entry *ret, struct err *e);
/* The same; parents are made if missing (dry: not made, and ret->dir is -1). */
int tool_path_entry_parents(const struct builtin_call *c, const char *path, enum tool_path_use use,
			    bool dry, struct tool_path_entry *ret, struct err *e);
/* For reading: a regular file (EISDIR, or NOT_A_FILE) or a directory (ENOTDIR). A descriptor. */
int tool_path_open_file(const struct tool_path *p, const char *path, struct err *e);
int tool_path_open_dir(const struct tool_path *p, const char *path, struct err *e);
void tool_path_done(struct tool_path *p);
void tool_path_entry_done(struct tool_path_entry *p);

/* Policy alone, for walks: real is in the roots. 0 or -EACCES; e may be NULL. */
int tool_path_judge(const struct builtin_call *c, const char *real, enum tool_path_use use,
		    struct err *e);
/* As results name it: relative to the working directory if it is below, "." itself, else absolute. Points into real. */
const char *tool_path_shown(const struct builtin_call *c, const char *real);
/* Bytes of the root's path that real lies in, without a slash (of "/": 0). */
size_t tool_path_root_len(const struct builtin_call *c, const char *real);
