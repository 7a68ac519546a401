/* session_life.c - one session: how it is made, opened, closed and freed. What it does next:
 * session_next.c. */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/log.h"
#include "json/jstr.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"
#include "session/core/session_paths.h"

static struct session *session_make(struct session_store *st, const struct session_params *p)
{
	char id[5 + 32 + 1] = "sess_";
	struct session *s;

	random_hex(id + 5, 16);
	s = session_blank(st, id);
	s->def = p->harness;
	/* Until the harness reports its own (host_ready). */
	s->harness.caps = p->harness->caps;
	s->when_detached = setup_when_detached(&p->setup);
	s->client = p->client;
	setup_apply(&s->setup, &p->setup);
	PARTS_CALL(begin, s, p);
	session_touch(s);
	return s;
}

/* As whom and where it works. Nothing stays of one that is refused. */
static int session_place(struct session *s, const struct session_params *p,
			 const struct session *from, struct err *e)
{
	int r = PARTS_FIRST(place, s, p, from, e);

	/* All parts, also those that were not called: unplace tolerates that. */
	if (r < 0)
		PARTS_CALL(unplace, s);
	s->stored.gone = r < 0; /* there is nothing to be put away */
	return r;
}

static int session_prepare(struct session *s, struct err *e)
{
	int r = paths_session_home(s->store, s->id, &s->home, e);

	if (r == 0)
		r = journal_open(s, e);
	if (r == 0)
		evlog_shrink(&s->log.events); /* no descriptor before its first turn */
	return r;
}

/* The session could not be made. */
static void session_unmake(struct session *s)
{
	s->stored.remove = true;
	PARTS_CALL(unmake, s);
	session_free(s);
}

struct session *session_prepared(struct session_store *st, const struct session_params *p,
				 const struct session *from, struct err *e)
{
	struct session *s;

	if (store_admit(st, e) < 0 || harness_pool_admit(st, true, e) < 0)
		return NULL;
	s = session_make(st, p);
	if (session_place(s, p, from, e) < 0) {
		session_free(s);
		return NULL;
	}
	if (session_prepare(s, e) == 0)
		return s;
	session_unmake(s);
	return NULL;
}

int session_launch_first(struct session *s, struct err *e)
{
	int r = PARTS_FIRST(launch_first, s, e);

	return r ? MIN(r, 0) : harness_pool_launch(s, e);
}

struct session *session_new(struct session_store *st, const struct session_params *p,
			    session_done_fn done, void *ctx, struct err *e)
{
	struct session *s = NULL;
	int r;

	if (setup_check(st, p->harness, NULL, &p->setup, e) == 0)
		s = session_prepared(st, p, NULL, e);
	if (!s)
		return NULL;
	r = PARTS_FIRST(precede, s, p, e);
	if (r == 0)
		r = session_launch_first(s, e);
	if (r < 0) {
		session_unmake(s);
		return NULL;
	}
	/* After everything that can fail: the caller gets an error by e, or one call of done, and not both. */
	session_wait(&s->harness.open_waiters, done, ctx);
	return s;
}

/* A mode that the running harness does not have; another one is checked once it has started. */
static int check_mode(const struct session *s, const char *mode, struct err *e)
{
	/* Modes are known only from a running harness. Otherwise configure_mode checks it after the start. */
	if (!mode || s->harness.state != H_READY || !s->harness.modes || settings_has_mode(s, mode))
		return 0;
	return err_field(e, "_meta.acpd.mode", "MODE_UNKNOWN", "the harness has no such mode");
}

/* What can be checked before anything changes. */
static int open_check(const struct session *s, const struct session_params *p, struct err *e)
{
	if (session_refuse_imported(s, e) < 0)
		return -EPERM;
	if (s->state == SESSION_CLOSING || s->store->stopping)
		return err_set(e, -EBUSY, RPC_INTERNAL_ERROR, "SESSION_CLOSING",
			       "the session is being closed");
	if (s->state == SESSION_CLOSED && PARTS_FIRST(check_reopen, s, e) < 0)
		return -ESHUTDOWN;
	/* Keys are never on disk. A session of an earlier daemon gets them again from its client. */
	if (s->setup.needs_provider && !setup_given(&p->setup, &provider_parameter))
		return err_field(
			e, "_meta.acpd.provider", "PROVIDER_REQUIRED",
			"the provider's key was not written down: give the provider again");
	if (setup_check(s->store, s->def, &s->setup, &p->setup, e) < 0)
		return -EINVAL;
	if (s->state == SESSION_CLOSED && (harness_pool_admit(s->store, false, e) < 0 ||
					   paths_check_cwd(&s->user, s->cwd, e) < 0))
		return -EACCES;
	if (PARTS_FIRST(check_open, s, p, e) < 0)
		return -EINVAL;
	return check_mode(s, setup_given_text(&p->setup, &mode_parameter).p, e);
}

static bool mode_in_force(const struct session *s, const char *mode)
{
	return jstr_is(jobj_get(slice_of(s->harness.modes), "currentModeId"), mode);
}

void session_restart_for(struct session *s, unsigned changed)
{
	bool alive = s->harness.state != H_NONE && s->harness.state != H_STOPPING;

	changed &= SETUP_RESTART;
	if (!alive || !changed)
		return;
	s->harness.restart = true;
	/* The client sees these parameters as pending: the running turn still has the old ones. */
	if (s->turn.current)
		s->load.pending |= changed;
}

/* A running turn is not disturbed for new parameters: they wait for its end. */
static void open_apply(struct session *s, const struct session_params *p)
{
	bool alive = s->harness.state != H_NONE && s->harness.state != H_STOPPING;
	unsigned changed;

	/* Several loads may wait at once. The state before the first of them is the one to restore. */
	if (!s->load.before) {
		s->load.before = setup_copy(&s->setup);
		s->load.restarting = s->harness.restart;
	}
	changed = setup_apply(&s->setup, &p->setup);
	session_restart_for(s, changed);
	if (alive &&
	    setup_given(&p->setup, &mode_parameter)) { /* it may have left that mode by itself */
		s->harness.reconfigure = true;
		changed |= mode_in_force(s, s->setup.mode) ? 0 : SETUP_MODE;
	}
	/* A mode is set in the running harness, but only between turns. */
	if (alive && s->turn.current)
		s->load.pending |= changed & SETUP_MODE;
	/* Before the record is written, as parts have members in it. */
	PARTS_CALL(setup_changed, s);
	if (changed & SETUP_CHANGED)
		session_note_head(s);
	s->client = p->client;
	s->load.reopening |= s->state == SESSION_CLOSED;
	if (s->state == SESSION_CLOSED)
		session_set_state(s, SESSION_OPEN);
}

void session_put_pending(const struct session *s, struct jw *w)
{
	if (!s->load.pending)
		return;
	jw_arr(w, "pending");
	setup_put_names(s->load.pending, w);
	jw_end_arr(w);
}

int session_open(struct session *s, const struct session_params *p, session_done_fn done, void *ctx,
		 struct err *e)
{
	if (open_check(s, p, e) < 0)
		return -EINVAL;
	if (PARTS_FIRST(open_again, s, p, e) < 0)
		return -EINVAL;
	/* from here on it can only fail later, with session_open_undone */
	open_apply(s, p);
	session_wait(&s->harness.open_waiters, done, ctx);
	PARTS_CALL(opened, s, p);
	session_advance(s);
	return 0;
}

static void session_at_rest(struct session *s)
{
	evlog_shrink(&s->log.events);
	/* A closed session does not change: the next daemon need not read its journal. */
	summary_write(s);
	s->stored.closed_ms = clock_real_ms();
	/* Measured again for --keep-sessions: the session may have grown since the last time. */
	s->stored.bytes = -1;
	harness_pool_update(s);
	retain_check(s);
}

void session_closed(struct session *s)
{
	struct err e = { 0 };
	int r;

	session_set_state(s, SESSION_CLOSED);
	/* Before session_put_away: a file system that is still mounted below the home would make its removal fail. */
	PARTS_CALL(shut, s);
	if (!s->load.reopening) /* else no event ever said that it had been open */
		event_note(s, EVENT_LIFECYCLE,
			   SLICE("\"kind\":\"lifecycle\",\"event\":\"closed\""));
	s->load.reopening = false;
	evlog_flush(&s->log.events);
	/* Before the waiters are called: they get the error. */
	r = session_put_away(s, &e);
	if (s->stored.remove)
		session_detach_all(s, "deleted");
	list_each(w, &s->watchers, struct watcher, link)
		w->ops->closed(w->ctx);
	list_drain(c, &s->close_waiters, struct session_waiter, link) {
		list_del(&c->link);
		if (c->done)
			c->done(c->ctx, s, r < 0 ? &e : NULL);
		free(c);
	}
	PARTS_CALL(closed, s, s->stored.remove);
	log_info("session", "session closed", "session", s->id, "removed",
		 s->stored.remove ? "true" : "false");
	if (s->stored.remove)
		session_free(s);
	else
		session_at_rest(s);
}
