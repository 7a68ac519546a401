/*
 * model_internal.h - a connection of a harness to its listener, for the files of model/ alone.
 *
 * A connection carries one call at a time, and a second one only after the first has its answer. model_conn.c reads
 * requests, model_answer.c writes answers. It is freed from the loop (model_conn_drop), never in a callback of its own.
 */
#pragma once

#include "base/buf.h"
#include "base/http/http_message.h"
#include "base/list.h"
#include "digest/digest.h"
#include "loop/acceptor.h"
#include "model/model_listener.h"

struct model_listener {
	struct model_listeners *all;
	enum model_api api;
	struct acceptor acceptor;
	const struct model_listener_ops *ops;
	void *ctx;
	struct list conns;
	unsigned nconns, ncalls;
	struct model_place place;
	struct sha256 digest; /* of the key: what requests are held against */
	char *paths;	      /* raw array: what passes besides the API's own, or NULL */
	bool inside;	      /* a network namespace that is the session's own */
	uid_t uid;	      /* of callers */
};

/* CALL_OPEN: handed over, without a head so far. CALL_ANSWERED: its head has been written. CALL_LAST: what is left is
 * written, then the connection ends. CALL_DEAD: it is freed at the end of this turn of the loop. */
enum model_call_state { CALL_HEAD, CALL_BODY, CALL_OPEN, CALL_ANSWERED, CALL_LAST, CALL_DEAD };

struct model_call {
	struct list link;
	struct model_listener *listener;
	enum model_call_state state;
	struct loop_io io;
	struct loop_timer timer;
	struct loop_task task; /* hands the call over, or frees it */
	struct buf in, out;
	struct buf body, headers;
	struct message_body body_end;
	char *method, *path, *model;
	size_t counted;	 /* of body, in listeners.body_bytes */
	size_t answered; /* bytes of the answer that are in out */
	size_t taken;	 /* bytes that the taker is to hear of */
	bool stranger;	 /* another user than the harness: no key helps */
	bool whole;	 /* it is to be handed over */
	bool stays;	 /* another request may follow */
	struct model_request request;
	const struct model_call_ops *ops;
	void *ctx;
};

/* model_conn.c */
void model_conn_accept(struct model_listener *g, int fd, bool stranger);
/* The request has been answered, and what was kept of it is freed: the next one may come. */
void model_conn_next(struct model_call *c);
/* The same, but the connection is to end once what is left has been written. */
void model_conn_last(struct model_call *c);
/* Its head is written: the request is needed no more. */
void model_conn_answered(struct model_call *c);
/* Closes it at the end of this turn of the loop; who took its call hears of it. */
void model_conn_drop(struct model_call *c);
/* It is dropped after so long, unless something else sets its time before. */
void model_conn_limit(struct model_call *c, uint64_t ms);
/* Closes it now. Not in a callback of its own. */
void model_conn_free(struct model_call *c);
/* Calls back at the end of this turn of the loop. */
void model_conn_defer(struct model_call *c);
/* Sets what the connection waits for in its state. */
void model_conn_watch(struct model_call *c);

/* model_answer.c */
void model_answer_write(struct model_call *c, struct slice bytes);
/* Writes what is left; the rest of its state follows when nothing is. */
void model_answer_flush(struct model_call *c);
/* The whole answer to a request that does not pass; the connection ends after. */
void model_answer_refuse(struct model_call *c, enum model_refusal why);
