/*
 * call_use.h - what the model calls of a session use: each attempt is read while it passes, counted in the account of its
 * turn, and written down once, in the usage ledger.
 *
 * The account has the numbers as soon as the answer tells them, and the budgets are held against it then, before the
 * words that told them go on: a harness may end its turn at the last one. A call between turns, or one that goes on
 * after its turn, is counted in the session's totals alone. Calls that only count tokens or list models are none.
 */
#pragma once

#include "harnesses/harness.h"
#include "model/call_meter.h"

struct provider_call;
struct session;
struct session_turn;

/* Of the attempt that runs. */
struct call_use {
	struct call_meter *meter;     /* NULL: nothing to read, or it has been recorded */
	struct harness_usage counted; /* what its turn's account has of it; without text */
	bool auxiliary;		      /* a side call of the harness: small, and without tools */
	bool settled, succeeded;      /* its last numbers are counted; it is, as a call */
	char *model, *request_id;     /* asked for; as the carrier knows it */
	size_t sent, received;
	uint64_t asked_mono, first_mono; /* first_mono: its answer began; 0: not yet */
};

enum call_end {
	CALL_ENDED,	/* the answer is whole, as HTTP has it */
	CALL_FAILED,	/* there was none, or not all of it */
	CALL_CANCELLED, /* the harness does not want it any more */
};

/* An attempt begins; the one before it, if there was one, has failed. */
void call_use_begin(struct provider_call *c);
void call_use_head(struct provider_call *c, int status, struct slice headers);
/* Before the harness has them. */
void call_use_data(struct provider_call *c, struct slice bytes);
/* The provider's id of the request, a raw value, where no header had it. */
void call_use_request_id(struct provider_call *c, struct jval id);
/* Returns the HTTP status that the error inside the answer stands for, 502 if its code says none; 0 if there is no error. */
int call_use_error_status(const struct provider_call *c);
/* The attempt is over: it is recorded. Before the harness hears of it. */
void call_use_end(struct provider_call *c, enum call_end how);
/* The turn ends: what it has of open calls is recorded, if they told all or nobody wants the rest; others go on without
 * it. */
void calls_leave_turn(struct session *s, struct session_turn *t, bool stopped);
