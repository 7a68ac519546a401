/*
 * confine_list.h - a process gives up all system calls but those of a list, for good, by seccomp. For a program that we
 * wrote: we know what it calls. All else fails with EPERM, so a call that was forgotten is an error and no death.
 *
 * A program holds a struct confine_list: the names of calls that may have any arguments, in one string, and rows for
 * those that depend on their arguments (confine_call.h). Several rows of one call are alternatives.
 *
 * threads adds what starting threads and abort() take, and no more: clone of threads only, tgkill to ourselves, and
 * ENOSYS for clone3, so that the C library takes clone, whose flags can be seen.
 *
 *	static const struct confine_row rows[] = {
 *		{ "socket", { CONFINE_INT(0, AF_INET) } },
 *		{ "openat", { CONFINE_BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY) } },
 *	};
 *	static const struct confine_list list = {
 *		.calls = "read write close exit_group",
 *		.rows = rows, .n_rows = ARRAY_SIZE(rows), .threads = true,
 *	};
 *	int r = confine_list_enter(&list);
 *
 * It allocates (libseccomp does), and the process has to have no_new_privs (confine_self.h).
 */
#pragma once

#include "confine/confine_call.h"

struct confine_row {
	const char *call;
	struct confine_condition when[CONFINE_CONDITIONS_MAX];
};

struct confine_list {
	const char *calls; /* names, with spaces between them */
	const struct confine_row *rows;
	size_t n_rows;
	bool threads;
};

/* 0 or -errno; -EINVAL: a name that is no call. In force for this thread and those that it makes. */
int confine_list_enter(const struct confine_list *list);
