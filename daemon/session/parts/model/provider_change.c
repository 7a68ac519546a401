/* provider_change.c - another provider for a session whose harness goes on; and keys that a harness has without a provider. */
#include "session/core/session_internal.h"

#include "json/jstr.h"
#include "session/core/harness/baseenv.h"
#include "session/parts/model/session_model_internal.h"

/* --- another provider -------------------------------------------------------------------------------------- */

/* Not the model in force, which a client may have chosen since. */
static bool is_same_model(const struct session *s, const struct harness_provider *p)
{
	struct jval had = jobj_get(slice_of(s->setup.provider), "model");

	return p->model ? jstr_is(had, p->model) : had.type != J_STRING;
}

/* The harness knows these since its start. Its list of models it keeps; of another one only the calls are held to it. */
static int check_fixed(const struct session *s, const struct harness_provider *p, struct err *e)
{
	const struct harness_provider *had = &s->setup.gateway;
	const struct {
		bool same;
		const char *field, *text;
	} rows[] = {
		{ s->setup.provider != NULL, "provider", "the session has no provider" },
		{ had->via != PROVIDER_ENVIRONMENT, "provider", "the harness has the key itself" },
		{ p->via != PROVIDER_ENVIRONMENT, "provider.via", "the harness has no key" },
		{ str_equal(p->api, had->api), "provider.api", "the harness speaks another API" },
		{ is_same_model(s, p), "provider.model", "session/set_model changes the model" },
		{ str_equal(p->small_model, had->small_model), "provider.smallModel",
		  "the harness has been told another" },
		{ p->idle_timeout_ms == had->idle_timeout_ms, "provider.idleTimeoutMs",
		  "the harness has been told another" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].same)
			return err_field(e, rows[i].field, "PROVIDER_FIXED",
					 "%s: session/load with this provider starts it anew",
					 rows[i].text);
	return 0;
}

/* Everything is checked here: session_set_provider cannot fail halfway. */
static int change_check(const struct session *s, struct slice provider, struct err *e)
{
	struct harness_provider p;
	int r;

	if (s->load.before) /* should it fail, all is as it was before */
		return err_set(e, -EBUSY, RPC_INVALID_REQUEST, "SESSION_BUSY",
			       "the session is being loaded");
	r = harness_provider_parse(provider, &p, e);
	if (r < 0)
		return r;
	r = check_fixed(s, &p, e);
	if (r == 0)
		r = session_model_check_way(s, &p, p.given_key, "provider.via", e);
	harness_provider_done(&p);
	return r;
}

bool session_follows_provider(const struct session *s)
{
	return s->setup.provider_follows;
}

/* The harness continues: check_fixed has refused what it would have to be told. */
int session_set_provider(struct session *s, struct slice provider, bool follows, struct err *e)
{
	int r = change_check(s, provider, e);

	if (r < 0 || !setup_change_provider(&s->setup, provider, follows))
		return r;
	PARTS_CALL(setup_changed, s);
	session_note_head(s);
	session_log(s, "provider changed", NULL);
	return 0;
}

/* --- keys without a provider ----------------------------------------------------------------------------------- */

/* Its value for the harness, as harness_launch.c puts them together. True: it has one. */
static bool variable_has_value(const struct session *s, const char *name)
{
	const char *const given[] = { s->setup.secrets, s->setup.env };
	const char *passed;

	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		struct jval v = jobj_get(slice_of(given[i]), name);

		if (v.type == J_STRING)
			return !jstr_is(v, "");
	}
	for (size_t i = s->def->nenv; i-- > 0;)
		if (strcmp(s->def->env[i].name, name) == 0)
			return s->def->env[i].value[0] != '\0';
	passed = baseenv_passed(s->store->pass_env, name);
	return passed && *passed;
}

bool provider_key_in_env(const struct session *s)
{
	const char *name;

	for (size_t i = 0; s->def && (name = harness_key_variable(s->def, i)); i++)
		if (variable_has_value(s, name))
			return true;
	return false;
}
