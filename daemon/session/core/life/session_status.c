/* session_status.c - one session as an object, wherever sessions are listed. */
#include "session/core/session_internal.h"

#include "access/grant.h"
#include "base/clock.h"
#include "json/jenc.h"
#include "session/core/harness/session_env.h"
#include "session/core/session_part.h"

static const char *state_word(const struct session *s)
{
	static const char *const states[] = { "opening", "open", "closing", "closed" };

	/* Checked first: a turn that is being checked is a current one, too. */
	if (s->turn.current && s->turn.current->state == TURN_CHECKING)
		return "checking";
	/* A turn in TURN_ENDING is not answered yet: its client still sees a busy session. */
	return s->turn.current || s->turn.ending ? "busy" : states[s->state];
}

bool session_has_head(const struct session *s)
{
	return !s->stored.headless;
}

bool session_is_imported(const struct session *s)
{
	return s->stored.imported;
}

void session_put_damage(struct jw *w, const struct session *s)
{
	if (!evlog_damaged(&s->log.events))
		return;
	jw_obj(w, "damaged");
	jw_uint(w, "missing", evlog_missing(&s->log.events));
	/* Without its head the session can be read, but not opened: cwd and harness are unknown. */
	if (s->stored.headless)
		jw_bool(w, "unusable", true);
	jw_end_obj(w);
}

/* What the session has used, and with which model. */
static void session_put_use(struct jw *w, const struct session *s)
{
	/* The model in force, if the harness reports it. Otherwise the one that was requested. */
	jw_str(w, "model", s->harness.model ? s->harness.model : s->setup.gateway.model);
	if (s->turn.totals.turns)
		totals_put(&s->turn.totals, w, "used");
	PARTS_CALL(put_use, w, s);
}

void session_put_listed(struct jw *w, const struct session *s)
{
	jw_obj(w, NULL);
	jw_str(w, "sessionId", s->id);
	jw_str(w, "cwd", s->cwd);
	jw_str(w, "title", s->title);
	jw_str(w, "updatedAt", CLOCK_ISO(s->updated_ms));
	jw_obj(w, "_meta");
	jw_obj(w, "acpd");
	jw_str(w, "harness", s->def->id);
	jw_str(w, "state", state_word(s));
	jw_uint(w, "seq", s->log.events.last);
	session_put_damage(w, s);
	jw_end_obj(w);
	jw_end_obj(w);
	jw_end_obj(w);
}

void session_put_status(struct jw *w, const char *key, const struct session *s)
{
	struct store_work work = { 0 };
	unsigned watchers = 0;

	list_each(x, (struct list *)&s->watchers, struct watcher, link)
		watchers++;
	jw_obj(w, key);
	jw_str(w, "sessionId", s->id);
	jw_str(w, "harness", s->def->id);
	jw_str(w, "state", state_word(s));
	jw_str(w, "cwd", s->cwd);
	jw_str(w, "title", s->title);
	jw_uint(w, "seq", s->log.events.last);
	if (session_acked(s))
		jw_uint(w, "acked", session_acked(s));
	jw_uint(w, "turn", session_running(s));
	jw_uint(w, "turns", s->turn.count);
	jw_uint(w, "queued", s->turn.queued);
	/* The parts know the open questions: put_work counts them. */
	PARTS_CALL(put_work, s, &work);
	if (work.questions)
		jw_uint(w, "questions", work.questions);
	jw_uint(w, "watchers", watchers);
	if (s->harness.proc && proc_pid(s->harness.proc))
		jw_int(w, "pid", proc_pid(s->harness.proc));
	if (harness_is_opening(s))
		jw_uint(w, "startingMs", clock_mono_ms() - s->harness.starting_mono);
	if (session_awaits_harness(s))
		jw_str(w, "waiting", "harness");
	if (s->stored.imported)
		jw_bool(w, "imported", true);
	session_put_use(w, s);
	session_put_damage(w, s);
	PARTS_CALL(put_status, w, s);
	jw_str(w, "updatedAt", CLOCK_ISO(s->updated_ms));
	jw_end_obj(w);
}

struct sessions_listing {
	struct jw *w;
	const struct grant *grant;
};

static bool list_session_status(void *ctx, struct session *s, uint64_t number _unused_)
{
	struct sessions_listing *l = ctx;

	if (grant_sees(l->grant, s->id))
		session_put_status(l->w, NULL, s);
	return true;
}

void store_put_sessions(struct session_store *st, const struct grant *g, struct jw *w)
{
	jw_arr(w, "sessions");
	store_each(st, 0, list_session_status, &(struct sessions_listing){ w, g });
	jw_end_arr(w);
}

bool session_put_missing_env(struct jw *w, const struct session *s, const struct session_params *p)
{
	return session_env_put_missing(&s->setup, &p->setup, w);
}
