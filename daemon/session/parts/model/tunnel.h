/*
 * tunnel.h - model calls of a session's harness, on their way to the client that makes them ("_acpd/model/...").
 *
 * A taker is one connection's readiness to make them for one session. A connection that does nothing else is asked
 * first; of several the newest. A call keeps its callId for life. If its taker goes before the first byte of the answer,
 * the call is asked once more, of the next taker, with a higher attempt; after it the harness's connection is cut, since
 * what it has cannot be taken back. A call that nobody takes waits for --model-hold, and for as long as it takes where
 * the session waits for its client (whenDetached "hold").
 *
 * Both directions have a window of MODEL_WINDOW bytes and pieces of MODEL_PIECE_MAX. A client that sends more ends the
 * call. A piece that is out of order is dropped, and then the answer has no regular end.
 */
#pragma once

#include "base/list.h"
#include "base/slice.h"

struct buf;
struct session;
struct session_store;
struct tunnel_call;
struct model_taker;

struct model_taker_ops {
	/* Send the request, and give its answer to tunnel_answered. False: it cannot be sent now. */
	bool (*ask)(void *ctx, struct tunnel_call *c);
	/* False: enough waits for this connection already; taker_has_room is called once it takes more. */
	bool (*room)(void *ctx);
	/* Send a notification about it. */
	void (*notify)(void *ctx, const char *method, struct slice params);
	/* $/cancel_request for it; no answer is wanted. */
	void (*cancel)(void *ctx, struct tunnel_call *c);
	/* The session is gone: it is detached after this call. */
	void (*closed)(void *ctx);
};

struct model_taker {
	struct list link;
	struct session *session; /* NULL: detached */
	const struct model_taker_ops *ops;
	void *ctx;
	unsigned apis; /* bit per enum model_api */
	bool only;     /* its connection does nothing else */
};

void taker_attach(struct model_taker *t, struct session *s);
void taker_detach(struct model_taker *t);
/* Bodies that waited go on. */
void taker_has_room(struct model_taker *t);
/* The call of that callId that this taker has, or NULL. */
struct tunnel_call *taker_find(struct model_taker *t, const char *call_id);
/* A piece came for a call that this connection does not have. */
void tunnel_stray(struct session_store *st);

/* Params of _acpd/model/request. */
void tunnel_put(const struct tunnel_call *c, struct buf *params);

/* --- what the client says; each may end the call, and then c is gone ------------------------------------- */

void tunnel_head(struct tunnel_call *c, int status, struct slice headers);
void tunnel_chunk(struct tunnel_call *c, uint64_t seq, struct slice bytes);
/* It has room for so many bytes more of the request's body. */
void tunnel_credit(struct tunnel_call *c, uint64_t bytes);
/* The response's raw result, or its raw error. */
void tunnel_answered(struct tunnel_call *c, struct slice result, struct slice error);
