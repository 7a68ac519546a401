/*
 * session_model_internal.h - the model calls of a session: the listener where its harness makes them, and the connections
 * that take them.
 *
 * This folder owns struct session_model . The listener lives as long as the harness's process.
 * Takers are embedded in their connections; calls live until the harness has its answer or is gone.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "harnesses/provider.h"
#include "model/model_listener.h"
#include "session/parts/model/call_rate.h"
#include "session/parts/model/provider_call.h"
#include "session/parts/model/tunnel.h"

/* The header with the key of one place where calls go. */
struct upstream_key {
	struct locked_text *of;
	struct fetch_key *key;
};

/* State of the part. */
struct session_model {
	struct model_listener *listener; /* NULL: the harness calls its provider itself */
	struct list takers;		 /* struct model_taker */
	struct list calls;		 /* struct provider_call */
	struct upstream_key keys[PROVIDER_UPSTREAMS_MAX];
	struct loop_task review;       /* of calls that wait for what others have reserved */
	struct call_rate rate, logged; /* calls, and refusals in the log */
	struct recording recording;
};

static inline struct session_model *model_of(const struct session *s)
{
	return s->parts[PART_MODEL];
}

/* For all sessions. */
struct store_model {
	struct model_listeners listeners;
	uint64_t strays, asked_again;
};

static inline struct store_model *store_model_of(const struct session_store *st)
{
	return st->parts[PART_MODEL];
}

/* session_model.c */
/* Before the harness starts. */
int session_model_open(struct session *s, struct err *e);
/* FETCH_UNAVAILABLE, MEMORY_LOCK_REFUSED: the daemon cannot make calls in the way that the provider says. keyed: with a
 * key. */
int session_model_check_way(const struct session *s, const struct harness_provider *p, bool keyed,
			    const char *field, struct err *e);
/* Its model calls pass the daemon, which reads what they use. */
bool session_is_metered(const struct session *s);

/* provider_change.c */
/* A key of a provider stands in the environment of the harness, whoever put it there. */
bool provider_key_in_env(const struct session *s);

/* tunnel.c */
extern const struct call_carrier tunnel_carrier;
void takers_drop(struct session *s);

/*
 * call_limits.c
 *
 * A call for which a budget has nothing left is refused, and the running turn ends by that budget. What a call may use
 * (usage/budget.h) is reserved until it ends. One for which nothing is left only because of that waits: when another has
 * ended its real usage is known, and there is room again, or there is not. So concurrent calls go no further beyond a
 * budget than sequential ones, which is by one.
 *
 * The listener enforces how many calls are open at a time, and asks for the number (call_limits_terms). All of it is
 * read from the session's provider at each call, so a change applies from the next one on.
 */
/* False: it waits, and is asked later, or has been refused, and is gone. */
bool call_limits_admit(struct provider_call *c);
/* A call is gone, and what was reserved for it is free. */
void call_limits_ended(struct session *s);
/* Of a listener whose context is the session. */
struct model_terms call_limits_terms(void *session);
/* A line of the log; no more than so many in a minute, as an agent can cause as many as it likes. */
void call_limits_refused(void *session, enum model_refusal why);

/* direct.c */
extern const struct call_carrier direct_carrier;
/* They are made again when they are needed. No call is open. */
void direct_drop_keys(struct session *s);
