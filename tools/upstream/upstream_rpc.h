/*
 * upstream_rpc.h - JSON-RPC towards one MCP server, over any transport of messages: our request ids, progress tokens,
 * cancellation.
 *
 * A transport passes every message it gets to upstream_rpc_feed and sends what send gets. Ids are positive integers,
 * never used twice. A progress token in params._meta is replaced by the id, and put back, as it was written, in the
 * notifications that carry it. All other bytes of params, results and errors are passed on unchanged.
 *
 * A request is part of its owner's object. It ends by reply (once), upstream_rpc_cancel or upstream_rpc_forget.
 * Nothing is called from inside upstream_rpc_call: a request that cannot be sent is answered from the loop.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "loop/loop.h"

struct upstream_rpc_request {
	struct list link;
	uint32_t id; /* 0: not open */
	/* Its answer: one of both is empty. */
	void (*reply)(void *ctx, struct slice result, struct slice error);
	/* Progress; may be NULL. */
	void (*notify)(void *ctx, const char *method, struct slice params);
	void *ctx;
	struct buf token; /* the caller's, raw; empty: none */
	const char *refused;
};

enum upstream_rpc_kind {
	UPSTREAM_RPC_REQUEST,
	UPSTREAM_RPC_NOTIFICATION,
	UPSTREAM_RPC_ANSWER, /* to a request of the server */
	UPSTREAM_RPC_CANCEL, /* the notification that cancels request id, for a wire that has no other way */
};

struct upstream_rpc_out {
	enum upstream_rpc_kind kind;
	uint32_t id;	    /* UPSTREAM_RPC_REQUEST, UPSTREAM_RPC_CANCEL */
	const char *method; /* NULL for an answer */
	struct slice params;
	struct slice text; /* the whole message, one line */
};

struct upstream_rpc_events {
	/* origin: id of the request on whose stream it came, 0 if that is not known. */
	void (*notified)(void *ctx, uint32_t origin, const char *method, struct slice params);
	/* To be answered, now or later, by upstream_rpc_answer or upstream_rpc_refuse with the id as it was written. */
	void (*asked)(void *ctx, uint32_t origin, struct slice id, const char *method,
		      struct slice params);
};

struct upstream_rpc {
	struct loop *loop;
	/* 0; -EPIPE: there is no connection; -E2BIG: the server does not read. Must not feed from inside. */
	int (*send)(void *wire, const struct upstream_rpc_out *out);
	void *wire;
	const struct upstream_rpc_events *events;
	void *ctx;
	struct list open, refused;
	uint32_t last_id;
	struct loop_task task;
};

/* loop, send, wire, events and ctx are set by the owner before. */
void upstream_rpc_init(struct upstream_rpc *l);
/* Forgets all open requests. */
void upstream_rpc_done(struct upstream_rpc *l);

/* rq->reply, notify and ctx are set by the owner before. */
void upstream_rpc_call(struct upstream_rpc *l, struct upstream_rpc_request *rq, const char *method,
		       struct slice params);
/* Cancels it: the server is notified. Harmless if not open. */
void upstream_rpc_cancel(struct upstream_rpc *l, struct upstream_rpc_request *rq);
/* The same without notifying the server. */
void upstream_rpc_forget(struct upstream_rpc_request *rq);
/* Answers it with an error that came beside the messages; raw. Harmless if not open. */
void upstream_rpc_error(struct upstream_rpc *l, uint32_t id, struct slice error);
struct upstream_rpc_request *upstream_rpc_find(struct upstream_rpc *l, uint32_t id);
void upstream_rpc_notify(struct upstream_rpc *l, const char *method, struct slice params);
void upstream_rpc_answer(struct upstream_rpc *l, struct slice id, struct slice result);
void upstream_rpc_refuse(struct upstream_rpc *l, struct slice id, const struct err *e);

/* One message, or an array of them as 2025-03-26 has it. -EBADMSG: it is none. */
int upstream_rpc_feed(struct upstream_rpc *l, uint32_t origin, struct slice text);
