/*
 * confine.h - who a process of acpd-unpack is, and what it may still do.
 */
#pragma once

#include "unpack/job/verdict.h"

struct user {
	bool other; /* we are root and the tree's user is not */
	uid_t uid;
	gid_t gid;
};

/* uid -1: that of this process. ACCESS_DENIED if we cannot become it. */
int user_of(struct user *i, int64_t uid, int64_t gid, struct verdict *v);
void user_enter(const struct user *i);
void user_leave(const struct user *i);
/* Opens a directory for reading as that user; -1 with errno. */
int user_open_dir(const struct user *i, const char *path);

/* What a worker reaches: below write it may do anything its user may, below read it may only read; -1 ends each,
 * NULL: none. */
struct reach {
	const int *write, *read;
};

/* file_max: bytes of the largest file. */
int confine_worker(const struct user *i, const struct reach *reach, uint64_t file_max,
		   struct verdict *v);
