/*
 * session_ceiling.c - compares a request with the ceiling of a token that is limited to its session.
 *
 * Each of level, network and limits must be within what the session has, or within what the token names beyond that.
 */
#include "session/parts/confinement/session_level.h"

#include "egress/wire/egress_rules.h"
#include "session/parts/confinement/session_limits.h"
#include "session/core/session_internal.h"
#include "session/parts/network/session_network.h"

#include <errno.h>

static int ceiling_check_level(const struct session *s, const struct level_wish *asked,
			       const struct level_wish *more, struct err *e)
{
	const char *field = asked ? level_less(s->store, asked, &s->setup.level) : NULL;

	if (!field || (more->named && !level_less(s->store, asked, more)))
		return 0;
	return err_field(
		e, field, "LEVEL_NOT_ALLOWED",
		"%s: this token allows the session no less than it has: level %s, with its "
		"atLeast and log",
		field, level_name(session_level(s)));
}

static int ceiling_check_network(const struct session *s, struct slice asked,
				 const struct egress_rules *more, struct err *e)
{
	struct egress_rules *rules = NULL;
	bool ok;

	if (!asked.n)
		return 0;
	if (egress_rules_parse(asked, "_meta.acpd.network", &rules, e) < 0)
		return -EINVAL;
	ok = egress_rules_within(rules, session_rules(s)) ||
	     (more && egress_rules_within(rules, more));
	egress_rules_free(rules);
	return ok ? 0 :
		    err_field(e, "_meta.acpd.network", "LEVEL_NOT_ALLOWED",
			      "this token allows the session no wider network than it has");
}

static int ceiling_check_limit(uint64_t asked, uint64_t has, uint64_t more, const char *field,
			       struct err *e)
{
	return asked <= MAX(has, more) ? 0 :
					 err_field(e, field, "FIELD_OUT_OF_RANGE",
						   "%s: this token allows the session at most %llu",
						   field, (unsigned long long)MAX(has, more));
}

static int ceiling_check_limits(const struct session *s, const struct group_limits *asked,
				const struct group_limits *more, struct err *e)
{
	struct group_limits has = session_limits_of(s);
	int r = ceiling_check_limit(asked->memory, has.memory, more->memory,
				    "_meta.acpd.limits.memoryBytes", e);

	if (r == 0)
		r = ceiling_check_limit(asked->pids, has.pids, more->pids, "_meta.acpd.limits.pids",
					e);
	if (r == 0)
		r = ceiling_check_limit(asked->cpu_weight,
					has.cpu_weight ? has.cpu_weight : CPU_WEIGHT_EVEN,
					more->cpu_weight, "_meta.acpd.limits.cpuWeight", e);
	return r;
}

int session_ceiling_check(const struct session *s, const struct setup_params *p,
			  const struct session_ceiling *c, struct err *e)
{
	int r = ceiling_check_level(s, p->level, &c->level, e);

	if (r == 0)
		r = ceiling_check_network(s, p->network, c->network, e);
	return r == 0 ? ceiling_check_limits(s, &p->limits, &c->limits, e) : r;
}
