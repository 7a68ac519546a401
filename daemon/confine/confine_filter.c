#include "confine/confine_filter.h"

#include "confine/ask_child.h"
#include "confine/confine_denials.h"

#include <errno.h>
#include <seccomp.h>

#define BINARY_TREE 2

static int refuse(scmp_filter_ctx ctx, const struct denial *d, bool notify)
{
	int number = confine_call_number(d->call);

	if (number == -EINVAL)
		return number;
	return confine_call_rule(ctx, notify ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(d->error), number,
				 d->when);
}

static int add_denials(scmp_filter_ctx ctx, bool flat, bool notify)
{
	size_t n;
	const struct denial *d = confine_denials(&n);
	int r = 0;

	for (; r == 0 && n > 0; n--, d++)
		if (flat || !d->flat)
			r = refuse(ctx, d, notify);
	return r;
}

struct order {
	bool flat, notify;
};

static int write_program(const void *ctx, int to)
{
	const struct order *o = ctx;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? 0 : -ENOMEM;

	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);
	if (r == 0)
		r = add_denials(filter, o->flat, o->notify);
	return r < 0 ? r : seccomp_export_bpf(filter, to);
}

int confine_filter_make(bool flat, bool notify, struct sock_fprog *ret, struct err *e)
{
	/* libseccomp takes a hundred times the memory of what it makes */
	struct sock_filter program[BPF_MAXINSNS];
	int n = ask_child(write_program, &(struct order){ flat, notify }, program, sizeof(program));

	if (n <= 0)
		return err_set(e, n < 0 ? n : -EIO, RPC_INTERNAL_ERROR, "CONFINEMENT_UNSUPPORTED",
			       "no filter of system calls can be made: %s",
			       strerror(n < 0 ? -n : EIO));
	ret->len = (unsigned short)((size_t)n / sizeof(program[0]));
	ret->filter = xalloc((size_t)n);
	memcpy(ret->filter, program, (size_t)n);
	return 0;
}
