#include "session/harness/session_network.h"

#include "session/session_internal.h"

#include <errno.h>

static enum network_mode mode_of(const struct setup *have, const struct setup_params *p)
{
	return p->network != NETWORK_UNSET || !have ? p->network : have->network;
}

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

int session_network_check(const struct setup *have, const struct setup_params *p, struct err *e)
{
	struct err why;

	if (mode_of(have, p) != NETWORK_OFF)
		return 0;
	if (calls_by_itself(have, p))
		return err_field(
			e, "_meta.acpd.provider.via", "PROVIDER_NEEDS_NETWORK",
			"with network off the harness cannot reach its provider: via must be direct or tunnel");
	return netns_try(&why) < 0 ? unsupported(&why, e) : 0;
}

int session_network_open(struct session *s, struct err *e)
{
	struct err why;

	if (s->harness.state != H_NONE) /* what is new waits for the next harness */
		return 0;
	if (s->setup.network != NETWORK_OFF) {
		session_network_close(s);
		return 0;
	}
	if (!s->harness.netns)
		s->harness.netns = netns_new(&why);
	return s->harness.netns ? 0 : unsupported(&why, e);
}

void session_network_close(struct session *s)
{
	s->harness.netns = netns_unref(s->harness.netns);
}

void session_put_network(struct jw *w, const struct session *s)
{
	bool off = s->setup.network == NETWORK_OFF, inside = s->harness.netns;

	if (s->setup.network == NETWORK_UNSET)
		return;
	if (s->harness.state == H_NONE)
		inside = off; /* as the next harness will be */
	jw_obj(w, "network");
	jw_str(w, "mode", network_modes[s->setup.network]);
	jw_str(w, "achieved", inside ? "namespace" : "none");
	if (inside) /* root enters any namespace that it likes */
		jw_bool(w, "leavable", geteuid() == 0 && !s->user.switched);
	jw_end_obj(w);
}
