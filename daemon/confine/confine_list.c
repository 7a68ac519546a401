#include "confine/confine_list.h"

#include "base/util.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>

#define CALL_NAME_MAX 64

static int add_row(scmp_filter_ctx ctx, uint32_t action, const struct confine_row *row)
{
	return confine_call_rule(ctx, action, row->call, row->when);
}

static int add_calls(scmp_filter_ctx ctx, const char *names)
{
	char name[CALL_NAME_MAX];
	int r = 0;

	for (const char *p = names + strspn(names, " "); r == 0 && *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (n >= sizeof(name))
			return -EINVAL;
		*(char *)mempcpy(name, p, n) = '\0';
		r = add_row(ctx, SCMP_ACT_ALLOW, &(struct confine_row){ .call = name });
		p += n;
	}
	return r;
}

static int add_threads(scmp_filter_ctx ctx)
{
	const struct confine_row rows[] = {
		{ "clone", { CONFINE_BITS(0, CLONE_THREAD, CLONE_THREAD) } },
		{ "tgkill", { CONFINE_INT(0, getpid()) } },
	};
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = add_row(ctx, SCMP_ACT_ALLOW, &rows[i]);
	return r;
}

int confine_list_enter(const struct confine_list *list)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? add_calls(ctx, list->calls) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < list->n_rows; i++)
		r = add_row(ctx, SCMP_ACT_ALLOW, &list->rows[i]);
	if (r == 0 && list->threads)
		r = add_threads(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}
