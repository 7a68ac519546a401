/*
 * retain.c - deletes closed sessions by age, by total size, and when the disk is full.
 *
 * --keep-sessions limits their age and what they take on disk all together. Without it sessions are
 * deleted only when the disk is full: first those whose client has acknowledged all, the longest
 * closed first, then the others, until there is space. Where no session can be deleted, acknowledged
 * heads of journals are freed (session_journal.c). A session that is open, watched, read or being copied
 * is never deleted. Deletion goes through the removal queue, as for session/delete.
 *
 * Each run handles at most RETAIN_BATCH sessions, and reschedules itself, so the loop never blocks
 * on a large store. A session is measured by du(1) once after it closes, one at a time, and -1
 * means not measured. Under disk pressure one session at a time is deleted, and the next run waits
 * until its removal has freed space. `cramped` means that nothing could be freed: then only an
 * event (a close, an acknowledgement) starts the next attempt.
 */
#include "session/core/session_internal.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/limits.h"
#include "session/core/session_paths.h"
#include "session/core/session_part.h"

#include <sys/statvfs.h>

/* --- which may go, and in which order ----------------------------------------------------------------- */

static bool removable(const struct session *s)
{
	return s->state == SESSION_CLOSED && !s->stored.remove && !s->stored.unremovable &&
	       !s->harness.copying && !s->harness.proc && list_empty(&s->watchers) &&
	       list_empty(&s->log.readers) && list_empty(&s->harness.open_waiters) &&
	       list_empty(&s->close_waiters) && list_empty(&s->turn.queue) &&
	       !PARTS_FIRST(is_preparing, s);
}

uint64_t retain_closed_at(const struct session *s)
{
	return s->stored.closed_ms ? s->stored.closed_ms : s->updated_ms;
}

static bool before(const struct session *a, const struct session *b, bool stored_first)
{
	if (stored_first && trim_stored(a) != trim_stored(b))
		return trim_stored(a);
	return retain_closed_at(a) < retain_closed_at(b);
}

/* The first ones, at most RETAIN_BATCH. */
static size_t candidates(struct session_store *st, bool stored_first,
			 struct session *out[RETAIN_BATCH])
{
	size_t n = 0;

	list_each(s, &st->sessions, struct session, link) {
		size_t at = n;

		if (!removable(s))
			continue;
		/* Insertion sort. If there are more than RETAIN_BATCH, the last one falls out. */
		while (at > 0 && before(s, out[at - 1], stored_first))
			at--;
		if (at == RETAIN_BATCH)
			continue;
		n += n < RETAIN_BATCH;
		memmove(&out[at + 1], &out[at], (n - at - 1) * sizeof(*out));
		out[at] = s;
	}
	return n;
}

/* What cannot be removed is not tried again and again; on a full disk that may be for want of room itself, and is tried
 * when it is asked for next. */
static void retain_on_removed(void *ctx _unused_, struct session *s, const struct err *e)
{
	struct session_store *st = s->store;

	if (!e)
		return;
	s->stored.unremovable = store_has_space(st, RETAIN_ROOM_MIN);
	if (s->stored.unremovable)
		return;
	st->retention.cramped = true;
	loop_timer_cancel(&st->retention.pressure_timer);
}

static void let_go(struct session *s, const char *why, uint64_t *count)
{
	++*count;
	log_info("session", "closed session deleted, it is not to be kept", "session", s->id, "why",
		 why, "closed", CLOCK_ISO(retain_closed_at(s)), "acknowledged",
		 trim_stored(s) ? "true" : "false");
	session_close(s, true, retain_on_removed, NULL);
}

/* --- what they take on disk ----------------------------------------------------------------------------- */

static int du_on_line(void *ctx, struct slice line)
{
	struct session_store *st = ctx;
	_cleanup_(freep) char *text = xstrndup(line.p, line.n);
	char *end;
	long long n = strtoll(text, &end, 10);

	if (strcmp(end, "\ttotal") == 0)
		st->retention.measured = n;
	return 0;
}

static void retain_check_later(struct session_store *st, uint64_t ms);

static void du_on_gone(void *ctx, const struct proc_status *status _unused_)
{
	struct session_store *st = ctx;

	st->retention.measuring = proc_free(st->retention.measuring);
	/* By id: the session may have been freed while du ran. */
	list_each(s, &st->sessions, struct session, link)
		if (strcmp(s->id, st->retention.measured_id) == 0)
			s->stored.bytes = st->retention.measured;
	if (!st->stopping)
		retain_check_later(st, 1);
}

static const struct proc_events measure_events = { .on_line = du_on_line, .on_exit = du_on_gone };

static char *part(const struct session_store *st, const char *where, const struct session *s)
{
	return xprintf("%s/%s/%s", st->state_dir, where, s->id);
}

/* Parts that are not there are complaints of du, no more. Where there is no du only the journal counts. */
static void retain_measure(struct session_store *st, struct session *s)
{
	_cleanup_(freep) char *du = paths_find_command("du", getenv("PATH"));
	_cleanup_(freep) char *journal = paths_journal_path(st, s->id);
	_cleanup_(freep) char *home = part(st, "homes", s), *artifacts = part(st, "artifacts", s),
			      *snapshots = part(st, "snapshots", s), *run = part(st, "runs", s);
	char options[] = "-scB1", end[] = "--";
	char *argv[] = { du, options, end, journal, home, artifacts, snapshots, run, NULL },
	     *env[] = { NULL };
	struct err e = { 0 };

	/* The value if du cannot be started, or prints no total. */
	st->retention.measured = s->log.events.written - s->log.events.freed;
	xstrset(&st->retention.measured_id, s->id);
	if (du)
		st->retention.measuring = proc_spawn(st->procs,
						     &(struct proc_spec){ .argv = argv,
									  .env = env,
									  .cwd = "/",
									  .session = s->id,
									  .trusted = true },
						     &measure_events, st, &e);
	if (!st->retention.measuring)
		s->stored.bytes = st->retention.measured;
}

enum sizes { SIZES_KNOWN, SIZES_PARTLY_KNOWN, SIZES_AWAITED };

/* Without du the size of a session is known at once. Then a run measures RETAIN_BATCH of them. */
static enum sizes measure_next(struct session_store *st)
{
	unsigned n = 0;

	if (st->retention.measuring)
		return SIZES_AWAITED;
	list_each(s, &st->sessions, struct session, link) {
		if (s->state != SESSION_CLOSED || s->stored.remove || s->stored.bytes >= 0)
			continue;
		if (n++ == RETAIN_BATCH)
			return SIZES_PARTLY_KNOWN;
		retain_measure(st, s);
		if (st->retention.measuring)
			return SIZES_AWAITED;
	}
	return SIZES_KNOWN;
}

/* --- --keep-sessions ------------------------------------------------------------------------------------- */

static bool expire_old(struct session_store *st, struct session *const *list, size_t n)
{
	uint64_t now = clock_real_ms(), age = (uint64_t)st->terms.keep.age_secs * 1000, gone = 0;

	for (size_t i = 0; age && i < n && retain_closed_at(list[i]) + age < now; i++, gone++)
		let_go(list[i], "age", &st->totals.removed_age);
	return gone == RETAIN_BATCH;
}

static bool expire_large(struct session_store *st, struct session *const *list, size_t n)
{
	enum sizes known;
	int64_t sum = 0;
	size_t gone = 0;

	if (!st->terms.keep.bytes)
		return false;
	known = measure_next(st);
	if (known != SIZES_KNOWN)
		return known == SIZES_PARTLY_KNOWN;
	list_each(s, &st->sessions, struct session, link)
		sum += s->state == SESSION_CLOSED && !s->stored.remove ? s->stored.bytes : 0;
	for (; gone < n && sum > st->terms.keep.bytes; gone++) {
		if (list[gone]->state != SESSION_CLOSED)
			continue; /* gone for its age */
		sum -= list[gone]->stored.bytes;
		let_go(list[gone], "size", &st->totals.removed_size);
	}
	return gone == RETAIN_BATCH;
}

static void on_check(void *ctx)
{
	struct session_store *st = ctx;
	struct session *list[RETAIN_BATCH + 1];
	uint64_t pause = RETAIN_SECS * 1000;
	size_t n;
	bool more;

	if (st->stopping)
		return;
	/* A tenth of the age in milliseconds: no session stays much longer than the limit. */
	if (st->terms.keep.age_secs)
		pause = MIN(pause, MAX((uint64_t)st->terms.keep.age_secs * 100, RETAIN_CHECK_MS));
	n = candidates(st, false, list);
	more = expire_old(st, list, n);
	more |= expire_large(st, list, n);
	retain_check_later(st, more ? RETAIN_CHECK_MS : pause);
}

static void retain_check_later(struct session_store *st, uint64_t ms)
{
	loop_timer_set(st->loop, &st->retention.timer, ms, on_check, st);
}

/* --- a full disk ------------------------------------------------------------------------------------------ */

static bool trim_any(struct session_store *st)
{
	list_each(s, &st->sessions, struct session, link)
		if (trim_now(s, true))
			return true;
	return false;
}

/* What is removed gives its room back in its own time. */
static bool removing(const struct session_store *st)
{
	struct removal_counts c;

	removal_count(st->removal, &c);
	return c.pending > c.failed;
}

static void on_pressure(void *ctx)
{
	struct session_store *st = ctx;
	struct session *list[RETAIN_BATCH + 1];

	st->retention.cramped = false;
	if (st->stopping || store_has_space(st, RETAIN_ROOM_MIN))
		return;
	if (!removing(st)) {
		/* One only. Its removal frees space later, and more deletions now might not be needed. */
		if (candidates(st, true, list))
			let_go(list[0], "room", &st->totals.removed_room);
		else
			st->retention.cramped = !trim_any(st);
	}
	if (!st->retention.cramped)
		loop_timer_set(st->loop, &st->retention.pressure_timer, RETAIN_CHECK_MS,
			       on_pressure, st);
}

void retain_pressure(struct session_store *st)
{
	if (!st->retention.pressure_timer.due && !st->stopping)
		loop_timer_set(st->loop, &st->retention.pressure_timer, 1, on_pressure, st);
}

/* --- life ---------------------------------------------------------------------------------------------------- */

void retain_check(struct session *s)
{
	struct session_store *st = s->store;

	if (st->retention.cramped)
		retain_pressure(st);
	if (retention_bounded(&st->terms.keep) &&
	    st->retention.timer.due > clock_mono_ms() + RETAIN_CHECK_MS)
		retain_check_later(st, RETAIN_CHECK_MS);
}

void store_clock_jumped(struct session_store *st)
{
	/* Ages are of the wall clock: after a jump sessions may have expired. */
	retain_begin(st);
}

void retain_begin(struct session_store *st)
{
	if (retention_bounded(&st->terms.keep))
		retain_check_later(st, RETAIN_CHECK_MS);
}

void retain_stop(struct session_store *st)
{
	if (st->retention.measuring)
		proc_kill(st->retention.measuring);
}

void retain_done(struct session_store *st)
{
	loop_timer_cancel(&st->retention.timer);
	loop_timer_cancel(&st->retention.pressure_timer);
	free(st->retention.measured_id);
}
