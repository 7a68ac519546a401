/*
 * upstream_rpc.h - JSON-RPC towards one MCP server, over whatever carries messages: our request ids, progress tokens, cancellation.
 *
 * A transport gives every message it gets to link_feed and sends what it is given (struct link_wire). Ids are positive integers, never used
 * twice; a progress token in params._meta is replaced by the id, and put back, as it was written, in the notifications that carry it. All
 * other bytes of params, results and errors are passed on as they are.
 *
 * A request is part of its owner's object. It ends by reply (once), link_cancel or link_forget. Nothing is called from inside link_call:
 * what cannot be sent is answered from the loop.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "loop/loop.h"

#include <stdbool.h>

struct link_request {
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

enum link_kind {
	LINK_REQUEST,
	LINK_NOTIFICATION,
	LINK_ANSWER, /* to a request of the server */
	LINK_CANCEL, /* the notification that cancels request id, for a wire that has no other way to say it */
};

struct link_out {
	enum link_kind kind;
	uint32_t id;	    /* LINK_REQUEST, LINK_CANCEL */
	const char *method; /* NULL for an answer */
	struct slice params;
	struct slice text; /* the whole message, one line */
};

struct link_events {
	/* origin: id of the request on whose stream it came, 0 if that is not known. */
	void (*notified)(void *ctx, uint32_t origin, const char *method, struct slice params);
	/* To be answered, now or later, by link_answer or link_refuse with the id as it was written. */
	void (*asked)(void *ctx, uint32_t origin, struct slice id, const char *method,
		      struct slice params);
};

struct link {
	struct loop *loop;
	/* 0; -EPIPE: there is no connection; -E2BIG: the server does not read. Must not feed from inside. */
	int (*send)(void *wire, const struct link_out *out);
	void *wire;
	const struct link_events *events;
	void *ctx;
	struct list open, refused;
	uint32_t last_id;
	struct loop_task task;
};

/* loop, send, wire, events and ctx are set by the owner before. */
void link_init(struct link *l);
/* Forgets what is open. */
void link_done(struct link *l);

/* rq->reply, notify and ctx are set by the owner before. */
void link_call(struct link *l, struct link_request *rq, const char *method, struct slice params);
/* Not wanted any more: the server is told. Harmless if not open. */
void link_cancel(struct link *l, struct link_request *rq);
/* The same without telling. */
void link_forget(struct link_request *rq);
/* Answers it with an error that came beside the messages; raw. Harmless if not open. */
void link_error(struct link *l, uint32_t id, struct slice error);
struct link_request *link_find(struct link *l, uint32_t id);
void link_notify(struct link *l, const char *method, struct slice params);
void link_answer(struct link *l, struct slice id, struct slice result);
void link_refuse(struct link *l, struct slice id, const struct err *e);

/* One message, or an array of them as 2025-03-26 has it. -EBADMSG: it is none. */
int link_feed(struct link *l, uint32_t origin, struct slice text);
