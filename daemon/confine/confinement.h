/*
 * confinement.h - what a level takes away from a child between fork and exec: capabilities, what exec could give, and the
 * system calls of confine_denials.h.
 *
 * The parent makes a confinement, once for each level and its flags, and keeps it for its own life. The child applies it
 * in two steps, by plain system calls: what a change of user would make impossible comes before it, and the filter
 * comes last before exec. All that it takes away is gone for the child and all that it starts.
 *
 * The level open has none: NULL, and all functions here do nothing for it.
 *
 * With CONFINE_LOG a refused call does not fail by itself. The kernel hands it to who holds the listener, which the child
 * gets from confinement_enter: it looks at the call (confinement_denial), writes it down and answers with the errno of
 * its row (watch/confine_watch.h). It gets some that are not refused, too. While nobody answers, a call waits; when the
 * listener is closed, calls fail with ENOSYS. A child of a child can have no listener of its own then.
 *
 * Not for several threads.
 */
#pragma once

#include "base/err.h"
#include "confine/confine_denials.h"

/*
 * The levels of confinement, from none to most: open, guarded, strict. A higher level holds all that a lower
 * one does, so levels can be compared with < and >.
 */
enum confine_level { LEVEL_OPEN, LEVEL_GUARDED, LEVEL_STRICT, LEVEL_MAX };

/* All names in one string, for messages. */
#define LEVEL_NAMES "open, guarded or strict"

const char *level_name(enum confine_level level);
/* 0, or -EINVAL: no level has this name. */
int level_parse(const char *name, enum confine_level *ret);

enum confine_flag {
	CONFINE_NESTS = 1 << 0, /* strict: it may make namespaces, for a sandbox of its own */
	CONFINE_LOG = 1 << 1,	/* refused calls go to a listener */
};

struct confinement;

/* Borrowed, and valid for ever. NULL: the level needs none, or e says CONFINEMENT_UNSUPPORTED. Without e one that cannot be
 * made now is one that no child enters, so nothing runs unconfined for want of a descriptor or a process; the next try
 * makes it again. */
const struct confinement *confinement_get(enum confine_level level, unsigned flags, struct err *e);
/* It was got with CONFINE_LOG. c may be NULL. */
bool confinement_logs(const struct confinement *c);

/* In the child, before it changes its user: no capability can come back by exec, where we may say so. 0 or -errno. */
int confinement_drop_bounding(const struct confinement *c);
/* In the child, last before exec: no_new_privs, no capability, the filter. *listener: with CONFINE_LOG a descriptor that
 * exec closes, else -1; NULL: there must be none. 0 or -errno, and then the child must end. */
int confinement_enter(const struct confinement *c, int *listener);

/* The row by which a call is refused; NULL: none does. */
const struct denial *confinement_denial(const struct confinement *c, int number,
					const uint64_t args[CONFINE_CALL_ARGS]);
