/* watcher.c - watchers: attach with fencing, detach, and what each of them gets from the log. */
#include "session/core/session_internal.h"

#include "base/limits.h"
#include "session/core/session_part.h"

#include <stdio.h>

struct watcher *session_driver(struct session *s)
{
	return list_empty(&s->watchers) ? NULL : list_entry(s->watchers.prev, struct watcher, link);
}

void session_wake(struct session *s)
{
	/* Only a notice: each client reads at its own pace, by watcher_pump. */
	list_each(w, &s->watchers, struct watcher, link)
		w->ops->wake(w->ctx);
	list_each(o, &s->observers, struct watcher, link)
		o->ops->wake(o->ctx);
	readers_wake(s);
}

static void unlink_watcher(struct watcher *w)
{
	struct session *s = w->session;

	list_del(&w->link);
	w->session = NULL;
	PARTS_CALL(driver_gone, s, w);
}

static void fence(struct watcher *w, const char *reason)
{
	session_log(w->session, "client detached", "reason", reason, NULL);
	PARTS_CALL(driver_mute, w->session, w);
	unlink_watcher(w);
	w->ops->detached(w->ctx, reason);
}

void session_detach_all(struct session *s, const char *reason)
{
	while (!list_empty(&s->watchers))
		fence(list_first(&s->watchers, struct watcher, link), reason);
}

void session_drop_observers(struct session *s)
{
	while (!list_empty(&s->observers)) {
		struct watcher *w = list_first(&s->observers, struct watcher, link);

		unlink_watcher(w);
		w->ops->detached(w->ctx, "deleted");
	}
}

/* The same connection again. */
static void leave_before(struct watcher *w)
{
	if (w->session)
		PARTS_CALL(driver_mute, w->session, w);
	watcher_detach(w);
}

void watcher_observe(struct watcher *w, struct session *s, uint64_t from)
{
	leave_before(w);
	w->session = s;
	w->observes = true;
	w->next = from ? from : 1;
	w->live_from = s->log.events.last + 1;
	list_add_tail(&s->observers, &w->link);
}

void watcher_attach(struct watcher *w, struct session *s, uint64_t from)
{
	char seq[24];

	leave_before(w);
	w->observes = false;
	/* A session has one driver at a time: the newest client takes over. */
	session_detach_all(s, "taken_over");
	/* The session has a driver again: its turns are not cancelled. */
	loop_timer_cancel(&s->detach_timer);
	w->session = s;
	w->next = from ? from : 1;
	event_handed(s, w->next);
	/* Events up to here are replayed to the client. Later ones are live: its own prompts are left out. */
	w->live_from = s->log.events.last + 1;
	snprintf(seq, sizeof(seq), "%llu", (unsigned long long)w->next);
	session_log(s, "client attached", "from", seq, NULL);
	list_add_tail(&s->watchers, &w->link);
	session_advance(s);
}

void watcher_ready(struct watcher *w)
{
	if (w->session)
		PARTS_CALL(driver_ready, w->session, w);
}

static void on_detached_too_long(void *ctx)
{
	struct session *s = ctx;

	if (list_empty(&s->watchers))
		session_cancel(s);
}

void watcher_detach(struct watcher *w)
{
	struct session *s = w->session;

	if (!s)
		return;
	unlink_watcher(w);
	/* Observers do not drive: nothing depends on them. */
	if (w->observes)
		return;
	session_log(s, "client left", NULL);
	session_advance(s);
	if (s->when_detached == DETACHED_CANCEL && list_empty(&s->watchers))
		loop_timer_set(s->store->loop, &s->detach_timer, DETACH_CANCEL_MS,
			       on_detached_too_long, s);
}

struct watcher *store_watcher(struct session_store *st, const char *id, uint64_t origin)
{
	struct session *s = session_index_find(&st->by_id, id);

	for (int i = 0; s && i < 2; i++)
		list_each(w, i ? &s->observers : &s->watchers, struct watcher, link)
			if (w->origin == origin)
				return w;
	return NULL;
}

uint64_t watcher_backlog(const struct watcher *w)
{
	return w->session ? evlog_behind(&w->session->log.events, w->next) : 0;
}

bool watcher_behind(const struct watcher *w)
{
	return w->session && w->next <= evlog_readable(&w->session->log.events);
}

struct watcher_pumping {
	struct watcher *w;
	const struct watcher_sink *sink;
};

static bool meant_for(const struct watcher *w, const struct evlog_entry *e)
{
	const struct event_kind_row *row = event_kind_row(e->kind);

	/* Not sent, but passed: the cursor moves on, and the client sees no gap. */
	if ((row->needs & w->client) != row->needs)
		return false;
	if (e->seq < w->live_from) /* replay: everything but what is only news */
		return !(row->flags & EVENT_F_LIVE);
	return !e->origin || e->origin != w->origin;
}

static bool watcher_pump_event(void *ctx, const struct evlog_entry *e)
{
	struct watcher_pumping *o = ctx;

	/* Memory has events that the journal does not have yet, and that a rollback can remove. */
	if (e->seq > evlog_readable(&o->w->session->log.events))
		return false;
	if (meant_for(o->w, e) && !o->sink->event(o->sink->ctx, e))
		return false;
	o->w->next = e->seq + 1;
	return true;
}

bool watcher_waits(const struct watcher *w)
{
	return w->session && w->session->log.events.large;
}

void watcher_settle(const struct watcher *w)
{
	if (w->session)
		evlog_flush(&w->session->log.events);
}

int watcher_pump(struct watcher *w, const struct watcher_sink *sink)
{
	struct watcher_pumping o = { w, sink };
	struct evlog_gap g;
	struct evlog *l;
	int r;

	if (w->session)
		evlog_flush_for_reader(
			&w->session->log.events); /* nothing goes out that is not in it */
	if (!watcher_behind(w))
		return 0;
	l = &w->session->log.events;
	/* Gaps and runs of events alternate. Each gap is reported at its place in the order. */
	do {
		if (evlog_gap(l, w->next, &g)) {
			/* The sink is full: the gap is reported at the next call. */
			if (!sink->gap(sink->ctx, &g))
				return 0;
			w->next = g.to + 1;
		}
		r = evlog_read_some(l, w->next, CONN_BATCH_BYTES, watcher_pump_event, &o);
	} while (r == 0 && evlog_gap(l, w->next, &g));
	if (!w->observes) /* what the driver has may be given up */
		event_handed(w->session, w->next);
	return r;
}
