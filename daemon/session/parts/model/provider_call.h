/*
 * provider_call.h - one call of a session's harness to its provider: between the listener, where the harness waits for the
 * answer, and the carrier that brings it there and back.
 *
 * A carrier is a client (tunnel.c), or acpd-fetch (direct.c). It has one call at a time of each struct provider_call: an attempt. An attempt
 * that ends before its answer has begun may be followed by another; what the harness has of an answer cannot be taken
 * back, so there is none after that. The call is freed when the harness has its answer, or is refused, or is gone.
 *
 * What a carrier says (provider_call_head, _data, _end, _fail) may come from inside `ask`. After _end and _fail, and
 * after _head that was false, the call is gone; `stop` has then been called if the carrier still had to stop.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"
#include "model/model_listener.h"
#include "session/parts/model/call_recording.h"
#include "session/parts/model/call_use.h"
#include "usage/budget.h"

#define CALL_ID_SIZE sizeof("model-call:0123456789abcdef0123456789abcdef")

struct provider_call;
struct session;

struct call_carrier {
	/* Begin an attempt: provider_call_attempt, once it really begins. */
	void (*ask)(struct provider_call *c);
	/* So many bytes of the answer have left for the harness. */
	void (*taken)(struct provider_call *c, size_t n);
	/* Nobody wants the answer any more: stop what still runs. */
	void (*stop)(struct provider_call *c);
	/* Free what is yours of it. */
	void (*forget)(struct provider_call *c);
};

/* An answer that waits in the call until its body shows whether it is an error in spite of its status. All zeros: nothing
 * is held. */
struct held_answer {
	bool holds;
	struct buf headers, body;
};

struct provider_call {
	struct list link; /* in its session */
	struct session *session;
	struct model_call *call; /* at the listener */
	const struct call_carrier *carrier;
	void *carried; /* the carrier's own; NULL: nothing yet */
	char id[CALL_ID_SIZE];
	uint64_t turn; /* 0: between turns */
	unsigned attempt;
	bool waits; /* it has not been asked: what it may use is reserved for others */
	struct spending reserved; /* of budgets, until it ends */
	bool answered;		  /* the head of its answer has come: no other attempt follows */
	struct held_answer held;
	struct call_use use;
	struct call_trace trace;
};

extern const struct model_listener_ops provider_call_listener_ops;

/* Before it is asked. secs: as model_call_refuse_until has it. */
void provider_call_refuse(struct provider_call *c, enum model_refusal why, unsigned secs);

/* --- what a carrier says ------------------------------------------------------------------------------------ */

/* The provider is asked, for the first time or once more. */
void provider_call_attempt(struct provider_call *c);
/* headers: raw object of strings. False: a harness cannot be given that; the call is gone. */
bool provider_call_head(struct provider_call *c, int status, struct slice headers);
void provider_call_data(struct provider_call *c, struct slice bytes);
void provider_call_end(struct provider_call *c);
/* The attempt failed by itself; nothing of it runs any more. */
void provider_call_fail(struct provider_call *c, enum model_refusal why);
/* The same, but the carrier has to stop. */
void provider_call_break(struct provider_call *c, enum model_refusal why);

/* What a request to the provider has: given (raw object of strings, or empty), and what of the harness's headers it does not
 * replace. key as for jw_obj. */
struct jw;
void provider_call_put_headers(const struct provider_call *c, struct jw *w, const char *key,
			       struct slice given);
