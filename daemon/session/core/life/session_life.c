/* session_life.c - one session: how it is made, opened, closed and freed. What it does next:
 * session_next.c. */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/jstr.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"
#include "session/core/harness/setup_check.h"
#include "session/core/session_paths.h"
#include "session/core/redact/redact_internal.h"

#include <errno.h>
#include <unistd.h>

void session_advance(struct session *s)
{
	/* Deferred: callers are in the middle of a change, and session_next may start, stop or free anything. */
	loop_defer(s->store->loop, &s->advance_task, session_next, s);
}

void session_touch(struct session *s)
{
	s->updated_ms = clock_real_ms();
}

struct session *session_blank(struct session_store *st, const char *id)
{
	struct session *s = xalloc(session_parts_size());

	s->store = st;
	s->user = agent_user_copy(&st->user);
	s->id = xstrdup(id);
	s->number = ++st->last_number;
	/* 0 is a valid descriptor: session_free would close it. */
	s->log.events.fd = -1;
	s->stored.bytes = -1;
	list_init(&s->log.events.blocks);
	list_init(&s->harness.open_waiters);
	list_init(&s->close_waiters);
	list_init(&s->harness.settings);
	list_init(&s->turn.queue);
	list_init(&s->turn.keys);
	list_init(&s->turn.calls);
	list_init(&s->turn.messages);
	list_init(&s->watchers);
	list_init(&s->observers);
	list_init(&s->log.readers);
	list_init(&s->harness.live_link);
	list_init(&s->harness.wait_link);
	list_init(&s->harness.lonely_link);
	list_init(&s->working_link);
	list_init(&s->stored.check_link);
	list_init(&s->turn.unwritten);
	session_parts_create(s);
	list_add_tail(&st->sessions, &s->link);
	session_index_add(&st->by_id, s);
	st->count++;
	return s;
}

static struct session *session_make(struct session_store *st, const struct session_params *p)
{
	char id[5 + 32 + 1] = "sess_";
	struct session *s;

	random_hex(id + 5, 16);
	s = session_blank(st, id);
	s->def = p->harness;
	/* Until the harness reports its own (host_ready). */
	s->harness.caps = p->harness->caps;
	s->when_detached = p->when_detached;
	s->client = p->client;
	setup_apply(&s->setup, &p->setup);
	PARTS_CALL(begin, s, p);
	session_touch(s);
	return s;
}

static void waiters_add(struct list *list, session_done_fn done, void *ctx)
{
	struct session_waiter *w = new0(struct session_waiter);

	w->done = done;
	w->ctx = ctx;
	w->since = clock_mono_ms();
	list_add_tail(list, &w->link);
}

void session_wait_open(struct session *s, session_done_fn done, void *ctx)
{
	waiters_add(&s->harness.open_waiters, done, ctx);
}

/* As whom and where it works. Nothing stays of one that is refused. */
static int session_place(struct session *s, const struct session_params *p,
			 const struct session *from, struct err *e)
{
	int r = session_parts_place(s, p, from, e);

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
	session_wait_open(s, done, ctx);
	return s;
}

int session_refuse_imported(const struct session *s, struct err *e)
{
	if (!s->stored.imported)
		return 0;
	return err_set(e, -EPERM, RPC_INVALID_REQUEST, "SESSION_IMPORTED",
		       "the session was made of a bundle: it can be read, and nothing else");
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
	if (s->setup.needs_provider && !p->setup.provider.n)
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
	return check_mode(s, p->setup.mode, e);
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
	if (alive && p->setup.mode) { /* it may have left that mode by itself */
		s->harness.reconfigure = true;
		changed |= mode_in_force(s, p->setup.mode) ? 0 : SETUP_MODE;
	}
	/* A mode is set in the running harness, but only between turns. */
	if (alive && s->turn.current)
		s->load.pending |= changed & SETUP_MODE;
	/* Before the record is written, as parts have members in it. */
	PARTS_CALL(setup_changed, s);
	if (changed & SETUP_CHANGED)
		paths_note_head(s);
	s->client = p->client;
	s->load.reopening |= s->state == SESSION_CLOSED;
	if (s->state == SESSION_CLOSED)
		session_set_state(s, SESSION_OPEN);
}

void session_open_kept(struct session *s)
{
	s->load.before = setup_free(s->load.before);
	s->load.reopening = false;
}

void session_open_undone(struct session *s)
{
	if (!s->load.before)
		return;
	setup_restore(&s->setup, TAKE_PTR(s->load.before));
	s->load.pending = 0;
	s->harness.reconfigure = false;
	s->harness.restart = s->load.restarting;
	PARTS_CALL(setup_changed, s);
	/* A later record replaces the one that open_apply wrote. */
	paths_note_head(s);
	/* A session that was open before the load stays open, with its old setup. */
	if (!s->load.reopening || s->state != SESSION_OPEN)
		return;
	session_set_state(s, SESSION_CLOSING);
	turns_cancel_all(s);
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
	waiters_add(&s->harness.open_waiters, done, ctx);
	PARTS_CALL(opened, s, p);
	session_advance(s);
	return 0;
}

void session_close(struct session *s, bool remove, session_done_fn done, void *ctx)
{
	s->stored.remove |= remove;
	waiters_add(&s->close_waiters, done, ctx);
	session_set_state(s, SESSION_CLOSING);
	turns_cancel_all(s);
	session_advance(s);
}

/* Removes the files of a deleted session. If they cannot be removed, the session stays, closed. */
static int put_away(struct session *s, struct err *e)
{
	int r = s->stored.remove ? removal_session(s->store->removal, s->id, e) : 0;

	if (r < 0)
		log_warn("session", "session not removed", "session", s->id, "text", e->msg);
	/* `gone` keeps session_free from trying it again. */
	s->stored.gone = s->stored.remove && r == 0;
	s->stored.remove = s->stored.gone;
	return r;
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
	/* Before put_away: a file system that is still mounted below the home would make its removal fail. */
	PARTS_CALL(shut, s);
	if (!s->load.reopening) /* else no event ever said that it had been open */
		event_note(s, EVENT_LIFECYCLE,
			   SLICE("\"kind\":\"lifecycle\",\"event\":\"closed\""));
	s->load.reopening = false;
	evlog_flush(&s->log.events);
	/* Before the waiters are called: they get the error. */
	r = put_away(s, &e);
	if (s->stored.remove)
		session_detach_all(s, "deleted");
	list_each(w, &s->watchers, struct watcher, link)
		w->ops->closed(w->ctx);
	while (!list_empty(&s->close_waiters)) {
		struct session_waiter *c =
			list_first(&s->close_waiters, struct session_waiter, link);

		list_del(&c->link);
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

/* Everybody who still waits gets an error. */
static void waiters_fail(struct session *s, struct list *list)
{
	struct err e;

	err_set(&e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN", "the daemon is shutting down");
	while (!list_empty(list)) {
		struct session_waiter *w = list_first(list, struct session_waiter, link);

		list_del(&w->link);
		w->done(w->ctx, s, &e);
		free(w);
	}
}

static void session_cancel_timers(struct session *s)
{
	struct loop_timer *timers[] = { &s->harness.start_timer,   &s->harness.setting_timer,
					&s->harness.adapter_timer, &s->turn.cancel_timer,
					&s->detach_timer,	   &s->log.idle_timer,
					&s->turn.sweep_timer,	   &s->turn.tick_timer };

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		loop_timer_cancel(timers[i]);
	/* session_next must not run for a session that is freed. */
	loop_task_cancel(&s->advance_task);
}

/* Frees the session. Its processes have exited. References from other objects go first, then all waiters are answered,
 * then memory is freed: until then a callback may read any part. */
void session_free(struct session *s)
{
	struct err e;

	summary_done(s); /* first: it writes the state that the steps below release */
	session_cancel_timers(s);
	harness_pool_forget(s);
	session_detach_all(s, "deleted");
	session_drop_observers(s);
	readers_drop(s);
	PARTS_CALL(shut, s);
	if (s->harness.adapter) /* before the questions are dropped, which would answer the harness */
		s->harness.adapter = s->def->ops->free(s->harness.adapter);
	PARTS_CALL(drop, s);
	settings_fail(s, NULL);
	turns_free(s);
	tool_calls_forget(s);
	turns_drop_unwritten(s);
	waiters_fail(s, &s->harness.open_waiters);
	waiters_fail(s, &s->close_waiters);
	evlog_close(&s->log.events);
	incarnations_done(&s->log.incarnations);
	if (!s->stored.gone)
		put_away(s, &e);
	activity_forget(s); /* last: the ends of what was under way have told of it */
	list_del(&s->link);
	session_index_remove(&s->store->by_id, s);
	s->store->count--;
	PARTS_CALL(free, s);
	free_each(s->id, s->cwd, s->title, s->home, s->stored.harness);
	setup_free(s->load.before);
	setup_done(&s->setup);
	client_ids_done(&s->turn.ids);
	free_each(s->harness.native_id, s->harness.forked_from, s->harness.version,
		  s->harness.modes, s->harness.config, s->harness.model, s);
}
