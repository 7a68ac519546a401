/*
 * cwd_owner.h - whose a working directory is, and whether anybody else could have led there.
 *
 * A session on a directory that belongs to another session's uid runs as that uid. So it must be the directory that the
 * client meant, now and later: if somebody else may change the way to it (a directory above that he owns or may write
 * in, a symbolic link of his), he could have a session of another uid work on files of his.
 *
 * The way is walked by descriptor, from /, one component after the other, symbolic links included. Knows no session.
 * The loop pays a few system calls for each component; nothing is opened but as O_PATH.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct cwd_owner {
	uid_t uid;
	bool led; /* somebody who is neither root, nor we, nor the owner may change the way to it */
	char *path; /* as the kernel names it, without links; the caller frees. NULL: it has no name */
};

/* A negative errno: it is not there, or no directory. */
int cwd_owner_find(const char *cwd, struct cwd_owner *ret);
