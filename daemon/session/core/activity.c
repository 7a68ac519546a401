/*
 * activity.c - tracks which sessions are working.
 *
 * Sessions call activity_note after any change. It adds or removes the session from one list, so
 * idle sessions cost nothing, and idleness starts when the list becomes empty. The monotonic time
 * serves --idle-exit, the wall-clock time is for clients.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "session/core/session_part.h"

void activity_init(struct store_activity *a)
{
	list_init(&a->working);
	a->idle_mono = clock_mono_ms();
	a->idle_real = clock_real_ms();
}

static bool works(const struct session *s)
{
	return session_is_busy(s) || session_awaits_harness(s) || PARTS_FIRST(has_job, s) ||
	       PARTS_FIRST(is_working, s);
}

static void set_idle(struct store_activity *a)
{
	if (!list_empty(&a->working))
		return;
	a->idle_mono = clock_mono_ms();
	a->idle_real = clock_real_ms();
}

static void activity_notify(const struct store_activity *a)
{
	if (a->changed)
		a->changed(a->ctx);
}

void activity_note(struct session *s)
{
	struct store_activity *a = &s->store->activity;
	bool was = !list_empty(&s->working_link), is = works(s);

	if (is && !was)
		list_add_tail(&a->working, &s->working_link);
	if (was && !is)
		activity_forget(s);
	/* What works may have changed its deadline. */
	else if (is)
		activity_notify(a);
}

void activity_forget(struct session *s)
{
	struct store_activity *a = &s->store->activity;

	if (list_empty(&s->working_link))
		return;
	/* set_idle looks at the list: the session must have left it. */
	list_del(&s->working_link);
	set_idle(a);
	activity_notify(a);
}

void store_on_activity(struct session_store *st, void (*changed)(void *ctx), void *ctx)
{
	st->activity.changed = changed;
	st->activity.ctx = ctx;
}

bool store_idle(const struct session_store *st, uint64_t *mono, uint64_t *real)
{
	*mono = st->activity.idle_mono;
	*real = st->activity.idle_real;
	return list_empty((struct list *)&st->activity.working);
}

void deadline_note(struct deadline *ret, const char *what, uint64_t due, const char *session_id)
{
	if (due && (!ret->what || due < ret->due))
		*ret = (struct deadline){ what, due, session_id };
}
