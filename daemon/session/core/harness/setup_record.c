/* setup_record.c - a setup as it stands in the journal, and back from there. */
#include "session/core/harness/setup.h"

#include "base/limits.h"
#include "harnesses/adapter.h"
#include "json/jstr.h"
#include "session/core/harness/session_env.h"

/* A provider without a secret is written down. */
static bool keeps_provider(const struct setup *s)
{
	static const struct provider_keys none;

	return s->provider && !s->gateway.headers.n && !s->gateway.fallbacks.n &&
	       provider_keys_equal(&s->keys, &none);
}

static void put_level(const struct setup *s, struct jw *w)
{
	if (!s->level.named)
		return;
	jw_obj(w, "level");
	jw_str(w, "name", level_name(s->level.level));
	jw_bool(w, "atLeast", s->level.at_least);
	jw_bool(w, "log", s->level.log);
	jw_end_obj(w);
}

void setup_put(const struct setup *s, struct jw *w)
{
	jw_str(w, "model", s->model);
	jw_str(w, "mode", s->mode);
	jw_str(w, "approval", harness_approvals[s->approval]);
	jw_str(w, "systemPrompt", s->system_prompt);
	if (s->ephemeral)
		jw_bool(w, "ephemeral", true);
	if (s->remove_on_close)
		jw_bool(w, "removeOnClose", true);
	if (s->baseline)
		jw_bool(w, "baseline", true);
	if (s->system_prompt)
		jw_bool(w, "systemOverride", s->system_override);
	jw_str(w, "authMethod", s->auth_method);
	session_labels_put(w, s->labels);
	/* A provider with secrets becomes `true`: a later daemon asks the client for it (PROVIDER_REQUIRED). */
	if (keeps_provider(s))
		jw_raw(w, "provider", slice_of(s->provider));
	else
		jw_bool(w, "provider", s->provider || s->needs_provider);
	if (s->provider_follows)
		jw_bool(w, "providerFollows", true);
	jw_raw(w, "chosen", slice_of(s->chosen));
	jw_raw(w, "mcp", slice_of(s->mcp));
	jw_raw(w, "policy", slice_of(s->policy));
	jw_raw(w, "checks", slice_of(s->checks));
	jw_raw(w, "retry", slice_of(s->retry));
	jw_raw(w, "source", slice_of(s->source));
	jw_raw(w, "additionalDirectories", slice_of(s->additional_dirs));
	if (s->network)
		egress_rules_put(s->network, w, "network");
	put_level(s, w);
	if (s->inner != INNER_UNSAID)
		jw_bool(w, "innerSandbox", s->inner == INNER_ON);
	group_limits_put(&s->limits, w, "limits");
	session_env_put(s, w);
	budgets_put(&s->budgets, w, "budgets");
	approval_terms_put(&s->approvals, w, "approvals");
	draft_terms_put(&s->draft_after, w, "draftAfter");
}

static void record_load_str(struct slice record, const char *key, char **slot)
{
	free(*slot);
	*slot = NULL;
	jstr_decode(jobj_get(record, key), 2 * MIB, slot);
}

static void record_load_raw(struct slice record, const char *key, enum jtype type, char **slot)
{
	struct jval v = jobj_get(record, key);

	free(*slot);
	*slot = v.type == type ? xstrndup(v.raw.p, v.raw.n) : NULL;
}

/* Rules that are not known here allow nothing. "open" is what mode "on" was called at first. */
static struct egress_rules *load_network(struct slice record)
{
	struct jval v = jobj_get(record, "network");
	struct egress_rules *r = NULL;

	if (v.type == J_NONE)
		return NULL;
	if (jstr_is(jobj_get(v.raw, "mode"), "open"))
		v.raw = SLICE("{\"mode\":\"on\"}");
	/* Fails closed: a session of a later acpd must not get more network than it had. */
	if (egress_rules_parse(v.raw, "network", &r, NULL) < 0)
		egress_rules_parse(SLICE("{\"mode\":\"off\"}"), "network", &r, NULL);
	return r;
}

/* A level that is not known here is the highest. */
static struct level_wish load_level(struct slice record)
{
	struct jval v = jobj_get(record, "level");
	struct level_wish w = { .level = LEVEL_STRICT, .named = v.type == J_OBJECT };
	_cleanup_(freep) char *name = NULL;

	if (!w.named)
		return (struct level_wish){ 0 };
	if (jstr_decode(jobj_get(v.raw, "name"), 32, &name) == 0)
		(void)level_parse(name, &w.level);
	/* Absent counts as true, which is the stricter value. */
	w.at_least = jobj_get(v.raw, "atLeast").type != J_FALSE;
	w.log = jobj_get(v.raw, "log").type == J_TRUE;
	return w;
}

static enum inner_choice load_inner(struct jval v)
{
	return v.type == J_TRUE ? INNER_ON : v.type == J_FALSE ? INNER_OFF : INNER_UNSAID;
}

void setup_load(struct setup *s, struct slice record)
{
	struct jval budgets = jobj_get(record, "budgets"), v = jobj_get(record, "approval");

	record_load_str(record, "model", &s->model);
	record_load_str(record, "mode", &s->mode);
	record_load_str(record, "systemPrompt", &s->system_prompt);
	record_load_str(record, "authMethod", &s->auth_method);
	/* A missing string clears the old one: a record replaces the one before it. */
	for (size_t i = 0; i < LABEL_MAX; i++)
		record_load_str(record, session_label_names[i], &s->labels[i]);
	s->system_override = jobj_get(record, "systemOverride").type == J_TRUE;
	s->ephemeral = jobj_get(record, "ephemeral").type == J_TRUE;
	s->baseline = jobj_get(record, "baseline").type == J_TRUE;
	s->remove_on_close = jobj_get(record, "removeOnClose").type == J_TRUE;
	s->needs_provider = jobj_get(record, "provider").type == J_TRUE;
	s->provider_follows = jobj_get(record, "providerFollows").type == J_TRUE;
	record_load_raw(record, "provider", J_OBJECT, &s->provider);
	record_load_raw(record, "chosen", J_OBJECT, &s->chosen);
	record_load_raw(record, "mcp", J_OBJECT, &s->mcp);
	record_load_raw(record, "policy", J_OBJECT, &s->policy);
	record_load_raw(record, "checks", J_ARRAY, &s->checks);
	record_load_raw(record, "retry", J_OBJECT, &s->retry);
	record_load_raw(record, "source", J_OBJECT, &s->source);
	record_load_raw(record, "additionalDirectories", J_ARRAY, &s->additional_dirs);
	egress_rules_free(s->network);
	s->network = load_network(record);
	s->level = load_level(record);
	s->inner = load_inner(jobj_get(record, "innerSandbox"));
	group_limits_load(jobj_get(record, "limits").raw, &s->limits);
	approval_terms_load(jobj_get(record, "approvals").raw, &s->approvals);
	draft_terms_load(jobj_get(record, "draftAfter").raw, &s->draft_after);
	session_env_load(s, record);
	for (int i = 0; i < APPROVAL_MAX; i++)
		if (jstr_is(v, harness_approvals[i]))
			s->approval = (enum harness_approval)i;
	if (budgets.type == J_OBJECT)
		budgets_parse(budgets.raw, "budgets", &s->budgets, NULL);
	/* Last: it borrows from provider and model, which are loaded above. */
	setup_parse_gateway(s);
}

void setup_forget_keys(struct setup *s)
{
	_cleanup_(buf_done) struct buf record = { 0 };
	struct jw w = JW(&record);

	jw_obj(&w, NULL);
	/* Through the record: what is lost is exactly what a restart of the daemon loses. */
	setup_put(s, &w);
	jw_end_obj(&w);
	setup_done(s);
	setup_load(s, buf_slice(&record));
}
