/*
 * harness_pool.c - decides when a session may start its harness, and stops harnesses that are idle.
 *
 * A harness costs hundreds of megabytes, a session without one a few kilobytes. So at most harness_max
 * harnesses live at once; without that setting another one starts where HARNESS_MEMORY is left for it
 * and for each that is starting, or where none lives. One that nobody has needed for harness_idle
 * seconds (no turn, no question, no driver) is stopped. Nothing is lost: the session stays open, and its
 * next turn starts the harness again, which resumes its context. One that cannot do so keeps running.
 *
 * Sessions that need a harness while the pool is full wait in one queue, in order of arrival, each once.
 * While it is not empty, harnesses that do nothing are stopped, with a driver or not. Everything that
 * frees capacity or leaves the queue calls session_advance of the next ones, which check whether it is
 * their turn: no capacity is held unused, and no call is lost. A prompt, or a client's wait for the
 * session, fails with TOO_MANY_HARNESSES after harness_wait seconds.
 *
 * A session of this daemon without driver and reader that never had a turn is removed after harness_idle
 * seconds, too.
 *
 * Three lists: live harnesses by last use, waiting sessions by arrival, sessions without driver by
 * idle time. make_room stops harnesses from the front of the first list, so the one in use longest
 * ago stops first. call_next only requests session_advance; harness_pool_launch then checks whether
 * the session is among the first. Without --harness-max, capacity follows free memory, less the
 * memory that starting harnesses will use.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "proc/cgroup/cgroup_place.h"
#include "session/core/session_part.h"

static void on_lonely(void *ctx);
static void on_wait_over(void *ctx);

void harness_pool_init(struct session_store *st)
{
	list_init(&st->pool.live);
	list_init(&st->pool.waiting);
	list_init(&st->pool.lonely);
}

void harness_pool_done(struct session_store *st)
{
	loop_timer_cancel(&st->pool.lonely_timer);
	loop_timer_cancel(&st->pool.wait_timer);
}

bool harness_is_idle(const struct session *s)
{
	return s->harness.resting && s->state == SESSION_OPEN && s->harness.state != H_READY;
}

/* --- how many there may be ---------------------------------------------------------------------------- */

int harness_pool_admit(const struct session_store *st, bool is_new, struct err *e)
{
	unsigned open = 0;

	list_each(s, (struct list *)&st->sessions, struct session, link)
		open += s->state != SESSION_CLOSED;
	if (open >= st->terms.session_max)
		return err_set(
			e, -ENOSPC, RPC_INTERNAL_ERROR, "TOO_MANY_SESSIONS",
			"%u sessions are open, which is the limit (--session-max); close some",
			open);
	if (is_new && st->count >= SESSIONS_KEPT_MAX)
		return err_set(e, -ENOSPC, RPC_INTERNAL_ERROR, "TOO_MANY_SESSIONS",
			       "%u sessions are kept, which is the limit; delete some", st->count);
	return 0;
}

static uint64_t memory_for_harnesses(struct harness_pool *p)
{
	uint64_t now = clock_mono_ms();

	if (!p->memory_known_ms || now - p->memory_known_ms >= HARNESS_MEMORY_MS) {
		p->memory_left = memory_left();
		p->memory_known_ms = now;
	}
	return p->memory_left;
}

/* What a harness that starts will take is not yet seen in what is left. */
static unsigned places_in_memory(struct session_store *st)
{
	uint64_t n = memory_for_harnesses(&st->pool) / HARNESS_MEMORY, starting = 0;

	list_each(s, &st->pool.live, struct session, harness.live_link)
		starting += s->harness.state == H_STARTING || s->harness.state == H_CONFIGURING;
	n -= MIN(n, starting);
	/* One may run whatever memory is left: otherwise a small machine could run none. */
	return (unsigned)MIN(st->pool.nlive ? n : MAX(n, 1ul), (uint64_t)SESSIONS_KEPT_MAX);
}

static unsigned places(struct session_store *st)
{
	if (!st->terms.harness_max)
		return places_in_memory(st);
	return st->pool.nlive < st->terms.harness_max ? st->terms.harness_max - st->pool.nlive : 0;
}

unsigned harness_pool_max(struct session_store *st)
{
	return st->terms.harness_max ? st->terms.harness_max : st->pool.nlive + places(st);
}

/* --- who needs what ----------------------------------------------------------------------------------- */

/* A client or a turn wants the harness. */
static bool wanted(struct session *s)
{
	return (s->state == SESSION_OPEN || s->state == SESSION_OPENING) &&
	       (!list_empty(&s->harness.open_waiters) || turn_first_queued(s));
}

/* Nothing is under way in the harness, and stopping it loses nothing. */
static bool may_rest(const struct session *s)
{
	/* Without caps.restore a stopped harness loses its context. Before the first turn there is none. */
	return s->state == SESSION_OPEN && s->harness.state == H_READY && !session_is_busy(s) &&
	       (s->harness.caps.restore || !s->turn.count);
}

static bool has_history(const struct session *s)
{
	return s->turn.count || s->stored.recovered || s->harness.forked_from ||
	       !list_empty(&s->log.readers);
}

static bool lonely(const struct session *s)
{
	if (!list_empty(&s->watchers) || session_is_busy(s) || s->store->stopping)
		return false;
	return may_rest(s) ||
	       (!has_history(s) && (s->state == SESSION_OPEN || s->state == SESSION_CLOSED));
}

/* --- harnesses that do nothing ------------------------------------------------------------------------ */

static void rest(struct session *s, const char *why)
{
	log_info("session", "harness stopped, nobody needs it now", "session", s->id, "why", why);
	s->harness.resting = true;
	harness_stop(s);
}

/* Sessions in the queue beyond the places that are free or about to be. */
static unsigned unserved(struct session_store *st)
{
	unsigned coming = places(st);

	list_each(s, &st->pool.live, struct session, harness.live_link)
		coming += s->harness.state == H_STOPPING;
	return st->pool.nwaiting > coming ? st->pool.nwaiting - coming : 0;
}

/* The list of live harnesses is in order of use. */
static void make_room(struct session_store *st)
{
	unsigned n = st->pool.nwaiting ? unserved(st) : 0;

	list_each(s, &st->pool.live, struct session, harness.live_link) {
		if (!n)
			return;
		/* In use, or stopping it would lose context. */
		if (!may_rest(s))
			continue;
		rest(s, "room");
		st->totals.rested_room++;
		n--;
	}
}

static void leave_alone(struct session *s)
{
	struct session_store *st = s->store;

	list_del(&s->harness.lonely_link);
	if (!lonely(s))
		return;
	if (has_history(s)) {
		st->totals.rested_idle++;
		rest(s, "idle");
		return;
	}
	st->totals.removed_empty++;
	log_info("session", "session removed: it has no client and no history", "session", s->id);
	session_close(s, true, NULL, NULL);
}

static void arm_lonely(struct session_store *st)
{
	uint64_t due, now = clock_mono_ms();

	if (list_empty(&st->pool.lonely))
		return;
	due = list_first(&st->pool.lonely, struct session, harness.lonely_link)
		      ->harness.lonely_since +
	      st->terms.harness_idle * 1000ul;
	loop_timer_set(st->loop, &st->pool.lonely_timer, due > now ? due - now : 1, on_lonely, st);
}

static void on_lonely(void *ctx)
{
	struct session_store *st = ctx;
	uint64_t now = clock_mono_ms();

	list_drain(s, &st->pool.lonely, struct session, harness.lonely_link) {
		if (s->harness.lonely_since + st->terms.harness_idle * 1000ul > now)
			break;
		leave_alone(s);
	}
	arm_lonely(st);
}

static void update_lonely(struct session *s)
{
	struct session_store *st = s->store;
	bool first = list_empty(&st->pool.lonely);

	if (!st->terms.harness_idle)
		return;
	if (!lonely(s)) {
		list_del(&s->harness.lonely_link);
		return;
	}
	/* Already in the list: its time continues. The order of the list is that of the times. */
	if (!list_empty(&s->harness.lonely_link))
		return;
	s->harness.lonely_since = clock_mono_ms();
	list_add_tail(&st->pool.lonely, &s->harness.lonely_link);
	if (first)
		arm_lonely(st);
}

/* --- the queue ----------------------------------------------------------------------------------------- */

/* As many sessions as there are places check whether it is their turn. */
static void call_next(struct session_store *st)
{
	unsigned n = places(st);

	list_each(s, &st->pool.waiting, struct session, harness.wait_link) {
		if (!n--)
			return;
		session_advance(s);
	}
}

static void leave_queue(struct session *s)
{
	if (!session_awaits_harness(s))
		return;
	list_del(&s->harness.wait_link);
	s->store->pool.nwaiting--;
	call_next(s->store);
}

static bool is_next(const struct session *s)
{
	unsigned n = places(s->store);

	/* A session that is not in the queue comes after all that are. */
	if (!session_awaits_harness(s))
		return s->store->pool.nwaiting < n;
	list_each(w, &s->store->pool.waiting, struct session, harness.wait_link) {
		if (!n--)
			return false;
		if (w == s)
			return true;
	}
	return false;
}

uint64_t harness_pool_wait_due(const struct session *s)
{
	const struct session_turn *t = turn_first_queued(s);
	uint64_t first = t ? t->queued_mono : UINT64_MAX;

	if (!list_empty((struct list *)&s->harness.open_waiters))
		first = MIN(first, list_first((struct list *)&s->harness.open_waiters,
					      struct session_waiter, link)
					   ->since);
	if (first == UINT64_MAX) /* it is being made: its waiter is added next */
		first = s->harness.wait_since;
	return MAX(first, s->harness.wait_since) + s->store->terms.harness_wait * 1000ul;
}

static void arm_wait(struct session_store *st)
{
	uint64_t due = UINT64_MAX, now = clock_mono_ms();

	list_each(s, &st->pool.waiting, struct session, harness.wait_link)
		due = MIN(due, harness_pool_wait_due(s));
	if (due != UINT64_MAX &&
	    !st->terms.harness_max) /* memory may be left again, and nobody tells */
		due = MIN(due, now + HARNESS_MEMORY_CHECK_MS);
	if (due != UINT64_MAX)
		loop_timer_set(st->loop, &st->pool.wait_timer,
			       due > now ? MAX(due - now, (uint64_t)WAIT_CHECK_MS) : WAIT_CHECK_MS,
			       on_wait_over, st);
}

static void crowded_out(const struct session_store *st, struct err *e)
{
	const struct harness_pool *p = &st->pool;
	const struct store_terms *terms = &st->terms;

	if (terms->harness_max)
		err_set(e, -EAGAIN, RPC_INTERNAL_ERROR, "TOO_MANY_HARNESSES",
			"%u harnesses work, which is the limit (--harness-max), and none of them "
			"fell idle within %u s (--harness-wait)",
			terms->harness_max, terms->harness_wait);
	else
		err_set(e, -EAGAIN, RPC_INTERNAL_ERROR, "TOO_MANY_HARNESSES",
			"%u harnesses work, %llu of %llu MiB of memory are left for another, and "
			"none fell idle within %u s: give the machine more memory, or set "
			"--harness-max or --harness-wait",
			p->nlive, (unsigned long long)(p->memory_left / MIB),
			(unsigned long long)(HARNESS_MEMORY / MIB), terms->harness_wait);
}

static void fail_overdue(struct session *s)
{
	uint64_t wait = s->store->terms.harness_wait * 1000ul, now = clock_mono_ms();
	uint64_t before = s->harness.wait_since + wait <= now ? now - wait : 0;
	struct session_turn *t;
	struct err e;

	crowded_out(s->store, &e);
	while (before && (t = turn_first_queued(s)) && t->queued_mono <= before) {
		s->store->totals.crowded_out++;
		/* turn_fail_because ends the current turn. */
		s->turn.current = t;
		turn_fail_because(s, &e);
	}
	if (before && !list_empty(&s->harness.open_waiters) &&
	    list_first(&s->harness.open_waiters, struct session_waiter, link)->since <= before) {
		s->store->totals.crowded_out++;
		harness_fail_waiters(s, before, &e);
		session_advance(s);
	}
}

static void on_wait_over(void *ctx)
{
	struct session_store *st = ctx;

	list_each(s, &st->pool.waiting, struct session, harness.wait_link)
		fail_overdue(s);
	if (!st->terms.harness_max)
		call_next(st);
	arm_wait(st);
}

static void log_wait(const struct session *s)
{
	const struct harness_pool *p = &s->store->pool;

	/* with --harness-max the line ends before the memory */
	log_info("session", "harness start queued", "session", s->id, "live", NUMBER_TEXT(p->nlive),
		 "waitSeconds", NUMBER_TEXT(s->store->terms.harness_wait),
		 s->store->terms.harness_max ? NULL : "memoryLeftMiB",
		 NUMBER_TEXT(p->memory_left / MIB));
}

static void join_queue(struct session *s)
{
	struct session_store *st = s->store;

	if (!session_awaits_harness(s)) {
		log_wait(s);
		s->harness.wait_since = clock_mono_ms();
		list_add_tail(&st->pool.waiting, &s->harness.wait_link);
		if (!st->pool.nwaiting++)
			arm_wait(st);
		activity_note(s);
	}
	/* Also for a session that waits already: a harness may have become idle. */
	make_room(st);
}

int harness_pool_launch(struct session *s, struct err *e)
{
	int r;

	if (!is_next(s)) {
		join_queue(s);
		return 0;
	}
	/* Before leave_queue: the launch occupies its place, so call_next counts it. */
	r = harness_launch(s, e);
	leave_queue(s);
	activity_note(s);
	return r;
}

/* --- what happens to a session -------------------------------------------------------------------------- */

void harness_pool_began(struct session *s)
{
	s->harness.resting = false;
	list_add_tail(&s->store->pool.live, &s->harness.live_link);
	s->store->pool.nlive++;
}

void harness_pool_ended(struct session *s)
{
	/* A start that failed before its process was never in the list. */
	if (list_empty(&s->harness.live_link))
		return;
	list_del(&s->harness.live_link);
	s->store->pool.nlive--;
	s->store->pool.memory_known_ms = 0; /* it has left some */
	call_next(s->store);
}

/* Those in use are at the end of the list. */
static void update_used(struct session *s)
{
	if (list_empty(&s->harness.live_link) || !session_is_busy(s))
		return;
	list_del(&s->harness.live_link);
	list_add_tail(&s->store->pool.live, &s->harness.live_link);
}

void harness_pool_update(struct session *s)
{
	if (session_awaits_harness(s) &&
	    (!wanted(s) || s->harness.copying || PARTS_FIRST(is_preparing, s)))
		leave_queue(s);
	update_used(s);
	update_lonely(s);
	activity_note(s);
	/* This harness may have become idle while others wait for its place. */
	if (s->store->pool.nwaiting && may_rest(s))
		make_room(s->store);
}

void harness_pool_forget(struct session *s)
{
	list_del(&s->harness.lonely_link);
	leave_queue(s);
	harness_pool_ended(s);
}
