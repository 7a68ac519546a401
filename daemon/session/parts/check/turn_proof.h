/*
 * turn_proof.h - what a turn has to prove: its checks, their results, and which attempt at its prompt it is.
 *
 * The members are owned by the turn and freed by turn_proof_done. Nothing here fails.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "harnesses/harness.h"
#include "json/jenc.h"
#include "session/core/turn/turn_internal.h"
#include "session/parts/check/check.h"
#include "session/parts/session_parts.h"

struct session;
struct session_turn;

/* State of a turn. */
struct turn_proof {
	char *checks;	       /* raw array; NULL: the session's */
	char *retry;	       /* raw {max}; NULL: the session's */
	bool wanted;	       /* it has checks */
	struct check_run *run; /* somebody waits for it: from TURN_CHECKING on, until it is over */
	enum check_verdict verdict;
	char *results;		    /* raw array, with all evidence; NULL: none */
	unsigned attempt, attempts; /* which of how many; 0: the prompt is not tried again */
	uint64_t first;		    /* number of the first attempt */
	bool retried;		    /* as loaded: another attempt follows */
	struct buf said;	    /* what the agent said last, as text */
	bool said_all, said_cut;    /* something else came after it; its beginning is gone */
};

static inline struct turn_proof *proof_of(const struct session_turn *t)
{
	return t->parts[PART_CHECK];
}

void turn_proof_done(struct turn_proof *p);

/* State of the part. A session has one run of checks at a time. It frees itself when it has ended; a session that is
 * closed waits for that. */
struct session_checks {
	struct check_run *run;
	/* While the journal is read: the turn that another attempt was to follow (first 0: none). */
	struct turn_proof recalled;
};

static inline struct session_checks *checks_of(const struct session *s)
{
	return s->parts[PART_CHECK];
}

/* The session is closed, or the daemon ends: the run is cancelled. */
void session_checks_abort(struct session *s);

/* check_run.c: ends a run of checks that was started by hand with this ctx; done follows. False: there is none. */
bool session_checks_cancel(struct session *s, const void *ctx);
/* The session is being freed, so its run ends without waiting. No process of it may be left. */
void session_checks_drop(struct session *s);

/* turn_retry.c */
/* What failed should go back to the harness. */
bool turn_retry_is_due(const struct session *s, const struct session_turn *t);
/* Members "attempts" and "promptUsage" of one that was not the first attempt. */
void turn_tries_put(const struct session_turn *t, struct jw *w);
/* If t goes on, the next attempt waits from now on. */
void turn_retry_add(struct session *s, struct session_turn *t);
/* t failed after all: the next attempt ends as it did. */
void turn_retry_fail(struct session *s, struct session_turn *t);
/* What the harness is told: raw content blocks. checks: raw, as they were given. */
void turn_retry_put(const struct turn_proof *p, struct slice checks, struct buf *ret);
