/* store_incarnation.c - what all that is counted is scoped by, and how it becomes another while the daemon runs. */
#include "session/session_internal.h"

#include "base/log.h"

/* What its harness knows of connections and keys is known to another now. */
static void leave_behind(struct session *s)
{
	turns_end_open(s, "the sandbox is a copy: the turn goes on in the other");
	s->harness.restart = s->harness.state != H_NONE;
	session_advance(s);
}

int store_begin_incarnation(struct session_store *st, const char *new_id, struct err *e)
{
	int r = ledger_begin(st->ledger, new_id, e);

	if (r < 0)
		return r;
	log_info("session", "the sandbox is another: a new incarnation", "from", st->incarnation,
		 "to", new_id);
	xstrset(&st->incarnation, new_id);
	list_each(s, &st->sessions, struct session, link)
		leave_behind(s);
	return 0;
}
