/*
 * setup.c - the parameters a session's harness is started with: change, copy, inherit, forget.
 *
 * setup_apply returns which parameters changed, and whether the harness must restart for them.
 * Server lists that are equal for the harness (put_seen) do not restart it. `gateway` is parsed
 * from provider, keys and model and borrows from them: each function that changes one of the three
 * calls setup_parse_gateway. `owned` lists every string member; copying, freeing and wiping use it.
 * Secrets are wiped before they are freed.
 */
#include "session/core/harness/setup.h"

#include "base/limits.h"
#include "base/os/locked.h"
#include "harnesses/adapter.h"
#include "json/jstr.h"
#include "session/core/harness/session_env.h"

#define CHOICE_MAX 4096	       /* bytes of an option's id or value */
#define CHOICES_MAX (64 * KIB) /* of all that a client chose */

static bool same(const char *have, struct slice want)
{
	/* "[]" and an absent list mean the same, and must not restart the harness. */
	bool none = !want.n || slice_is(want, "[]");

	if (!have || strcmp(have, "[]") == 0)
		return none;
	return slice_is(want, have);
}

/* True if it changed. */
static bool setup_replace(char **slot, struct slice s)
{
	if (same(*slot, s))
		return false;
	free(*slot);
	*slot = s.n ? xstrndup(s.p, s.n) : NULL;
	return true;
}

static bool replace_given(char **slot, struct slice s)
{
	return s.n && setup_replace(slot, s);
}

static bool replace_budget(struct budget *slot, const struct budget *b)
{
	if (slot->has == b->has && !memcmp(slot->limit, b->limit, sizeof(b->limit)))
		return false;
	*slot = *b;
	return true;
}

/* The list as the harness would see it: which connection serves an "acp" server makes no difference to it. */
static void put_seen(struct buf *b, struct slice servers)
{
	struct jw w = JW(b);
	struct jiter it;
	struct jval v;

	if (!servers.n || !jiter_init(&it, (struct jval){ J_ARRAY, servers }))
		return;
	while (jiter_next(&it, NULL, &v)) {
		jw_obj(&w, NULL);
		jw_members(&w, v.raw, jstr_is(jobj_get(v.raw, "type"), "acp") ? "serverId" : NULL);
		jw_end_obj(&w);
	}
}

/* True if the harness has to be configured again. */
static bool replace_servers(char **slot, struct slice s)
{
	_cleanup_(buf_done) struct buf before = { 0 }, after = { 0 };

	put_seen(&before, slice_of(*slot));
	put_seen(&after, s);
	/* Stored even if the harness sees no difference: another connection may serve the server. */
	setup_replace(slot, s);
	return !slice_eq(buf_slice(&before), buf_slice(&after));
}

struct slice setup_server_id(const struct setup *s, const char *name)
{
	struct jiter it;
	struct jval v;

	if (!s->mcp_servers || !jiter_init(&it, (struct jval){ J_ARRAY, slice_of(s->mcp_servers) }))
		return SLICE_NONE;
	while (jiter_next(&it, NULL, &v))
		if (jstr_is(jobj_get(v.raw, "type"), "acp") &&
		    jstr_is(jobj_get(v.raw, "name"), name))
			return jobj_get(v.raw, "serverId").raw;
	return SLICE_NONE;
}

/* A provider that lists its models has no others. */
static bool model_listed(const struct harness_provider *p, const char *model)
{
	struct jiter it;
	struct jval v;

	if (!p->models.n)
		return true;
	jiter_init(&it, (struct jval){ J_ARRAY, p->models });
	while (jiter_next(&it, NULL, &v))
		if (jstr_is(v, model))
			return true;
	return false;
}

void setup_parse_gateway(struct setup *s)
{
	harness_provider_done(&s->gateway);
	if (!s->provider)
		return;
	if (provider_load(slice_of(s->provider), &s->gateway) < 0)
		return;
	s->gateway.key = locked_text_str(s->keys.of[0]);
	if (s->model && model_listed(&s->gateway, s->model))
		xstrset(&s->gateway.model, s->model);
	s->needs_provider = false;
}

static unsigned bit(bool changed, enum setup_change which)
{
	return changed ? which | SETUP_CHANGED : 0;
}

static unsigned apply_prompt(struct setup *s, const struct setup_params *p)
{
	bool changed = replace_given(&s->system_prompt, slice_of(p->system_prompt));

	/* system_override belongs to the prompt that was given with it. */
	if (p->system_prompt) {
		changed |= s->system_override != p->system_override;
		s->system_override = p->system_override;
	}
	return bit(changed, SETUP_PROMPT);
}

static unsigned apply_approval(struct setup *s, int approval)
{
	bool changed = approval != APPROVAL_UNCHANGED &&
		       s->approval != (enum harness_approval)approval;

	if (changed)
		s->approval = (enum harness_approval)approval;
	return bit(changed, SETUP_POLICY);
}

static enum egress_mode mode_of(const struct egress_rules *r)
{
	return r ? egress_rules_mode(r) : EGRESS_ON;
}

/* It has to know whether it must go through a proxy, not what that lets through; its own sandbox, whether anything is
 * let through. */
static bool is_told(const struct setup *s, enum egress_mode from, enum egress_mode to)
{
	return (from != EGRESS_ON) != (to != EGRESS_ON) ||
	       (s->inner == INNER_ON && (from == EGRESS_OFF) != (to == EGRESS_OFF));
}

unsigned setup_change_network(struct setup *s, struct slice network)
{
	struct egress_rules *new, *had = s->network;
	unsigned changed;

	if (!network.n || egress_rules_parse(network, "network", &new, NULL) < 0)
		return 0; /* it has been checked before */
	if (had && egress_rules_same(had, new)) {
		egress_rules_free(new);
		return 0;
	}
	s->network = new;
	/* SETUP_CHANGED always: the journal has the rules even if the harness need not know them. */
	changed = bit(is_told(s, mode_of(had), mode_of(new)), SETUP_NETWORK) | SETUP_CHANGED;
	egress_rules_free(had);
	return changed;
}

static unsigned apply_level(struct setup *s, const struct level_wish *w)
{
	struct level_wish have = s->level;

	if (!w)
		return 0;
	s->level = *w;
	return bit(!have.named || have.level != w->level || have.at_least != w->at_least ||
			   have.log != w->log,
		   SETUP_LEVEL);
}

static unsigned apply_inner(struct setup *s, enum inner_choice inner)
{
	bool changed = inner != INNER_UNSAID && inner != s->inner;
	/* INNER_OFF and INNER_UNSAID start the harness the same way. */
	bool other = changed && (inner == INNER_ON || s->inner == INNER_ON);

	if (changed)
		s->inner = inner;
	return bit(other, SETUP_INNER) | (changed ? SETUP_CHANGED : 0);
}

bool harness_nests(const struct harness_def *def, const struct setup *s)
{
	return def->caps.inner_sandbox && s->inner == INNER_ON;
}

/* The new text, the new keys. True if either changed. What is before borrows from the text that was. */
static bool replace_provider(struct setup *s, struct slice given, char **was)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	struct provider_keys keys = { 0 };
	bool changed;

	provider_split(given, &text, &keys);
	/* The keys are compared apart from the text: provider_split has taken them out of it. */
	changed = !provider_keys_equal(&keys, &s->keys) || !same(s->provider, buf_slice(&text));
	provider_keys_copy(&s->keys, &keys);
	provider_keys_done(&keys);
	*was = s->provider;
	s->provider = xstrndup(text.data, text.len);
	return changed;
}

unsigned setup_change_provider(struct setup *s, struct slice provider, bool follows)
{
	struct harness_provider before = s->gateway;
	_cleanup_(freep) char *was = NULL;
	bool changed, noted, alike;

	if (!provider.n)
		return 0;
	s->gateway = (struct harness_provider){ 0 };
	changed = replace_provider(s, provider, &was);
	noted = s->provider_follows != follows;
	s->provider_follows = follows;
	setup_parse_gateway(s);
	/* While `was` exists: before borrows from it. */
	alike = harness_provider_alike(&before, &s->gateway);
	harness_provider_done(&before);
	return bit(changed && !alike, SETUP_PROVIDER) | (changed || noted ? SETUP_CHANGED : 0);
}

unsigned setup_apply(struct setup *s, const struct setup_params *p)
{
	unsigned changed = bit(replace_servers(&s->mcp_servers, p->mcp_servers), SETUP_SERVERS);
	bool noted = false;

	changed |= bit(replace_given(&s->mcp, p->mcp), SETUP_MCP);
	changed |= bit(replace_given(&s->policy, p->policy), SETUP_POLICY);
	changed |= bit(setup_replace(&s->additional_dirs, p->additional_dirs), SETUP_DIRS);
	changed |= bit(session_env_apply(s, p, &noted), SETUP_ENV);
	changed |= setup_change_provider(s, p->provider, p->provider_follows);
	changed |= bit(replace_given(&s->model, slice_of(p->model)), SETUP_MODEL);
	changed |= apply_prompt(s, p);
	changed |= setup_change_network(s, p->network);
	changed |= apply_level(s, p->level);
	changed |= apply_inner(s, p->inner);
	changed |= apply_approval(s, p->approval);
	changed |= bit(replace_given(&s->mode, slice_of(p->mode)), SETUP_MODE);
	noted |= replace_given(&s->auth_method, slice_of(p->auth_method));
	noted |= replace_given(&s->checks, p->checks);
	noted |= replace_given(&s->retry, p->retry);
	for (size_t i = 0; i < LABEL_MAX; i++)
		noted |= replace_given(&s->labels[i], slice_of(p->labels[i]));
	noted |= group_limits_replace(&s->limits, &p->limits);
	noted |= approval_terms_replace(&s->approvals, p->approvals);
	noted |= draft_terms_replace(&s->draft_after, p->draft_after);
	if (p->budgets) {
		noted |= replace_budget(&s->budgets.turn, &p->budgets->turn);
		noted |= replace_budget(&s->budgets.session, &p->budgets->session);
	}
	/* Again, as the model may have changed after the provider. */
	setup_parse_gateway(s);
	return changed | (noted ? SETUP_CHANGED : 0);
}

void setup_inherit(struct setup *s, const struct setup *from)
{
	const struct {
		char **to;
		const char *from;
	} rows[] = {
		{ &s->env, from->env },		  { &s->secrets, from->secrets },
		{ &s->env_keep, from->env_keep }, { &s->mcp, from->mcp },
		{ &s->policy, from->policy },	  { &s->checks, from->checks },
		{ &s->retry, from->retry },	  { &s->auth_method, from->auth_method },
		{ &s->model, from->model },	  { &s->mode, from->mode },
		{ &s->chosen, from->chosen },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!*rows[i].to)
			xstrset(rows[i].to, rows[i].from);
	for (size_t i = 0; i < LABEL_MAX; i++)
		if (!s->labels[i])
			xstrset(&s->labels[i], from->labels[i]);
	if (!s->provider) {
		xstrset(&s->provider, from->provider);
		provider_keys_copy(&s->keys, &from->keys);
		s->provider_follows = from->provider_follows;
	}
	if (!s->system_prompt && from->system_prompt) {
		xstrset(&s->system_prompt, from->system_prompt);
		s->system_override = from->system_override;
	}
	if (!s->network && from->network)
		s->network = egress_rules_copy(from->network);
	if (!s->level.named)
		s->level = from->level;
	if (s->inner == INNER_UNSAID)
		s->inner = from->inner;
	group_limits_inherit(&s->limits, &from->limits);
	if (!s->draft_after.checks && !s->draft_after.tools)
		s->draft_after = from->draft_after;
	if (!s->approvals.timeout_ms && s->approvals.fallback == ANSWER_REJECT)
		s->approvals = from->approvals;
	if (!s->budgets.turn.has && !s->budgets.session.has)
		s->budgets = from->budgets;
	setup_parse_gateway(s);
	/* setup_parse_gateway clears it only where a provider was given. */
	s->needs_provider = from->needs_provider && !s->provider;
}

static void take_choice(char **slot, struct slice value)
{
	char *text = NULL;

	if (jstr_decode((struct jval){ J_STRING, value }, CHOICE_MAX, &text) < 0)
		return;
	free(*slot);
	*slot = text;
}

void setup_choose(struct setup *s, struct slice category, struct slice id, struct slice value)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	_cleanup_(freep) char *key = NULL;
	struct jw w = JW(&b);

	if (slice_is(category, "\"model\"")) {
		take_choice(&s->model, value);
		setup_parse_gateway(s);
		return;
	}
	if (slice_is(category, "\"mode\"")) {
		take_choice(&s->mode, value);
		return;
	}
	if (jstr_decode((struct jval){ J_STRING, id }, CHOICE_MAX, &key) < 0)
		return;
	jw_obj(&w, NULL);
	/* A new choice of an option replaces the old one. The others stay in their order. */
	if (s->chosen)
		jw_members(&w, slice_of(s->chosen), key);
	jw_raw(&w, NULL, id);
	buf_putc(&b, ':');
	jw_raw(&(struct jw){ &b, false }, NULL, value);
	jw_end_obj(&w);
	/* The choice is in force, but a later start does not repeat it. */
	if (b.failed || buf_len(&b) > CHOICES_MAX)
		return;
	free(s->chosen);
	s->chosen = xstrndup(b.data, b.len);
}

void setup_keep_choice(struct setup *s)
{
	xstrset(&s->sure_model, s->model);
	xstrset(&s->sure_mode, s->mode);
}

static bool equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* If what was in force cannot be had any more either, nothing of it is wanted. */
void setup_forget_choice(struct setup *s)
{
	bool back = !equal(s->model, s->sure_model) || !equal(s->mode, s->sure_mode);

	xstrset(&s->model, back ? s->sure_model : NULL);
	xstrset(&s->mode, back ? s->sure_mode : NULL);
	setup_parse_gateway(s);
}

/* Strings that a setup owns. */
#define OWN(member) offsetof(struct setup, member)
#define OWN_LABEL(id, name, attribute, instead) OWN(labels[LABEL_##id]),
static const size_t owned[] = {
	OWN(mcp_servers), OWN(additional_dirs), OWN(env),      OWN(provider),
	OWN(auth_method), OWN(model),		OWN(mode),     OWN(system_prompt),
	OWN(sure_model),  OWN(sure_mode),	OWN(chosen),   OWN(mcp),
	OWN(policy),	  OWN(secrets),		OWN(env_keep), OWN(env_needed),
	OWN(checks),	  OWN(retry),		OWN(source),   SESSION_LABELS(OWN_LABEL)
};

static char **owned_at(struct setup *s, size_t i)
{
	return (char **)((char *)s + owned[i]);
}

/* Some of them are, or hold, values of secrets. */
static void free_wiped(char *text)
{
	/* explicit_bzero: the compiler must not drop a write before free. */
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void setup_done(struct setup *s)
{
	harness_provider_done(&s->gateway);
	provider_keys_done(&s->keys);
	egress_rules_free(s->network);
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		free_wiped(*owned_at(s, i));
	memset(s, 0, sizeof(*s));
}

struct setup *setup_copy(const struct setup *s)
{
	struct setup *copy = new0(struct setup);
	bool needs = s->needs_provider;

	*copy = *s;
	/* It borrows from the original, and is parsed again below. */
	copy->gateway = (struct harness_provider){ 0 };
	copy->keys = (struct provider_keys){ 0 };
	provider_keys_copy(&copy->keys, &s->keys);
	copy->network = s->network ? egress_rules_copy(s->network) : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		*owned_at(copy, i) = xstrdup(*owned_at(copy, i));
	setup_parse_gateway(copy);
	copy->needs_provider = needs;
	return copy;
}

void setup_restore(struct setup *s, struct setup *copy)
{
	if (!copy)
		return;
	setup_done(s);
	*s = *copy; /* what the gateway borrows moves along */
	free(copy);
}

struct setup *setup_free(struct setup *copy)
{
	if (copy)
		setup_done(copy);
	free(copy);
	return NULL;
}
