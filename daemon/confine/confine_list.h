/*
 * confine_list.h - a process gives up all system calls but those of a list, for good, by seccomp. For a program that we
 * wrote: we know what it calls. All else fails with EPERM, so a call that was forgotten is an error and no death.
 *
 * A program holds a struct confine_list: the names of calls that may have any arguments, in one string, and rows for
 * those that depend on their arguments (struct confine_condition). Several rows of one call are alternatives.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Conditions on the arguments of system calls, as the tables here and in confine_denials.h have them, and how they become
 * rules of libseccomp.
 *
 * All conditions of a row must hold. The kernel compares registers of 64 bits, but most calls read 32 of them:
 * conditions on an int compare these (CONFINE_INT, CONFINE_NOT_IN), else the same number with other upper bits would be
 * a different one. Pointers are compared whole (CONFINE_WHOLE).
 */
struct confine_condition {
	unsigned arg;
	uint64_t mask, value;	/* (argument & mask) == value; a mask of 0 is no condition */
	const uint32_t *not_in; /* instead: the low 32 bits are none of these n */
	size_t n;
};

#define CONFINE_BITS(argument, bits, wanted)                                                       \
	{                                                                                          \
		.arg = argument, .mask = bits, .value = wanted                                     \
	}
#define CONFINE_INT(argument, wanted) CONFINE_BITS(argument, UINT32_MAX, (uint32_t)(wanted))
#define CONFINE_WHOLE(argument, wanted) CONFINE_BITS(argument, UINT64_MAX, wanted)
#define CONFINE_NOT_IN(argument, set)                                                              \
	{                                                                                          \
		.arg = argument, .not_in = set, .n = ARRAY_SIZE(set)                               \
	}

#define CONFINE_CONDITIONS_MAX 2
#define CONFINE_CALL_ARGS 6

/* when: CONFINE_CONDITIONS_MAX of them. */
bool confine_call_fits(const struct confine_condition *when,
		       const uint64_t args[CONFINE_CALL_ARGS]);
/* Its number here; -EINVAL: no call has this name. */
int confine_call_number(const char *name);
/* Adds to a filter of libseccomp that action for these calls. 0 or -errno; -EINVAL: no call has this name. */
int confine_call_rule(void *filter, uint32_t action, const char *call,
		      const struct confine_condition *when);

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
