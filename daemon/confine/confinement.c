/*
 * confinement.c - takes privileges away from a child between fork and exec: bounding set,
 * capabilities, system calls.
 *
 * The parent stores one filter program for each level and set of flags. A build that failed leaves
 * the program empty: confinement_enter then returns -EAGAIN, so no child runs unconfined, and the
 * next confinement_get builds it again. The functions for the child make system calls only, without
 * memory or locks.
 */
#include "confine/confinement.h"

#include "confine/confine_filter.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define FLAGS_MAX (CONFINE_NESTS | CONFINE_LOG)

struct confinement {
	bool flat, log;
	struct sock_fprog program; /* empty: it could not be made */
};

/* --- in the parent ------------------------------------------------------------------------------------------- */

const struct confinement *confinement_get(enum confine_level level, unsigned flags, struct err *e)
{
	static struct confinement all[LEVEL_MAX][FLAGS_MAX + 1];
	struct confinement *c = &all[level][flags];
	int r;

	if (level == LEVEL_OPEN)
		return NULL;
	if (c->program.filter)
		return c;
	c->flat = level == LEVEL_STRICT && !(flags & CONFINE_NESTS);
	c->log = flags & CONFINE_LOG;
	r = confine_filter_make((c->flat ? FILTER_FLAT : 0) | (c->log ? FILTER_NOTIFY : 0) |
					(level == LEVEL_STRICT ? FILTER_WRITES : 0),
				&c->program, e);
	return r < 0 && e ? NULL : c;
}

bool confinement_logs(const struct confinement *c)
{
	return c && c->log;
}

const struct denial *confinement_denial(const struct confinement *c, int number,
					const uint64_t args[CONFINE_CALL_ARGS])
{
	size_t n;
	const struct denial *d = confine_denials(&n);

	for (; n > 0; n--, d++)
		if ((c->flat || !d->flat) && confine_call_number(d->call) == number &&
		    confine_call_fits(d->when, args))
			return d;
	return NULL;
}

/* --- in the child: plain system calls only ------------------------------------------------------------------- */

struct capabilities {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

static int drop_inheritable(void)
{
	struct capabilities caps = { .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };

	if (syscall(SYS_capget, &caps.head, caps.sets) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(caps.sets); i++)
		caps.sets[i].inheritable = 0;
	return syscall(SYS_capset, &caps.head, caps.sets) < 0 ? -errno : 0;
}

static int drop_all(void)
{
	struct capabilities none = { .head = { .version = _LINUX_CAPABILITY_VERSION_3 } };

	return syscall(SYS_capset, &none.head, none.sets) < 0 ? -errno : 0;
}

int confinement_drop_bounding(const struct confinement *c)
{
	if (!c)
		return 0;
	/* up to the last one that this kernel has: EINVAL; EPERM: we may not, and no_new_privs has to do */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (errno != EINVAL && errno != EPERM)
		return -errno;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return drop_inheritable();
}

static long set_filter(const struct confinement *c, unsigned flags)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &c->program);
}

/* A call that waits for its answer is not to be begun again by each signal; Linux 5.19. */
static long set_listening(const struct confinement *c)
{
	long fd = set_filter(c, SECCOMP_FILTER_FLAG_NEW_LISTENER |
					SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	return fd < 0 && errno == EINVAL ? set_filter(c, SECCOMP_FILTER_FLAG_NEW_LISTENER) : fd;
}

int confinement_enter(const struct confinement *c, int *listener)
{
	long fd;

	if (listener)
		*listener = -1;
	if (!c)
		return 0;
	if (!c->program.filter)
		return -EAGAIN;
	if (c->log && !listener)
		return -EINVAL;
	/* seccomp(2): a filter needs CAP_SYS_ADMIN, which drop_all removes, or no_new_privs. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (drop_all() < 0)
		return -errno;
	fd = c->log ? set_listening(c) : set_filter(c, 0);
	if (fd < 0)
		return -errno;
	if (c->log)
		*listener = (int)fd;
	return 0;
}
