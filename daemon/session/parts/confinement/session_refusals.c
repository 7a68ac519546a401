/*
 * session_refusals.c - reports system calls that a session's confinement refused, as bounded
 * events.
 *
 * The record is filled by supervising threads (confine/watch/confine_watch.h) and read on the loop, through a
 * descriptor that becomes readable. The agent controls how often a call is refused. So a refusal is
 * reported once when it is new, then only with its count at the end of a turn. REFUSALS_TOLD_MAX
 * bounds a turn, REFUSALS_TOLD_ALL the session.
 */
#include "session/parts/confinement/session_refusals.h"

#include "base/limits.h"
#include "session/parts/confinement/session_level.h"
#include "session/core/session_internal.h"
#include "confine/watch/refusal.h"

#include <sys/epoll.h>

static struct jw begin_refusal_event(struct buf *b)
{
	struct jw w = JW(b);

	jw_str(&w, "kind", "lifecycle");
	jw_str(&w, "event", "confinement_refused");
	return w;
}

static void note_refusal(struct session *s, const struct refusal *r)
{
	_cleanup_(buf_done) struct buf b = { 0 }, rule = { 0 };
	struct jw w = begin_refusal_event(&b);

	refusal_put_rule(r, &rule);
	jw_str(&w, "call", r->call);
	jw_str(&w, "detail", r->detail[0] ? r->detail : NULL);
	jw_str(&w, "errno", refusal_errno(r));
	jw_uint(&w, "count", r->count);
	jw_slice(&w, "rule", buf_slice(&rule));
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

static void note_more_refusals(struct session *s, uint64_t more)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	struct jw w = begin_refusal_event(&b);

	jw_uint(&w, "more", more);
	event_note(s, EVENT_LIFECYCLE, buf_slice(&b));
}

/* again: also what has happened again. What is too much now is told when the turn ends. */
static void note_new_refusals(struct session *s, bool again)
{
	struct session_refusals *f = refusals_of(s);
	struct refusal one;

	while (f->told_turn < REFUSALS_TOLD_MAX && f->told_all < REFUSALS_TOLD_ALL &&
	       refusals_take(f->record, again, &one)) {
		f->told_turn++;
		f->told_all++;
		note_refusal(s, &one);
	}
}

static void on_refusals(void *ctx, uint32_t events _unused_)
{
	struct session *s = ctx;

	refusals_seen(refusals_of(s)->record);
	note_new_refusals(s, false);
}

static void note_turn_refusals(struct session *s, struct session_turn *t _unused_)
{
	struct session_refusals *f = refusals_of(s);
	uint64_t more;

	if (!f->record)
		return;
	/* A quota of its own for the end of the turn: new refusals may have used that of the turn up. */
	f->told_turn = 0;
	note_new_refusals(s, true);
	more = refusals_take_more(f->record);
	if (more)
		note_more_refusals(s, more);
	f->told_turn = 0;
}

static void close_refusals(struct session *s)
{
	struct session_refusals *f = refusals_of(s);

	if (!f->record)
		return;
	loop_io_set(s->store->loop, &f->news, 0);
	f->record = refusals_unref(f->record);
}

static int open_refusals(struct session *s, struct err *e _unused_)
{
	struct session_refusals *f = refusals_of(s);

	if (!session_level_logs(s))
		close_refusals(s);
	if (!session_level_logs(s) || f->record)
		return 0;
	f->record = refusals_new();
	f->news = (struct loop_io){ .fd = refusals_fd(f->record), .fn = on_refusals, .ctx = s };
	loop_io_set(s->store->loop, &f->news, EPOLLIN);
	return 0;
}

const struct session_part refusals_part = {
	.name = "refusals",
	.size = sizeof(struct session_refusals),
	.open_bounds = open_refusals,
	.shut = close_refusals,
	.turn_closing = note_turn_refusals,
};
