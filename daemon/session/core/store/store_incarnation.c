/*
 * store_incarnation.c - the sandbox is a copy of another one: what is counted gets a scope of its own, and what
 * clients gave to the sessions of the other one is forgotten.
 */
#include "session/core/session_internal.h"

#include "base/log.h"
#include "base/os/file.h"
#include "outbox/outbox.h"
#include "session/core/session_part.h"
#include "session/core/session_states.h"

#define INCARNATION_BYTES 16

/* What its harness knows of connections and keys is known to another now. */
static void session_leave_copy(struct session *s)
{
	turns_end_open(s, "the sandbox is a copy: the turn goes on in the other");
	s->harness.restart = s->harness.state != H_NONE;
	session_advance(s);
}

int store_begin_incarnation(struct session_store *st, const char *new_id, struct err *e)
{
	/* First, as it alone can fail: after it everything uses the new id. */
	int r = ledger_begin(st->ledger, new_id, e);

	if (r < 0)
		return r;
	if (*st->incarnation)
		log_info("session", "a new incarnation", "from", st->incarnation, "to", new_id);
	xstrset(&st->incarnation, new_id);
	outbox_begin(st->outbox, new_id);
	list_each(s, &st->sessions, struct session, link)
		session_leave_copy(s);
	return 0;
}

int store_mint_incarnation(struct session_store *st, struct err *e)
{
	char id[2 * INCARNATION_BYTES + 1];

	random_hex(id, INCARNATION_BYTES);
	return store_begin_incarnation(st, id, e);
}

/* --- keys of clients ------------------------------------------------------------------------------------ */

void store_forget_keys(struct session_store *st)
{
	list_each(s, &st->sessions, struct session, link)
		harness_forget_keys(s);
}
