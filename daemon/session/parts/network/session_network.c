/*
 * session_network.c - chooses the network isolation of a session, and builds or replaces it.
 *
 * wall_for is the only decision. Level strict and mode "off" need a namespace. An allowlist uses
 * nftables if the session's user can be filtered, otherwise a namespace. A request is refused by
 * the checks before the session changes. Running processes stay in the namespace they started in,
 * so a change that needs another namespace is applied to the next harness. nftables and proxy rules
 * change at once.
 */
#include "session/parts/network/session_network.h"

#include "base/log.h"
#include "egress/egress.h"
#include "egress/nft_wall.h"
#include "session/parts/model/session_model_internal.h"
#include "session/core/session_host.h"
#include "session/parts/confinement/session_level.h"

#include <arpa/inet.h>

/* --- the rules ------------------------------------------------------------------------------------------------ */

/* The operator's rules hold for sessions without rules, and for those whose mode is more open. */
static const struct egress_rules *rules_in_force(const struct session_store *st,
						 const struct egress_rules *said)
{
	return said && egress_rules_mode(said) <= egress_rules_mode(store_network_of(st)->rules) ?
		       said :
		       store_network_of(st)->rules;
}

const struct egress_rules *session_rules(const struct session *s)
{
	return rules_in_force(s->store, network_rules_of(&s->setup));
}

/* Parsed like the rules of a client, so that both mean the same. */
static void configure_network(struct session_store *st)
{
	JW_BUF(w, b);

	jw_object(&w, NULL, JW_STR("mode", egress_modes[st->terms.network_max]));
	egress_rules_free(store_network_of(st)->rules);
	egress_rules_parse(buf_slice(&b), "network-max", &store_network_of(st)->rules, NULL);
}

/* --- the wall ------------------------------------------------------------------------------------------------- */

static const char *const wall_names[] = {
	[WALL_NONE] = "none",
	[WALL_NFT] = "nftables",
	[WALL_NAMESPACE] = "namespace",
};

/* By its packets only a user can be walled who is not ours, and who cannot become root. */
static bool walls_users(const struct session_store *st, enum confine_level level)
{
	return st->user.switched && level != LEVEL_OPEN &&
	       !nft_wall_missing(store_network_of(st)->wall);
}

static enum network_wall wall_for(const struct session_store *st, enum confine_level level,
				  enum egress_mode mode)
{
	if (level == LEVEL_STRICT || mode == EGRESS_OFF)
		return WALL_NAMESPACE;
	if (mode == EGRESS_ON)
		return WALL_NONE;
	return walls_users(st, level) ? WALL_NFT : WALL_NAMESPACE;
}

/* The wall that its level and rules ask for. */
static enum network_wall session_wall(const struct session *s)
{
	return wall_for(s->store, session_level(s), egress_rules_mode(session_rules(s)));
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

	if (!setup_given(p, &provider_parameter))
		return have && have->provider && have->gateway.via == PROVIDER_ENVIRONMENT;
	if (harness_provider_parse(setup_given_text(p, &provider_parameter), &given, NULL) < 0)
		return false; /* has been checked before */
	r = given.via == PROVIDER_ENVIRONMENT;
	harness_provider_done(&given);
	return r;
}

static int network_unsupported(const struct err *why, struct err *e)
{
	return err_field(e, "_meta.acpd.network", "NETWORK_POLICY_UNSUPPORTED", "%s", why->msg);
}

/* The operator limits the mode alone: hosts of an allowlist are the client's choice. */
static int network_check_max(const struct session_store *st, const struct egress_rules *asked,
			     struct err *e)
{
	enum egress_mode max = egress_rules_mode(store_network_of(st)->rules);

	if (!asked || egress_rules_mode(asked) <= max)
		return 0;
	return err_field(e, "_meta.acpd.network.mode", "LEVEL_NOT_ALLOWED",
			 "the operator allows no more than mode %s", egress_modes[max]);
}

/* A namespace without a way out needs no proxy, so only an allowlist is refused without one. */
static int check_proxy(const struct session_store *st, enum egress_mode mode, struct err *e)
{
	const char *why = mode == EGRESS_ALLOWLIST ? egress_missing(st->egress) : NULL;

	return why ? err_field(e, "_meta.acpd.network", "NETWORK_POLICY_UNSUPPORTED", "%s", why) :
		     0;
}

static int check_wall(const struct session_store *st, enum egress_mode mode,
		      const struct setup *have, const struct setup_params *p, struct err *e)
{
	enum network_wall wall = wall_for(st, level_for(st, have, p), mode);
	struct err why;

	if (mode == EGRESS_OFF && calls_by_itself(have, p))
		return err_field(
			e, "_meta.acpd.provider.via", "PROVIDER_NEEDS_NETWORK",
			"with network off the harness cannot reach its provider: via must be direct or tunnel");
	if (check_proxy(st, mode, e) < 0)
		return -EINVAL;
	return wall == WALL_NAMESPACE && netns_try(&why) < 0 ? network_unsupported(&why, e) : 0;
}

/* Whether a session with this setup (NULL: none yet) can be given p. */
static int session_network_check(const struct session_store *st, const struct setup *have,
				 const struct setup_params *p, struct err *e)
{
	const struct egress_rules *said = have ? network_rules_of(have) : NULL;
	struct slice network = setup_given_text(p, &network_parameter);
	struct egress_rules *asked = NULL;
	int r;

	if (network.n && egress_rules_parse(network, "_meta.acpd.network", &asked, e) < 0)
		return -EINVAL;
	if (asked)
		said = asked;
	/* Only new rules: those that the session has were checked when it got them. */
	r = network_check_max(st, asked, e);
	if (r == 0)
		r = check_wall(st, egress_rules_mode(rules_in_force(st, said)), have, p, e);
	egress_rules_free(asked);
	return r;
}

static int check_network_ceiling(const struct session *s, const struct setup_params *p,
				 const struct setup_params *c, struct err *e)
{
	struct slice asked = setup_given_text(p, &network_parameter);
	struct egress_rules *rules = NULL, *more = NULL;
	bool ok;

	if (!asked.n)
		return 0;
	if (egress_rules_parse(asked, "_meta.acpd.network", &rules, e) < 0)
		return -EINVAL;
	setup_given_value(c, &network_parameter, &more);
	ok = egress_rules_within(rules, session_rules(s)) ||
	     (more && egress_rules_within(rules, more));
	egress_rules_free(rules);
	egress_rules_free(more);
	return ok ? 0 :
		    err_field(e, "_meta.acpd.network", "LEVEL_NOT_ALLOWED",
			      "this token allows the session no wider network than it has");
}

/* --- the wall of nftables --------------------------------------------------------------------------------------- */

/* The wall stands, or cannot be made: the harness that waits for it goes on, or does not come. */
static void nft_on_held(void *ctx, const struct err *error)
{
	struct session *s = ctx;

	if (!network_of(s)->holding) {
		if (error)
			log_warn("session", "the session's network could not be walled", "session",
				 s->id, "text", error->msg);
		return;
	}
	network_of(s)->holding = false;
	harness_walled(s, error);
}

/* Packets to the proxy and to the listener for model calls pass the wall. */
static void way_of(struct nft_way *way, const struct sockaddr_in *at)
{
	inet_ntop(AF_INET, &at->sin_addr, way->host, sizeof(way->host));
	way->port = ntohs(at->sin_port);
}

/* A user whose network is open holds that, too: nobody may be walled beside him (nft_wall.h). */
static bool needs_hold(const struct session *s)
{
	return geteuid() == 0 && s->user.switched && network_of(s)->wall != WALL_NAMESPACE;
}

/* Acquires or changes the hold of the session's user. 0: it stands, or none is needed; 1: nft_on_held gets the answer, and
 * no harness may start before. */
static int network_nft_hold(struct session *s, struct err *e)
{
	struct session_network *n = network_of(s);
	struct nft_way ways[2];
	struct nft_rule rule = { .ways = ways };
	int r;

	if (!needs_hold(s))
		return 0;
	if (n->wall == WALL_NFT)
		rule.network = session_rules(s);
	if (n->wall == WALL_NFT && n->proxy.sin_family)
		way_of(&ways[rule.nways++], &n->proxy);
	if (n->wall == WALL_NFT && model_of(s)->listener)
		way_of(&ways[rule.nways++], &model_listener_place(model_of(s)->listener)->at);
	if (n->hold)
		r = nft_hold_change(n->hold, &rule, nft_on_held, s, e);
	else
		r = (n->hold = nft_hold_take(store_network_of(s->store)->wall, s->user.uid, &rule,
					     nft_on_held, s, e)) ?
			    0 :
			    -EINVAL;
	if (r < 0)
		return r;
	return n->wall == WALL_NFT;
}

/* --- its life ------------------------------------------------------------------------------------------------- */

static void close_network(struct session *s)
{
	struct session_network *n = network_of(s);

	n->hold = nft_hold_drop(n->hold);
	n->holding = false;
	network_proxy_close(s);
	n->netns = netns_unref(n->netns);
	n->wall = WALL_NONE;
}

/* Kept until the session is closed: its processes stay where they started. */
static int make_namespace(struct session *s, struct err *e)
{
	struct err why;

	if (network_of(s)->wall != WALL_NAMESPACE || network_of(s)->netns)
		return 0;
	network_of(s)->netns = netns_new(&why);
	return network_of(s)->netns ? 0 : network_unsupported(&why, e);
}

/* Another wall replaces all of the old one. After a failure nothing is open. */
static int stand_behind(struct session *s, enum network_wall wall, struct err *e)
{
	int r;

	if (network_of(s)->wall != wall)
		close_network(s);
	network_of(s)->wall = wall;
	r = make_namespace(s, e);
	if (r == 0 && wall != WALL_NONE && !egress_missing(s->store->egress))
		r = network_proxy_open(s, e);
	if (r < 0)
		close_network(s);
	return r;
}

/* Before anything is started: what its rules ask for. */
static int session_network_open(struct session *s, struct err *e)
{
	if (s->harness.state != H_NONE) /* what is new waits for the next harness */
		return 0;
	return stand_behind(s, session_wall(s), e);
}

/* After session_network_open, and once its listeners are known: 0: the wall stands; 1: harness_walled is called when it
 * does. */
static int session_network_wall(struct session *s, struct err *e)
{
	int r = network_nft_hold(s, e);

	network_of(s)->holding = r > 0;
	return r;
}

/* A wall by user can be put round what runs; a namespace has to be entered, and a harness told of its proxy. */
static void change_network(struct session *s)
{
	struct err e = { 0 };
	int r = 0;

	if (s->harness.state == H_NONE || network_of(s)->holding)
		return;
	if (network_of(s)->wall == WALL_NONE && session_wall(s) == WALL_NFT)
		r = stand_behind(s, WALL_NFT, &e);
	else if (network_of(s)->wall != WALL_NONE && network_of(s)->proxy.sin_family)
		r = network_proxy_rules(s, &e);
	if (r == 0)
		r = network_nft_hold(s, &e);
	if (r < 0)
		log_warn("session", "the session's network could not be changed", "session", s->id,
			 "text", e.msg);
}

int session_set_network(struct session *s, struct slice network, struct err *e)
{
	struct jval rules = { J_OBJECT, network };
	struct setup_params p = { 0 };
	unsigned changed;

	setup_give(&p, &network_parameter, rules);
	if (s->load.before) /* should it fail, all is as it was before */
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "the session is being loaded");
	if (session_network_check(s->store, &s->setup, &p, e) < 0)
		return -EINVAL;
	/* The same rules again restart nothing. */
	changed = setup_change(&s->setup, &network_parameter, rules);
	if (!changed)
		return 0;
	session_restart_for(s, changed);
	change_network(s);
	session_note_head(s);
	session_log(s, "network changed", NULL);
	session_advance(s);
	return 0;
}

/* Root with capabilities enters any namespace that it likes. */
static bool may_leave(const struct session *s)
{
	return geteuid() == 0 && !s->user.switched && session_level(s) == LEVEL_OPEN;
}

/* --- what is told --------------------------------------------------------------------------------------------- */

void session_put_network(struct jw *w, const struct session *s)
{
	const struct egress_rules *r = session_rules(s);
	/* without a harness as the next one will have it */
	enum network_wall wall = s->harness.state == H_NONE ? session_wall(s) : network_of(s)->wall;

	if (!network_rules_of(&s->setup) && egress_rules_mode(r) == EGRESS_ON && wall == WALL_NONE)
		return;
	jw_obj(w, "network");
	egress_rules_put_members(r, w);
	jw_str(w, "achieved", wall_names[wall]);
	jw_bool(w, "previews", wall != WALL_NAMESPACE);
	if (wall == WALL_NAMESPACE)
		jw_bool(w, "leavable", may_leave(s));
	network_put_traffic(w, s);
	jw_end_obj(w);
}

/* Why a new session could not have it. */
static const char *why_not(const struct session_store *st, enum network_wall wall,
			   enum egress_mode mode)
{
	const char *proxy = mode == EGRESS_ALLOWLIST ? egress_missing(st->egress) : NULL;

	return proxy ? proxy : wall == WALL_NAMESPACE ? netns_missing() : NULL;
}

static void network_put_mode(struct jw *w, const struct session_store *st, enum egress_mode mode)
{
	enum network_wall wall = wall_for(st, store_level(st), mode);
	const char *missing = why_not(st, wall, mode);

	jw_object(w, NULL, JW_STR("mode", egress_modes[mode]),
		  JW_STR("wall", missing ? NULL : wall_names[wall]), JW_STR("missing", missing));
}

void store_put_network(const struct session_store *st, struct jw *w)
{
	enum egress_mode max = egress_rules_mode(store_network_of(st)->rules);

	jw_obj(w, "network");
	jw_str(w, "max", egress_modes[max]);
	jw_arr(w, "modes");
	for (int mode = max; mode >= 0; mode--)
		network_put_mode(w, st, (enum egress_mode)mode);
	jw_end_arr(w);
	jw_end_obj(w);
}

static void create_network(struct session *s)
{
	list_init(&network_of(s)->asks);
}

static void free_network(struct session *s)
{
	for (size_t i = 0; i < network_of(s)->ntraffic; i++)
		free(network_of(s)->traffic[i].host);
	free(network_of(s)->traffic);
}

static int open_networks(struct session_store *st, const struct store_config *cfg,
			 struct err *e _unused_)
{
	store_network_of(st)->wall = cfg->wall;
	return 0;
}

/* egress and wall belong to the daemon: they are only borrowed. */
static void free_networks(struct session_store *st)
{
	egress_rules_free(store_network_of(st)->rules);
}

/* NULL: the network of the daemon. */
static void put_network_bounds(const struct session *s, struct proc_bounds *b)
{
	b->netns = network_of(s)->netns;
}

static void put_network_request(const struct session *s, struct harness_request *r)
{
	r->of.inner_network = egress_rules_mode(session_rules(s)) != EGRESS_OFF;
}

static int network_check_setup(const struct setup_request *r, struct err *e)
{
	return session_network_check(r->store, r->have, r->params, e);
}

const struct session_part network_part = {
	.name = "network",
	.size = sizeof(struct session_network),
	.parameters = PARAMETERS(&network_parameter),
	.create = create_network,
	.setup_changed = change_network,
	.put_status = session_put_network,
	.shut = close_network,
	.free = free_network,
	.store_size = sizeof(struct store_network),
	.store_configure = configure_network,
	.store_open = open_networks,
	.store_free = free_networks,
	.open_bounds = session_network_open,
	.put_bounds = put_network_bounds,
	.connect = session_network_wall,
	.put_request = put_network_request,
	.put_env = session_network_env,
	.check_setup = network_check_setup,
	.check_ceiling = check_network_ceiling,
};
