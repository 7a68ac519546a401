/*
 * lifecycle.c - derives the daemon's state, lease and end from facts that other parts report.
 *
 * The state (life_state.h) follows from three facts that others report: it is claimed, it is paused, it drains. Busy is
 * what the sessions report (session/core/activity.h) and what holds the daemon from outside sessions, which each
 * reports for itself (lifecycle_hold). The lease follows from both.
 *
 * All decisions are in on_life_time. It computes a view of the whole daemon, compares it with the last one reported,
 * and arms one timer for the next moment that matters. Facts only request a run (on_changed), so a burst of session
 * activity costs one run per STATUS_PUSH_MS, or per DRAIN_LOOK_MS while the daemon drains. The follower is notified at
 * once after a rest, and STATUS_PUSH_MS after the previous time at the earliest; while there is work, before half of the
 * lease is over. The lease and the counts of calls change too often to trigger a report. Times are monotonic here and
 * converted to wall-clock time in answers.
 *
 * Draining begins by lifecycle_drain, or here when the daemon has been idle for --idle-exit or has lived for --max-life.
 * From then on nothing new is begun. It ends when no work is left, or its time is over: then over() is called, once,
 * from the loop, after the follower has been notified.
 */
#include "lifecycle/lifecycle.h"

#include "base/clock.h"
#include "base/log.h"
#include "session/core/activity.h"

#define DRAIN_LOOK_MS 20 /* between two looks whether the work has ended */

/* What is told of at a time, and compared with the time before. Times are monotonic. */
struct life_view {
	enum life_state state;
	bool busy;
	uint64_t idle_mono, idle_real; /* since when it is not */
	struct store_work work;	       /* its deadline is the next of all */
	unsigned held[HOLD_MAX];
	uint64_t lease, drain_due;
};

struct lifecycle {
	struct lifecycle_config cfg;
	enum life_state state;
	bool claimed, paused, over, restarts;
	const char *why; /* it drains; NULL: it does not */
	uint64_t drain_due, started;
	unsigned held[HOLD_MAX], nheld;
	uint64_t released_mono, released_real; /* since when nothing holds it */
	struct loop_timer timer;
	uint64_t looked, told_at;
	struct life_view told; /* as the follower knows it */
	void (*follower)(void *ctx);
	void *ctx;
};

/* --- what there is -------------------------------------------------------------------------------------- */

static uint64_t life_due(const struct lifecycle *l)
{
	return l->cfg.times.max_life ? l->started + l->cfg.times.max_life * 1000ul : 0;
}

static uint64_t idle_due(const struct lifecycle *l, const struct life_view *v)
{
	return l->cfg.times.idle_exit && !v->busy ? v->idle_mono + l->cfg.times.idle_exit * 1000ul :
						    0;
}

static void note_ends(const struct lifecycle *l, struct life_view *v)
{
	if (l->why) {
		deadline_note(&v->work.next, "drain", l->drain_due, NULL);
		return;
	}
	deadline_note(&v->work.next, "maxLife", life_due(l), NULL);
	deadline_note(&v->work.next, "idleExit", idle_due(l, v), NULL);
}

/*
 * A platform lends a sandbox for a time and takes it back without a word, whatever runs in it. The daemon says how long
 * it should hold: while there is work for LEASE_HORIZON_SECS from now on, again and again; after the last work for
 * LEASE_GRACE_SECS, so that a client can read the end and ask more; a draining daemon until its time is over. Nothing
 * is held beyond the end of --max-life.
 */
uint64_t lease_until(const struct lease_facts *f)
{
	uint64_t until = f->busy ? f->now + LEASE_HORIZON_SECS * 1000ul :
				   f->idle_since + LEASE_GRACE_SECS * 1000ul;

	if (f->drain_due)
		until = (f->busy ? f->drain_due : f->now) + LEASE_EXIT_SECS * 1000ul;
	if (f->life_due)
		until = MIN(until, f->life_due + LEASE_EXIT_SECS * 1000ul);
	return until;
}

static void life_view_read(const struct lifecycle *l, struct life_view *v)
{
	struct lease_facts f = { .now = clock_mono_ms(), .drain_due = l->drain_due };

	*v = (struct life_view){ .state = l->state, .drain_due = l->drain_due };
	store_work(l->cfg.store, &v->work);
	memcpy(v->held, l->held, sizeof(v->held));
	v->busy = !store_idle(l->cfg.store, &v->idle_mono, &v->idle_real) || l->nheld;
	/* Idle since the later of both: the last session, or the last upload. */
	if (l->released_mono > v->idle_mono) {
		v->idle_mono = l->released_mono;
		v->idle_real = l->released_real;
	}
	note_ends(l, v);
	f.busy = v->busy;
	f.idle_since = v->idle_mono;
	f.life_due = life_due(l) ? life_due(l) + l->cfg.times.drain * 1000ul : 0;
	v->lease = lease_until(&f);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool same_deadline(const struct deadline *a, const struct deadline *b)
{
	return a->what == b->what && apart(a->due, b->due) < DEADLINE_SLACK_MS;
}

/* Calls come and go too fast to be told of, and the lease moves all the time. */
static bool life_view_differs(const struct life_view *a, const struct life_view *b)
{
	return a->state != b->state || a->busy != b->busy || a->drain_due != b->drain_due ||
	       (!a->busy && a->idle_mono != b->idle_mono) || a->work.turns != b->work.turns ||
	       a->work.queued != b->work.queued || a->work.questions != b->work.questions ||
	       !same_deadline(&a->work.next, &b->work.next) ||
	       apart(a->lease, b->lease) >= LEASE_HORIZON_SECS * 1000ul / 2;
}

/* --- looking again -------------------------------------------------------------------------------------- */

static void on_life_time(void *ctx);

/* Looks again at that time, if not before. */
static void life_look_at(struct lifecycle *l, uint64_t at)
{
	uint64_t now = clock_mono_ms();

	/* The earliest time wins: on_life_time reads everything, and sets the next time itself. */
	if (l->over || (l->timer.due && l->timer.due <= at))
		return;
	loop_timer_set(l->cfg.loop, &l->timer, at > now ? at - now : 1, on_life_time, l);
}

static void on_changed(void *ctx)
{
	struct lifecycle *l = ctx;

	life_look_at(l, l->looked + (l->why ? DRAIN_LOOK_MS : STATUS_PUSH_MS));
}

static void life_tell(struct lifecycle *l, const struct life_view *v, uint64_t now)
{
	l->told = *v;
	l->told.work.next.session_id = NULL; /* was borrowed */
	l->told_at = now;
	if (l->follower)
		l->follower(l->ctx);
}

static void life_finish(struct lifecycle *l, const struct life_view *v)
{
	log_info("life", "draining is over", "why", l->why, "left",
		 v->busy ? "work that had no time to end" : "nothing");
	/* Set before the call: facts that over() changes must not arm the timer again. */
	l->over = true;
	loop_timer_cancel(&l->timer);
	l->cfg.over(l->cfg.ctx);
}

/* The daemon's own reasons to end. */
static void end_by_itself(struct lifecycle *l, const struct life_view *v, uint64_t now)
{
	if (life_due(l) && now >= life_due(l))
		lifecycle_drain(l, "maxLife", DRAIN_AS_SET);
	else if (idle_due(l, v) && now >= idle_due(l, v))
		lifecycle_drain(l, "idle", DRAIN_AS_SET);
}

static void on_life_time(void *ctx)
{
	struct lifecycle *l = ctx;
	uint64_t now = clock_mono_ms();
	struct life_view v;
	bool ends;

	l->looked = now;
	life_view_read(l, &v);
	if (!l->why) {
		end_by_itself(l, &v, now);
		/* It may drain now, with another state and deadline. */
		life_view_read(l, &v);
	}
	ends = l->why && (!v.busy || now >= l->drain_due);
	if (life_view_differs(&v, &l->told)) {
		if (ends || now >= l->told_at + STATUS_PUSH_MS)
			life_tell(l, &v, now);
		else
			life_look_at(l, l->told_at + STATUS_PUSH_MS);
	}
	if (ends) {
		life_finish(l, &v);
		return;
	}
	/* The lease of a busy daemon moves on: the follower is told before half of it is over. */
	if (v.busy)
		life_look_at(l, l->told_at + LEASE_HORIZON_SECS * 1000ul / 2);
	if (v.work.next.what)
		/* Not at once again: a deadline that is over may need a moment until its work has ended. */
		life_look_at(l, MAX(v.work.next.due, now + DRAIN_LOOK_MS));
}

/* --- the facts ------------------------------------------------------------------------------------------ */

struct lifecycle *lifecycle_new(const struct lifecycle_config *cfg)
{
	struct lifecycle *l = new0(struct lifecycle);

	l->cfg = *cfg;
	l->started = clock_mono_ms();
	life_view_read(l, &l->told);
	store_on_activity(cfg->store, on_changed, l);
	on_changed(l);
	return l;
}

struct lifecycle *lifecycle_free(struct lifecycle *l)
{
	if (!l)
		return NULL;
	store_on_activity(l->cfg.store, NULL, NULL);
	loop_timer_cancel(&l->timer);
	free(l);
	return NULL;
}

void lifecycle_set(struct lifecycle *l, const struct life_times *times)
{
	if (!l)
		return;
	l->cfg.times = *times;
	/* --idle-exit and --max-life count from the claim on. */
	l->started = l->released_mono = clock_mono_ms();
	l->released_real = clock_real_ms();
	on_changed(l);
}

void lifecycle_follow(struct lifecycle *l, void (*told)(void *ctx), void *ctx)
{
	l->follower = told;
	l->ctx = ctx;
}

static void life_settle(struct lifecycle *l, const char *why)
{
	enum life_state to = l->why	? LIFE_DRAINING :
			     l->paused	? LIFE_PAUSED :
			     l->claimed ? LIFE_READY :
					  LIFE_PROVISIONING;

	life_state_set(&l->state, to, why);
	on_changed(l);
}

void lifecycle_claimed(struct lifecycle *l, bool claimed)
{
	if (!l)
		return;
	l->claimed = claimed;
	life_settle(l, claimed ? "claimed" : "not claimed");
}

void lifecycle_paused(struct lifecycle *l, bool paused)
{
	l->paused = paused;
	life_settle(l, paused ? "restored" : "going on");
}

void lifecycle_hold(struct lifecycle *l, enum life_hold what)
{
	if (!l)
		return;
	l->held[what]++;
	l->nheld++;
	on_changed(l);
}

void lifecycle_release(struct lifecycle *l, enum life_hold what)
{
	if (!l)
		return;
	l->held[what]--;
	if (!--l->nheld) {
		l->released_mono = clock_mono_ms();
		l->released_real = clock_real_ms();
	}
	on_changed(l);
}

/* --- the end -------------------------------------------------------------------------------------------- */

void lifecycle_drain(struct lifecycle *l, const char *why, int64_t secs)
{
	uint64_t now = clock_mono_ms();
	uint64_t due = now + (secs < 0 ? l->cfg.times.drain : (uint64_t)secs) * 1000ul;

	/* Whoever asks for an end takes a restart back; lifecycle_restart sets it after this. */
	l->restarts = false;
	if (l->over)
		return;
	if (!l->why) {
		l->why = why;
		l->drain_due = due;
		store_drain(l->cfg.store);
		life_settle(l, why);
	}
	l->drain_due = MIN(l->drain_due, due);
	life_look_at(l, now);
}

void lifecycle_drain_now(struct lifecycle *l, const char *why, int64_t secs)
{
	lifecycle_drain(l, why, secs);
	if (!l->over)
		on_life_time(l);
}

int lifecycle_restart(struct lifecycle *l, int64_t secs, struct err *e)
{
	if (l->why && !l->restarts)
		return err_set(e, -EALREADY, RPC_INVALID_REQUEST, "SHUTTING_DOWN",
			       "the daemon is shutting down");
	lifecycle_drain(l, "restart", secs);
	l->restarts = true;
	return 0;
}

bool lifecycle_restarts(const struct lifecycle *l)
{
	return l && l->restarts;
}

unsigned lifecycle_drain_left(const struct lifecycle *l)
{
	uint64_t now = clock_mono_ms();

	return l->drain_due > now ? (unsigned)((l->drain_due - now) / 1000) : 0;
}

bool lifecycle_draining(const struct lifecycle *l)
{
	return l && l->why;
}

unsigned lifecycle_retry_after(const struct lifecycle *l)
{
	return 1 + lifecycle_drain_left(l);
}

/* --- as it is told -------------------------------------------------------------------------------------- */

static void life_put_time(struct jw *w, const char *key, uint64_t mono)
{
	jw_str(w, key, CLOCK_ISO(clock_real_ms() + mono - clock_mono_ms()));
}

static void life_put_work(struct jw *w, const struct life_view *v)
{
	const struct store_work *k = &v->work;

	jw_object(w, "work", JW_UINT("turns", k->turns), JW_UINT("queued", k->queued),
		  JW_UINT("questions", k->questions), JW_UINT("toolCalls", k->tool_calls),
		  JW_UINT("modelCalls", k->model_calls), JW_UINT("jobs", k->jobs),
		  JW_UINT("waiting", k->waiting), JW_UINT("uploads", v->held[HOLD_UPLOAD]));
}

static void life_put_deadline(struct jw *w, const struct deadline *d)
{
	if (!d->what)
		return;
	jw_obj(w, "nextDeadline");
	jw_str(w, "what", d->what);
	life_put_time(w, "at", d->due);
	jw_str(w, "sessionId", d->session_id);
	jw_end_obj(w);
}

static void life_put_lease(struct jw *w, uint64_t until)
{
	uint64_t now = clock_mono_ms();

	life_put_time(w, "leaseUntil", until);
	jw_uint(w, "leaseSeconds", until > now ? (until - now + 999) / 1000 : 0);
}

static void life_put_draining(struct jw *w, const struct lifecycle *l)
{
	if (!l->why)
		return;
	jw_obj(w, "draining");
	jw_str(w, "why", l->why);
	life_put_time(w, "until", l->drain_due);
	jw_end_obj(w);
}

void lifecycle_put_brief(const struct lifecycle *l, struct jw *w)
{
	struct life_view v;

	if (!l)
		return;
	life_view_read(l, &v);
	jw_str(w, "state", life_state_word(v.state));
	life_put_lease(w, v.lease);
	life_put_draining(w, l);
}

void lifecycle_put(const struct lifecycle *l, struct jw *w)
{
	struct life_view v;

	if (!l)
		return;
	life_view_read(l, &v);
	jw_str(w, "state", life_state_word(v.state));
	jw_bool(w, "busy", v.busy);
	if (!v.busy)
		jw_str(w, "idleSince", CLOCK_ISO(v.idle_real));
	life_put_work(w, &v);
	life_put_deadline(w, &v.work.next);
	life_put_lease(w, v.lease);
	life_put_draining(w, l);
}
