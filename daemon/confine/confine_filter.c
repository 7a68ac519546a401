#include "confine/confine_filter.h"

#include "confine/ask_child.h"
#include "confine/confine_denials.h"
#include "confine/watch/watched.h"

#include <errno.h>
#include <seccomp.h>

#define BINARY_TREE 2

static int add(scmp_filter_ctx ctx, uint32_t action, const char *call,
	       const struct confine_condition *when)
{
	int number = confine_call_number(call);

	return number == -EINVAL ? number : confine_call_rule(ctx, action, number, when);
}

static int add_denials(scmp_filter_ctx ctx, unsigned parts)
{
	size_t n;
	const struct denial *d = confine_denials(&n);
	int r = 0;

	for (; r == 0 && n > 0; n--, d++)
		if (parts & FILTER_FLAT || !d->flat)
			r = add(ctx,
				parts & FILTER_NOTIFY ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(d->error),
				d->call, d->when);
	return r;
}

static int add_watched(scmp_filter_ctx ctx, unsigned parts)
{
	size_t n;
	const struct watched *w = watched_calls(&n);
	int r = 0;

	for (; r == 0 && n > 0; n--, w++)
		if (parts & FILTER_WRITES || w->target == TARGET_ADDRESS)
			r = add(ctx, SCMP_ACT_NOTIFY, w->call, w->when);
	return r;
}

static int write_program(const void *ctx, int to)
{
	const unsigned *parts = ctx;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? 0 : -ENOMEM;

	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);
	if (r == 0)
		r = add_denials(filter, *parts);
	if (r == 0 && *parts & FILTER_NOTIFY)
		r = add_watched(filter, *parts);
	return r < 0 ? r : seccomp_export_bpf(filter, to);
}

int confine_filter_make(unsigned parts, struct sock_fprog *ret, struct err *e)
{
	/* libseccomp takes a hundred times the memory of what it makes */
	struct sock_filter program[BPF_MAXINSNS];
	int n = ask_child(write_program, &parts, program, sizeof(program));

	if (n <= 0)
		return err_set(e, n < 0 ? n : -EIO, RPC_INTERNAL_ERROR, "CONFINEMENT_UNSUPPORTED",
			       "no filter of system calls can be made: %s",
			       strerror(n < 0 ? -n : EIO));
	ret->len = (unsigned short)((size_t)n / sizeof(program[0]));
	ret->filter = xalloc((size_t)n);
	memcpy(ret->filter, program, (size_t)n);
	return 0;
}
