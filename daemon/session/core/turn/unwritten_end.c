/* unwritten_end.c - ends of turns that the journal could not take: held back, and written when there is room. */
#include "session/core/session_internal.h"

#include "base/log.h"
#include "session/core/session_part.h"

/* The end of a turn whose beginning is in the journal; it follows when there is room. */
struct unwritten_end {
	struct list link;
	struct session_turn *turn; /* what its event contains: no, key, trace, the state of parts */
	struct turn_error error;
	char provider[64], *result; /* raw; NULL: it failed */
};

static void unwritten_free(struct unwritten_end *o)
{
	list_del(&o->link);
	turn_free(o->turn);
	free_each(o->result, o);
}

static struct unwritten_end *unwritten_new(struct session *s, const struct session_turn *t,
					   const struct turn_result *r)
{
	struct unwritten_end *o = new0(struct unwritten_end);

	list_init(&o->link);
	o->turn = turn_blank(s);
	o->turn->no = t->no;
	o->turn->key = t->key ? xstrdup(t->key) : NULL;
	o->turn->goes_on = t->goes_on;
	o->turn->end.failed = r->failed;
	PARTS_CALL(turn_copy, o->turn, t);
	trace_context_copy(&o->turn->trace, &t->trace);
	if (r->failed)
		o->error = *r->error;
	else
		o->result = xstrndup(r->result.p, r->result.n);
	/* This text is borrowed from t, which is freed before the end is written. */
	if (o->error.provider) {
		snprintf(o->provider, sizeof(o->provider), "%s", o->error.provider);
		o->error.provider = o->provider;
	}
	list_add_tail(&s->turn.unwritten, &o->link);
	return o;
}

static bool unwritten_try(struct session *s, struct unwritten_end *o)
{
	struct turn_result r = { .failed = !o->result,
				 .turn = o->turn->no,
				 .result = slice_of(o->result),
				 .error = &o->error,
				 .session = s->id };

	event_emit_turn_end(s, o->turn, &r);
	if (evlog_flush(&s->log.events) == 0) {
		unwritten_free(o);
		return true;
	}
	evlog_rollback(&s->log.events);
	return false;
}

/* What nobody has seen is taken back, so that the answer need not wait for it. For the end alone there may be room. */
void unwritten_end_add(struct session *s, const struct session_turn *t, const struct turn_result *r)
{
	struct unwritten_end *o;

	/* Before unwritten_try appends it again, so that the event does not get two numbers. */
	evlog_rollback(&s->log.events);
	o = unwritten_new(s, t, r);
	if (!unwritten_try(s, o) && (!t->first_seq || s->log.events.last < t->first_seq))
		unwritten_free(o); /* nothing of the turn is there that had to be ended */
}

void turns_journal_recovered(void *ctx)
{
	struct session *s = ctx;

	/* In order. At the first that fails all wait for the next call: ends must not overtake each other. */
	list_drain(o, &s->turn.unwritten, struct unwritten_end, link)
		if (!unwritten_try(s, o))
			return;
	log_info("session", "the journal can be written again", "session", s->id);
	session_wake(s);
}

void turns_drop_unwritten(struct session *s)
{
	list_each(o, &s->turn.unwritten, struct unwritten_end, link)
		unwritten_free(o);
}
