/*
 * network_rules.c - _meta.acpd.network as a parameter of a session: the rules for where it may go.
 *
 * A harness must be told whether it goes through a proxy, not what that lets through; so most changes do not restart it.
 */
#include "session/parts/network/session_network.h"

#include "json/jstr.h"

/* The value of the parameter. */
struct network_value {
	struct egress_rules *rules; /* NULL: the client has not given any */
};

static int parse_network(struct jval v, const char *field, void *ret, struct err *e)
{
	struct network_value *value = ret;

	return egress_rules_parse(v.raw, field, &value->rules, e);
}

static void put_network_rules(const void *value, struct jw *w, const char *key)
{
	const struct network_value *v = value;

	if (v->rules)
		egress_rules_put(v->rules, w, key);
}

/* Rules that are not known here allow nothing. "open" is what mode "on" was called at first. */
static void load_network(struct jval v, void *ret)
{
	struct network_value *value = ret;

	if (jstr_is(jobj_get(v.raw, "mode"), "open"))
		v.raw = SLICE("{\"mode\":\"on\"}");
	/* Fails closed: a session of a later acpd must not get more network than it had. */
	if (egress_rules_parse(v.raw, "network", &value->rules, NULL) < 0)
		egress_rules_parse(SLICE("{\"mode\":\"off\"}"), "network", &value->rules, NULL);
}

static void free_network_rules(void *value)
{
	egress_rules_free(((struct network_value *)value)->rules);
}

static enum egress_mode mode_of(const struct network_value *v)
{
	return v->rules ? egress_rules_mode(v->rules) : EGRESS_ON;
}

/* Its own sandbox must be told whether anything is let through. */
static unsigned network_effect(const struct setup *s, const void *before, const void *after)
{
	enum egress_mode from = mode_of(before), to = mode_of(after);
	bool is_told = (from != EGRESS_ON) != (to != EGRESS_ON) ||
		       (setup_inner(s) == INNER_ON && (from == EGRESS_OFF) != (to == EGRESS_OFF));

	return is_told ? network_parameter.change : 0;
}

const struct session_parameter network_parameter = {
	PARAMETER("network", OBJ, "what the session may reach"),
	.order = { .checked = 90, .stored = 200 },
	.change = SETUP_RESTARTS(9),
	.size = sizeof(struct network_value),
	.parse = parse_network,
	.put = put_network_rules,
	.load = load_network,
	.done = free_network_rules,
	.effect = network_effect,
};

const struct egress_rules *network_rules_of(const struct setup *s)
{
	return ((const struct network_value *)setup_value(s, &network_parameter))->rules;
}
