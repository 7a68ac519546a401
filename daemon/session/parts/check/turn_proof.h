/*
 * turn_proof.h - what a turn has to prove: its checks, what came of them, and which attempt at its prompt it is.
 *
 * When its harness has ended a turn well and the turn has checks, it is TURN_CHECKING until their run is over; it stays
 * the current one of its session all that time. Whatever else ends it there stops the run first. A turn whose checks
 * were not run to their end, or that failed, is "unchecked".
 *
 * With a retry, a turn whose checks failed is followed by another attempt (turn_retry.c): a turn of its own, which
 * waits before all others. It takes over who waits for the answer, the key and the budgets of the prompt; the turn
 * before keeps a copy of the key for its record, and is `retried`. So what reaches a prompt that waits (cancelling,
 * closing, a failing harness, the end of the daemon) reaches a prompt between two attempts, and ends it once.
 *
 * The insides are owned by the turn and freed by turn_proof_done. Nothing here fails.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "harnesses/harness.h"
#include "json/jenc.h"
#include "session/parts/check/check.h"

struct session;
struct session_turn;

struct turn_proof {
	bool wanted;	       /* it has checks */
	struct check_run *run; /* somebody waits for it: from TURN_CHECKING on, until it is over */
	enum check_verdict verdict;
	char *results;		    /* raw array, with all evidence; NULL: none */
	unsigned attempt, attempts; /* which of how many; 0: the prompt is not tried again */
	uint64_t first;		    /* number of the first attempt */
	bool retried;		    /* another attempt follows */
	struct buf said;	    /* what the agent said last, as text */
	bool said_all, said_cut;    /* something else came after it; its beginning is gone */
};

/* t gets its number: from now on it is settled what it has to prove. */
void turn_proof_begin(const struct session *s, struct session_turn *t);
/* The agent said or did something. */
void turn_proof_note(struct session_turn *t, enum harness_update kind, struct slice update);
/* The current turn has ended as t->end says: its checks begin. False: there are none to be run. */
bool turn_proof_run(struct session *s, struct session_turn *t);
/* It ends so instead of what its checks would say. It goes on until nothing of them is left. */
void turn_proof_stop(struct session *s, struct session_turn *t, const struct harness_turn_end *end);
/* What comes of the run is not waited for. */
void turn_proof_abandon(struct session_turn *t);
void turn_proof_done(struct turn_proof *p);
struct turn_proof turn_proof_copy(const struct turn_proof *p);

/* How much is said of each check: all, or whether it holds and how long it took. */
enum proof_extent { PROOF_WHOLE, PROOF_BRIEF };
/* Members "checks" and "attempt", where there are checks and attempts. */
void turn_proof_put(const struct session_turn *t, enum proof_extent extent, struct jw *w);
/* Member "attempt" alone. */
void turn_attempt_put(const struct turn_proof *p, struct jw *w);
/* Member "checks" of an object that has it, such as _meta.acpd of the event of a turn's end, once more. */
void turn_proof_put_checks(struct slice object, enum proof_extent extent, struct jw *w);
/* From such an object, or from the journal's note of a turn that has begun. */
void turn_proof_load(struct turn_proof *ret, struct slice object);

/* turn_retry.c */
/* What failed should go back to the harness. */
bool turn_retry_due(const struct session *s, const struct session_turn *t);
/* t is retried: the next attempt waits from now on. */
void turn_retry_add(struct session *s, struct session_turn *t);
/* t failed after all: the next attempt ends as it did. */
void turn_retry_fail(struct session *s, const struct session_turn *t);
/* What the harness is told: raw content blocks. checks: raw, as they were given. */
void turn_retry_put(const struct turn_proof *p, struct slice checks, struct buf *ret);
