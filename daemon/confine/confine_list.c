/*
 * confine_list.c - turns the conditions of a table row into libseccomp rules, and evaluates the
 * same conditions in C.
 *
 * The two must agree. The filter decides about a call; confine_call_fits finds the row of a call
 * that the kernel reported. libseccomp combines the comparisons of one rule by AND, and the rules
 * of one call by OR. A CONFINE_NOT_IN condition therefore becomes one rule for each run of values
 * outside the set.
 */
#include "confine/confine_list.h"

#include "base/util.h"

#include <sched.h>
#include <seccomp.h>

#define CALL_NAME_MAX 64

/* --- all values but some ------------------------------------------------------------------------------------- */

static bool some_begin_with(const uint32_t *set, size_t n, uint32_t mask, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if ((set[i] & mask) == value)
			return true;
	return false;
}

/*
 * libseccomp compares an argument once in a rule and knows no masked inequality. So the rest of a set is taken apart into
 * runs of numbers that begin with the same bits: for each member and each of its bits, those that differ from it there
 * and are equal to it before. The k-th of them; false: there are no more.
 */
static bool run_of_others(const struct confine_condition *c, unsigned k, uint32_t *mask,
			  uint32_t *value)
{
	for (size_t i = 0; i < c->n; i++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			*mask = UINT32_MAX << bit;
			*value = (c->not_in[i] ^ (uint32_t)1 << bit) & *mask;
			if (some_begin_with(c->not_in, c->n, *mask, *value) ||
			    some_begin_with(c->not_in, i, *mask, c->not_in[i] & *mask))
				continue; /* members are among them, or an earlier member gave them */
			if (k-- == 0)
				return true;
		}
	}
	return false;
}

/* --- rules --------------------------------------------------------------------------------------------------- */

struct rule {
	uint32_t action;
	int number;
	unsigned n;
	struct scmp_arg_cmp compare[CONFINE_CONDITIONS_MAX];
};

static int add_from(void *filter, struct rule rule, const struct confine_condition *when,
		    unsigned left)
{
	uint32_t mask, value;
	int r = 0;

	if (left == 0)
		return seccomp_rule_add_array(filter, rule.action, rule.number, rule.n,
					      rule.compare);
	if (when->not_in) {
		struct scmp_arg_cmp *compare = &rule.compare[rule.n++];

		for (unsigned k = 0; r == 0 && run_of_others(when, k, &mask, &value); k++) {
			*compare = SCMP_CMP(when->arg, SCMP_CMP_MASKED_EQ, mask, value);
			r = add_from(filter, rule, when + 1, left - 1);
		}
		return r;
	}
	if (when->mask)
		rule.compare[rule.n++] =
			SCMP_CMP(when->arg, SCMP_CMP_MASKED_EQ, when->mask, when->value);
	return add_from(filter, rule, when + 1, left - 1);
}

int confine_call_number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	return number == __NR_SCMP_ERROR ? -EINVAL : number;
}

int confine_call_rule(void *filter, uint32_t action, const char *call,
		      const struct confine_condition *when)
{
	struct rule rule = { .action = action, .number = confine_call_number(call) };

	return rule.number == -EINVAL ? -EINVAL :
					add_from(filter, rule, when, CONFINE_CONDITIONS_MAX);
}

bool confine_call_fits(const struct confine_condition *when, const uint64_t args[CONFINE_CALL_ARGS])
{
	for (unsigned i = 0; i < CONFINE_CONDITIONS_MAX; i++) {
		const struct confine_condition *c = &when[i];
		uint64_t value = args[c->arg];

		if (c->not_in ? some_begin_with(c->not_in, c->n, UINT32_MAX, (uint32_t)value) :
				(value & c->mask) != c->value)
			return false;
	}
	return true;
}

/* --- a list ----------------------------------------------------------------------------------------------------- */

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
