/*
 * ceiling.c - the ceiling of a token that is limited to sessions (access/grant.h): level, network and limits, with the syntax
 * that the parameters of these names have.
 */
#include "acp/params.h"

#include "session/parts/confinement/session_level.h"
#include "session/parts/network/session_network.h"

/* Fills ret, which borrows from raw, with what the ceiling names. */
static int ceiling_parse(struct slice raw, struct setup_params *ret, struct err *e)
{
	static const struct session_parameter *const rows[] = { &level_parameter,
								&network_parameter,
								&limits_parameter };
	const struct parameter_check c = { .params = ret };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++) {
		setup_give(ret, rows[i], jobj_get(raw, rows[i]->name));
		r = parameter_check(rows[i], &c, e);
	}
	return r;
}

int acp_ceiling_check(struct slice raw, struct err *e)
{
	struct setup_params c = { 0 };
	int r = ceiling_parse(raw, &c, e);

	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

int check_ceiling(const struct acp_conn *c, const struct session *s, const struct setup_params *p,
		  struct err *e)
{
	struct setup_params ceiling = { 0 };
	int r;

	if (!grant_limited(c->transport.grant))
		return 0;
	r = ceiling_parse(grant_ceiling(c->transport.grant), &ceiling, e);
	return r == 0 ? session_ceiling_check(s, p, &ceiling, e) : r;
}
