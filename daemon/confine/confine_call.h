/*
 * confine_call.h - conditions on the arguments of system calls, as the tables of confine_list.h and confine_denials.h
 * hold them, and how they become rules of libseccomp.
 *
 * All conditions of a row must hold. The kernel compares registers of 64 bits, but most calls read 32 of them:
 * conditions on an int compare these (CONFINE_INT, CONFINE_NOT_IN), else the same number with other upper bits would be
 * a different one. Pointers are compared whole (CONFINE_WHOLE).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
