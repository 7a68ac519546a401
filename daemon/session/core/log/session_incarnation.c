/* session_incarnation.c - of which incarnation the numbers of a session's events are, and what those of others mean. */
#include "session/core/session_internal.h"

static bool is_named(const struct session *s)
{
	return incarnations_now(&s->log.incarnations, s->store->incarnation) &&
	       evlog_ahead(&s->log.events);
}

void event_name_incarnation(struct session *s)
{
	_cleanup_(buf_done) struct buf b = { 0 };
	uint64_t from = s->log.events.last + 1;

	if (is_named(s))
		return;
	incarnations_begin(&s->log.incarnations, s->store->incarnation, from);
	incarnations_put_one(&b, s->store->incarnation, from);
	evlog_note_ahead(&s->log.events, "incarnation", buf_slice(&b));
}

void session_settle_incarnation(struct session *s)
{
	if (is_named(s))
		return;
	event_name_incarnation(s);
	evlog_flush(&s->log.events);
}

uint64_t session_shares(const struct session *s, const char *incarnation)
{
	return incarnations_end(&s->log.incarnations, incarnation, s->log.events.last + 1);
}

bool session_foreign(const struct session *s, const char *incarnation, uint64_t seen)
{
	return incarnation && strcmp(incarnation, s->store->incarnation) != 0 &&
	       seen >= session_shares(s, incarnation);
}

/* --- what is acknowledged ------------------------------------------------------------------------------------- */

void event_handed(struct session *s, uint64_t next)
{
	s->log.handed = MAX(s->log.handed, next - 1);
}

/* The last event that the line of this incarnation has in common with those it comes from. */
static uint64_t inherited(const struct session *s)
{
	const struct incarnations *l = &s->log.incarnations;

	return incarnations_now(l, s->store->incarnation) ? l->list[l->n - 1].from - 1 :
							    s->log.events.last;
}

/* A number that is of nobody known may be of a copy: what nobody has had from here cannot have been stored. */
int session_check_ack(const struct session *s, const char *incarnation, uint64_t seq, struct err *e)
{
	bool own = incarnation && strcmp(incarnation, s->store->incarnation) == 0;
	uint64_t end = incarnation && !own ? session_shares(s, incarnation) : 0;

	if (incarnation && !own && !end)
		return err_field(e, "incarnation", "FIELD_OUT_OF_RANGE",
				 "the session's journal does not know that incarnation");
	if (end && seq >= end)
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "that incarnation's number means another event here");
	if (seq > s->log.events.last)
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "the session has no such event yet");
	if (!incarnation && seq > MAX(s->log.handed, inherited(s)))
		return err_field(e, "seq", "FIELD_OUT_OF_RANGE",
				 "nobody has been sent that event by this incarnation");
	return 0;
}
