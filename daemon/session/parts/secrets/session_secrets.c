/*
 * session_secrets.c - what is secret for a session: found in what it is set up with, and in what its agent's side makes
 * known later. How secrets are hidden in text that leaves the session: core/redact.
 */
#include "session/parts/secrets/session_secrets.h"

#include "session/core/harness/baseenv.h"
#include "session/core/session_internal.h"
#include "session/parts/session_parts.h"
#include "session/core/harness/session_env.h"

static struct secrets_given given_of(const struct session *s)
{
	return (struct secrets_given){
		.marked = slice_of(s->setup.secrets),
		.provider = slice_of(s->setup.provider),
		.keys = &s->setup.keys,
		.env = slice_of(s->setup.env),
		.servers = slice_of(s->setup.mcp_servers),
		.models = s->setup.gateway.models,
		.in_use = { s->def ? s->def->id : NULL, s->setup.model, s->setup.gateway.model,
			    s->setup.gateway.small_model, s->harness.model, s->setup.mode },
	};
}

/* From what the session is set up with; what was a secret before stays one. */
static void load_session_secrets(struct session *s)
{
	_cleanup_(harness_plan_done) struct harness_plan plan = { 0 };
	struct secrets_given given = given_of(s);

	baseenv_put(&plan, s->store->pass_env);
	for (size_t i = 0; s->def && i < s->def->nenv; i++)
		harness_plan_env(&plan, s->def->env[i].name, s->def->env[i].value);
	given.operators = plan.env;
	given.noperators = plan.nenv;
	secrets_load(&s->redact.known, &given);
}

void session_learn_env(struct session *s, struct slice env)
{
	struct secrets_given given = given_of(s);

	secrets_learn(&s->redact.known, &given, env);
}

/* Member "unmasked": the secrets that are not redacted, and why. */
static void put_unmasked(struct jw *w, const struct session *s)
{
	secrets_put_unmasked(&s->redact.known, w);
}

static void free_secrets(struct session *s)
{
	masked_stream_drop(s);
	secrets_done(&s->redact.known);
}

static void begin_secrets(struct session *s, const struct session_params *p _unused_)
{
	load_session_secrets(s);
}

static void inherit_secrets(struct session *s, const struct session *from)
{
	load_session_secrets(s);
	secrets_inherit(&s->redact.known, &from->redact.known);
}

/* A session that does not exist yet has no variables. */
static int secrets_check_env(const struct setup_request *r, struct err *e)
{
	static const struct setup none;

	return session_env_check(r->have ? r->have : &none, r->params, e);
}

const struct session_part secrets_part = {
	.name = "secrets",
	.inherit = inherit_secrets,
	.setup_changed = load_session_secrets,
	.forget_keys = free_secrets,
	.put_opened = put_unmasked,
	.free = free_secrets,
	.begin = begin_secrets,
	.check_setup = secrets_check_env,
};
