/*
 * session_memory.c - makes and frees sessions, and finds them by their ids.
 *
 * A session is in the store's list and in its index from session_blank to session_free. The index is a hash table, so
 * that to find a session takes the same time however many there are.
 */
#include "session/core/session_internal.h"

#include "base/log.h"
#include "session/core/session_part.h"

#define SLOTS_MIN 16

/* --- the index ------------------------------------------------------------------------------------------ */

/* FNV-1a. Ids are made by daemons, not by clients, so nobody can choose ids that collide. */
static size_t index_hash(const char *id)
{
	uint64_t h = 14695981039346656037u;

	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 1099511628211u;
	return (size_t)(h ^ h >> 32);
}

static struct session **index_slot(const struct session_index *x, const char *id)
{
	return &x->slots[index_hash(id) & (x->nslots - 1)];
}

static void index_put(struct session_index *x, struct session *s)
{
	struct session **slot = index_slot(x, s->id);

	s->stored.same_slot = *slot;
	*slot = s;
}

static void index_grow(struct session_index *x)
{
	struct session_index was = *x;

	/* Doubling keeps one session per slot on average, and nslots a power of two. */
	x->nslots = was.nslots ? 2 * was.nslots : SLOTS_MIN;
	x->slots = xalloc(x->nslots * sizeof(struct session *));
	for (size_t i = 0; i < was.nslots; i++)
		for (struct session *s = was.slots[i], *next; s; s = next) {
			next = s->stored.same_slot;
			index_put(x, s);
		}
	free(was.slots);
}

static void session_index_add(struct session_index *x, struct session *s)
{
	if (x->n == x->nslots)
		index_grow(x);
	index_put(x, s);
	x->n++;
}

static void session_index_remove(struct session_index *x, struct session *s)
{
	struct session **at = index_slot(x, s->id);

	/* Ends: a session is in the index from session_blank to session_free. */
	while (*at != s)
		at = &(*at)->stored.same_slot;
	*at = s->stored.same_slot;
	x->n--;
}

struct session *session_index_find(const struct session_index *x, const char *id)
{
	struct session *s = x->nslots ? *index_slot(x, id) : NULL;

	while (s && strcmp(s->id, id) != 0)
		s = s->stored.same_slot;
	return s;
}

void session_index_free(struct session_index *x)
{
	free(x->slots);
	*x = (struct session_index){ NULL, 0, 0 };
}

/* --- a session ------------------------------------------------------------------------------------------ */

struct session *session_blank(struct session_store *st, const char *id)
{
	struct session *s = PARTS_ALLOC(session, size);

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
	PARTS_CALL(create, s);
	list_add_tail(&st->sessions, &s->link);
	session_index_add(&st->by_id, s);
	st->count++;
	return s;
}

int session_put_away(struct session *s, struct err *e)
{
	int r = s->stored.remove ? removal_session(s->store->removal, s->id, e) : 0;

	if (r < 0)
		log_warn("session", "session not removed", "session", s->id, "text", e->msg);
	/* `gone` keeps session_free from trying it again. */
	s->stored.gone = s->stored.remove && r == 0;
	s->stored.remove = s->stored.gone;
	return r;
}

/* Everybody who still waits gets an error. */
static void waiters_fail(struct session *s, struct list *list)
{
	struct err e;

	err_set(&e, -ESHUTDOWN, RPC_INTERNAL_ERROR, "SHUTTING_DOWN", "the daemon is shutting down");
	list_drain(w, list, struct session_waiter, link) {
		list_del(&w->link);
		if (w->done)
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
		session_put_away(s, &e);
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
