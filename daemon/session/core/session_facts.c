/* session_facts.c - what others may ask of a session. */
#include "session/core/session_internal.h"

#include "session/core/session_part.h"

const char *session_id(const struct session *s)
{
	return s->id;
}

const char *session_cwd(const struct session *s)
{
	return s->cwd;
}

void session_put_owner(struct jw *w, const struct session *s)
{
	workspaces_put_owner(&s->user, w);
}

const char *session_workdir(const struct session *s)
{
	return s->workdir ? s->workdir : s->cwd;
}

const char *session_tree(const struct session *s)
{
	return s->overlay ? s->overlay : session_workdir(s);
}

int session_tree_open(struct session *s, struct err *e)
{
	return PARTS_FIRST(open_tree, s, e);
}

struct slice session_env(const struct session *s)
{
	return slice_of(s->setup.env);
}

const char *session_home(const struct session *s)
{
	return s->home;
}

const struct agent_user *session_user(const struct session *s)
{
	return &s->user;
}

void session_cancel_work(struct session *s, const void *ctx)
{
	PARTS_FIRST(cancel_work, s, ctx);
}

const struct harness_def *session_harness(const struct session *s)
{
	return s->def;
}

const struct harness_caps *session_caps(const struct session *s)
{
	return &s->harness.caps;
}

struct slice session_modes(const struct session *s)
{
	return slice_of(s->harness.modes);
}

struct slice session_config(const struct session *s)
{
	return slice_of(s->harness.config);
}

bool session_is_restored(const struct session *s)
{
	return s->harness.restored;
}

uint64_t session_last_seq(const struct session *s)
{
	return s->log.events.last;
}

bool session_is_open(const struct session *s)
{
	return s && s->state == SESSION_OPEN;
}

bool session_is_driven(const struct session *s)
{
	return !list_empty(&s->watchers);
}

uint64_t session_running(const struct session *s)
{
	return s->turn.current ? s->turn.current->no : 0;
}

bool session_is_cancelling(const struct session *s)
{
	return s->turn.current && s->turn.current->state == TURN_CANCELLING;
}

/* OpenTelemetry's gen_ai.provider.name of each API. */
static const struct {
	const char *api, *name;
} providers[] = {
	{ "openai-responses", "openai" },
	{ "openai-chat", "openai" },
	{ "anthropic", "anthropic" },
	{ "google", "gcp.gemini" },
};

const char *session_provider_name(const struct session *s, const char *reported)
{
	const char *api = s->setup.gateway.api;

	for (size_t i = 0; api && i < ARRAY_SIZE(providers); i++)
		if (strcmp(providers[i].api, api) == 0)
			return providers[i].name;
	return reported;
}

int session_refuse_imported(const struct session *s, struct err *e)
{
	if (!s->stored.imported)
		return 0;
	return err_set(e, -EPERM, RPC_INVALID_REQUEST, "SESSION_IMPORTED",
		       "the session was made of a bundle: it can be read, and nothing else");
}

int store_admit(const struct session_store *st, struct err *e)
{
	if (st->stopping)
		return err_set(e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN",
			       "the daemon is shutting down");
	if (st->draining)
		return err_set(e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "DRAINING",
			       "the daemon is about to end and begins nothing new");
	return 0;
}

bool session_awaits_harness(const struct session *s)
{
	return !list_empty(&s->harness.wait_link);
}

bool session_is_busy(const struct session *s)
{
	return s->turn.current || s->turn.queued || s->turn.ending || s->harness.copying ||
	       !list_empty(&s->harness.open_waiters) || !list_empty(&s->harness.settings) ||
	       PARTS_FIRST(holds_harness, s);
}
