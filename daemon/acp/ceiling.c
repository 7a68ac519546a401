/* ceiling.c - what a token that is limited to sessions may give them (access/grant.h): decoding it, and asking. */
#include "acp/params.h"

#include "session/parts/confinement/session_ceiling.h"

static int parse(struct slice raw, struct session_ceiling *ret, struct err *e)
{
	struct slice network = jobj_get(raw, "network").raw;
	int r;

	*ret = (struct session_ceiling){ .network = NULL };
	r = meta_level_check(jobj_get(raw, "level"), &ret->level, e);
	if (r == 0 && network.n)
		r = egress_rules_parse(network, "_meta.acpd.network", &ret->network, e);
	return r == 0 ? meta_limits_check(jobj_get(raw, "limits").raw, &ret->limits, e) : r;
}

static void done(struct session_ceiling *c)
{
	egress_rules_free(c->network);
}

int acp_ceiling_check(struct slice raw, struct err *e)
{
	_cleanup_(done) struct session_ceiling c = { .network = NULL };
	int r = parse(raw, &c, e);

	if (r < 0)
		err_unprefix(e, "_meta.acpd.");
	return r;
}

int check_ceiling(const struct acp_conn *c, const struct session *s, const struct setup_params *p,
		  struct err *e)
{
	_cleanup_(done) struct session_ceiling ceiling = { .network = NULL };
	int r;

	if (!grant_limited(c->transport.grant))
		return 0;
	r = parse(grant_ceiling(c->transport.grant), &ceiling, e);
	return r == 0 ? session_ceiling_check(s, p, &ceiling, e) : r;
}
