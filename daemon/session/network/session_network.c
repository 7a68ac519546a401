#include "session/network/session_network.h"

#include "session/harness/session_limits.h"
#include "session/session_internal.h"

#include <errno.h>

/* --- the rules ------------------------------------------------------------------------------------------------ */

/* Of whoever has not said. */
static const struct egress_rules *rules_of(const struct session_store *st,
					   const struct egress_rules *said)
{
	return said && egress_rules_mode(said) <= egress_rules_mode(st->network) ? said :
										   st->network;
}

const struct egress_rules *session_rules(const struct session *s)
{
	return rules_of(s->store, s->setup.network);
}

void store_network_init(struct session_store *st, enum egress_mode max)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = JW(&b);

	jw_obj(&w, NULL);
	jw_str(&w, "mode", egress_modes[max]);
	jw_end_obj(&w);
	egress_rules_parse(buf_slice(&b), "network-max", &st->network, NULL);
}

/* --- the wall ------------------------------------------------------------------------------------------------- */

static enum network_wall wall_for(enum confine_level level, enum egress_mode mode)
{
	return level == LEVEL_STRICT || mode != EGRESS_ON ? WALL_NAMESPACE : WALL_NONE;
}

enum network_wall session_wall(const struct session *s)
{
	return wall_for(session_level(s), egress_rules_mode(session_rules(s)));
}

bool session_is_walled(const struct session *s)
{
	return session_wall(s) != WALL_NONE;
}

/* --- checks --------------------------------------------------------------------------------------------------- */

/* Its harness connects to the provider itself. */
static bool calls_by_itself(const struct setup *have, const struct setup_params *p)
{
	struct harness_provider given;
	bool r;

	if (!p->provider.n)
		return have && have->provider && have->gateway.via == PROVIDER_ENVIRONMENT;
	if (harness_provider_parse(p->provider, &given, NULL) < 0)
		return false; /* has been checked before */
	r = given.via == PROVIDER_ENVIRONMENT;
	harness_provider_done(&given);
	return r;
}

static int unsupported(const struct err *why, struct err *e)
{
	return err_field(e, "_meta.acpd.network", "NETWORK_POLICY_UNSUPPORTED", "%s", why->msg);
}

static int check_max(const struct session_store *st, const struct egress_rules *asked,
		     struct err *e)
{
	enum egress_mode max = egress_rules_mode(st->network);

	if (!asked || egress_rules_mode(asked) <= max)
		return 0;
	return err_field(e, "_meta.acpd.network.mode", "LEVEL_NOT_ALLOWED",
			 "the operator allows no more than mode %s", egress_modes[max]);
}

static int check_wall(const struct egress_rules *r, const struct setup *have,
		      const struct setup_params *p, enum confine_level level, struct err *e)
{
	struct err why;

	if (wall_for(level, egress_rules_mode(r)) == WALL_NONE)
		return 0;
	if (egress_rules_mode(r) == EGRESS_OFF && calls_by_itself(have, p))
		return err_field(
			e, "_meta.acpd.provider.via", "PROVIDER_NEEDS_NETWORK",
			"with network off the harness cannot reach its provider: via must be direct or tunnel");
	return netns_try(&why) < 0 ? unsupported(&why, e) : 0;
}

int session_network_check(const struct session_store *st, const struct setup *have,
			  const struct setup_params *p, struct err *e)
{
	struct egress_rules *asked = NULL;
	int r;

	if (p->network.n && egress_rules_parse(p->network, "_meta.acpd.network", &asked, e) < 0)
		return -EINVAL;
	r = check_max(st, asked, e);
	if (r == 0)
		r = check_wall(rules_of(st, asked ? asked :
					    have  ? have->network :
						    NULL),
			       have, p, level_for(st, have, p), e);
	egress_rules_free(asked);
	return r;
}

/* --- its life ------------------------------------------------------------------------------------------------- */

int session_network_open(struct session *s, struct err *e)
{
	struct err why;

	session_limits_group(s);
	if (s->harness.state != H_NONE) /* what is new waits for the next harness */
		return 0;
	if (session_wall(s) == WALL_NONE) {
		session_network_close(s);
		return 0;
	}
	if (!s->network.netns)
		s->network.netns = netns_new(&why);
	return s->network.netns ? 0 : unsupported(&why, e);
}

void session_network_close(struct session *s)
{
	s->network.netns = netns_unref(s->network.netns);
}

/* --- what is told --------------------------------------------------------------------------------------------- */

void session_put_network(struct jw *w, const struct session *s)
{
	const struct egress_rules *r = session_rules(s);
	bool inside = s->network.netns;

	if (!s->setup.network && egress_rules_mode(r) == EGRESS_ON && session_wall(s) == WALL_NONE)
		return;
	if (s->harness.state == H_NONE)
		inside = session_wall(s) == WALL_NAMESPACE; /* as the next harness will be */
	jw_obj(w, "network");
	egress_rules_put_members(r, w);
	jw_str(w, "achieved", inside ? "namespace" : "none");
	if (inside) /* root enters any namespace that it likes */
		jw_bool(w, "leavable", geteuid() == 0 && !s->user.switched);
	jw_end_obj(w);
}

static void put_mode(struct jw *w, enum network_wall wall, enum egress_mode mode)
{
	const char *missing = wall == WALL_NAMESPACE ? netns_missing() : NULL;

	jw_obj(w, NULL);
	jw_str(w, "mode", egress_modes[mode]);
	jw_str(w, "wall", missing ? NULL : wall == WALL_NAMESPACE ? "namespace" : "none");
	jw_str(w, "missing", missing);
	jw_end_obj(w);
}

void store_put_network(const struct session_store *st, struct jw *w)
{
	enum egress_mode max = egress_rules_mode(st->network);

	jw_obj(w, "network");
	jw_str(w, "max", egress_modes[max]);
	jw_arr(w, "modes");
	for (int mode = max; mode >= 0; mode--)
		put_mode(w, wall_for(store_level(st), (enum egress_mode)mode),
			 (enum egress_mode)mode);
	jw_end_arr(w);
	jw_end_obj(w);
}
