/*
 * caller.h - a look at a process that waits in a system call: what its pointers point to, and what it sees at a path.
 *
 * For words only, never for a decision: another thread of it can change all of that at any time. Everything is bounded,
 * but a read may take long: memory can be a file of a file system that the process itself serves. So it is for threads
 * that nobody waits for. Functions return 0 or -errno, which mostly means that it cannot be known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CALLER_PATH_MAX 4096

/* n bytes of its memory, all of them. */
int caller_bytes(pid_t pid, uint64_t at, void *ret, size_t n);
/* A string, NUL-terminated; one that does not end within size is an error. */
int caller_text(pid_t pid, uint64_t at, char *ret, size_t size);
/* The string at `at` as an absolute path, as the process sees it. dir: a descriptor of it or AT_FDCWD. */
int caller_path(pid_t pid, int dir, uint64_t at, char ret[CALLER_PATH_MAX]);

struct caller_write {
	bool old, fresh; /* something has to be there; nothing may be there */
	bool no_follow;	 /* a link at the end is what is meant */
	bool asks_first; /* it is asked who may write before it is asked where one may */
};

/* -EROFS: a write at this path fails because of the mount that the process sees there; 0: it does not, or there is
 * another reason before that. */
int caller_write_error(pid_t pid, const char *path, const struct caller_write *w);
