/*
 * approvals.h - the open questions of all sessions by their ids, for those who answer out of band: any connection or HTTP
 * client that the daemon has let in, whether it drives the session or not.
 *
 * The id is SESSION:NUMBER, and stays what it is whoever drives the session. What is answered here is withdrawn from the
 * driver. Of several answers the first counts; the others are told who was first. A session remembers that of its
 * last questions; of older ones it knows only that they are over. Strings and slices are borrowed for the call.
 */
#pragma once

#include "access/grant.h"
#include "json/jenc.h"
#include "session/core/session.h"

struct approval_query {
	const char *session_id;	   /* NULL: of all sessions */
	const struct grant *grant; /* that it sees */
	const char *cursor;	   /* of an earlier answer, or NULL */
};
/* Members approvals, an array, and nextCursor where there are more. SESSION_NOT_FOUND, CURSOR_INVALID. */
int approvals_put(struct session_store *st, const struct approval_query *q, struct jw *w,
		  struct err *e);

/* Of an id of a question; empty if it is none. The caller frees. */
char *approval_session(const char *id);
/* APPROVAL_UNKNOWN. */
int approval_unknown(struct err *e);

/* One of the first two for a permission, the others for an elicitation. */
struct approval_reply {
	const char *option_id;
	struct slice outcome; /* raw object, as ACP has it */
	const char *action;
	struct slice content; /* raw object, of action "accept" */
	const char *by;	      /* "client" or "human"; NULL: client */
};
/* via: how the answer came, a word. ret: the answer as its event has it, raw; with APPROVAL_ANSWERED raw members that
 * say who was first, if that is known. APPROVAL_UNKNOWN, FIELD_INVALID, FIELD_MISSING. */
int approval_answer(struct session_store *st, const char *id, const struct approval_reply *r,
		    const char *via, struct buf *ret, struct err *e);
