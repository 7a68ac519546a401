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

#include "base/util.h"
#include "confine/ask_child.h"
#include "confine/watched.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define BINARY_TREE 2
#define FLAGS_MAX (CONFINE_NESTS | CONFINE_LOG)

struct confinement {
	bool flat; /* with the rows for where no namespaces may be made */
	bool log; /* calls are not refused but passed to the listener, and those of watched.h too */
	bool writes;		   /* of these also the ones that write */
	struct sock_fprog program; /* empty: it could not be made */
};

/* --- the filter ------------------------------------------------------------------------------------------ */

static int add_denials(scmp_filter_ctx ctx, const struct confinement *c)
{
	size_t n;
	const struct denial *d = confine_denials(&n);
	int r = 0;

	for (; r == 0 && n > 0; n--, d++)
		if (c->flat || !d->flat)
			r = confine_call_rule(ctx,
					      c->log ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(d->error),
					      d->call, d->when);
	return r;
}

static int add_watched(scmp_filter_ctx ctx, const struct confinement *c)
{
	size_t n;
	const struct watched *w = watched_calls(&n);
	int r = 0;

	for (; r == 0 && n > 0; n--, w++)
		if (c->writes || w->target == TARGET_ADDRESS)
			r = confine_call_rule(ctx, SCMP_ACT_NOTIFY, w->call, w->when);
	return r;
}

static int write_program(const void *ctx, int to)
{
	const struct confinement *c = ctx;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? 0 : -ENOMEM;

	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);
	if (r == 0)
		r = add_denials(filter, c);
	if (r == 0 && c->log)
		r = add_watched(filter, c);
	return r < 0 ? r : seccomp_export_bpf(filter, to);
}

/* Makes the rows of confine_denials.h a program for the kernel. 0 or a negative errno with e. */
static int filter_make(struct confinement *c, struct err *e)
{
	/* libseccomp takes a hundred times the memory of what it makes */
	struct sock_filter program[BPF_MAXINSNS];
	int n = ask_child(false, write_program, c, program, sizeof(program));

	if (n <= 0)
		return err_set(e, n < 0 ? n : -EIO, RPC_INTERNAL_ERROR, "CONFINEMENT_UNSUPPORTED",
			       "no filter of system calls can be made: %s",
			       strerror(n < 0 ? -n : EIO));
	c->program.len = (unsigned short)((size_t)n / sizeof(program[0]));
	c->program.filter = xalloc((size_t)n);
	memcpy(c->program.filter, program, (size_t)n);
	return 0;
}

/* --- in the parent ------------------------------------------------------------------------------------------- */

const struct confinement *confinement_get(enum confine_level level, unsigned flags, struct err *e)
{
	static struct confinement all[LEVEL_MAX][FLAGS_MAX + 1];
	struct confinement *c = &all[level][flags];

	if (level == LEVEL_OPEN)
		return NULL;
	if (c->program.filter)
		return c;
	c->flat = level == LEVEL_STRICT && !(flags & CONFINE_NESTS);
	c->log = flags & CONFINE_LOG;
	c->writes = level == LEVEL_STRICT;
	return filter_make(c, e) < 0 && e ? NULL : c;
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

static int drop_capabilities(void)
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
	if (drop_capabilities() < 0)
		return -errno;
	fd = c->log ? set_listening(c) : set_filter(c, 0);
	if (fd < 0)
		return -errno;
	if (c->log)
		*listener = (int)fd;
	return 0;
}

/* --- levels ---------------------------------------------------------------------------------------------- */

static const char *const level_names[LEVEL_MAX] = {
	[LEVEL_OPEN] = "open",
	[LEVEL_GUARDED] = "guarded",
	[LEVEL_STRICT] = "strict",
};

const char *level_name(enum confine_level level)
{
	return level_names[level];
}

int level_parse(const char *name, enum confine_level *ret)
{
	for (unsigned i = 0; i < LEVEL_MAX; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret = (enum confine_level)i;
			return 0;
		}
	}
	return -EINVAL;
}
