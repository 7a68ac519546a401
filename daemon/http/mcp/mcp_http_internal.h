/*
 * mcp_http_internal.h - sessions and exchanges of the MCP endpoints, for http/mcp/ alone.
 *
 * An exchange is one POST: its body, the call that it makes, and its answer, JSON or a stream. It is freed when the
 * driver has released both its sink and its stream. The unanswered exchange of a legacy client stays with its session
 * as an orphan until its answer comes, so that its id is not used twice and calls are counted. An exchange that has its
 * answer is "settled"; only unsettled ones are in a list.
 *
 * Nothing is freed inside a callback of a front, except orphans, which the front does not know.
 */
#pragma once

#include "http/mcp/mcp_check.h"
#include "http/mcp/mcp_events.h"
#include "session/core/turn/trace_context.h"
#include "tools/mcp/mcp_front.h"

struct mcp_http {
	struct loop *loop;
	struct mcp_endpoint endpoint;
	struct list sessions; /* the one used last is the last */
	unsigned nsessions;
	struct list exchanges; /* of modern clients, and those whose body still comes */
};

#define MCP_SESSION_ID_BYTES 16

struct mcp_session {
	struct list link;
	struct mcp_http *m;
	const struct mcp_backend *backend;
	struct grant_hold hold; /* of whose token it is */
	struct mcp_front *front;
	struct mcp_exchange *fed; /* while its message is given to the front */
	char id[2 * MCP_SESSION_ID_BYTES + 1];
	struct list exchanges, listeners; /* listeners: the newest is the last */
	unsigned nlisteners;
	struct loop_timer idle;
	struct loop_task end; /* initialize failed: the client does not know the session */
};

enum mcp_exchange_state {
	EXCHANGE_BODY,	 /* still coming */
	EXCHANGE_OPEN,	 /* the call is made; JSON or a stream is not decided */
	EXCHANGE_JSON,	 /* the answer is here, whole */
	EXCHANGE_STREAM, /* a stream, perhaps settled */
	EXCHANGE_ORPHAN, /* its client is gone */
};

struct mcp_exchange {
	struct http_sink sink;
	struct mcp_events events;
	struct list link; /* while unsettled: of its session or of m */
	struct mcp_http *m;
	struct mcp_session *session; /* legacy, while unsettled */
	struct mcp_backend *backend;
	const struct grant *grant; /* lives as long as the request */
	struct mcp_front *front;   /* modern: its own */
	enum mcp_exchange_state state;
	bool has_sink, has_stream, working;	    /* working: inside its sink's functions */
	char began[2 * MCP_SESSION_ID_BYTES + 1];   /* the session that the answer names, or "" */
	bool initialize, failed;		    /* failed: its answer is an error */
	char *version, *method, *name, *session_id; /* headers */
	struct trace_context trace;		    /* of its headers */
	struct buf in;
	char *id; /* raw, of the request; NULL: none */
	int status;
	struct buf body; /* of the answer, JSON */
	struct loop_timer decide;
	struct loop_task cancel;
};

/* mcp_exchange.c */
struct mcp_exchange *mcp_exchange_new(struct mcp_http *m, struct mcp_backend *b,
				      const struct http_request *rq);
/* Makes the call: of a session, or of a modern client. */
void mcp_exchange_open(struct mcp_exchange *x, struct mcp_session *s);
/* Answers without a body. */
void mcp_exchange_accept(struct mcp_exchange *x, int status);
/* A message from a front. */
void mcp_exchange_take(struct mcp_exchange *x, struct slice message, bool last);
void mcp_exchange_fail(struct mcp_exchange *x, int status, const struct err *e, struct slice extra);
/* Ends it without an answer. */
void mcp_exchange_drop(struct mcp_exchange *x);
/* Answers with this message, in whatever form the answer has by now; status: if it is JSON. */
void mcp_exchange_answer(struct mcp_exchange *x, int status, struct slice message);

/* mcp_sessions.c */
/* What a POST brought: fills the answer of x or makes its call. */
void mcp_post(struct mcp_exchange *x, const struct mcp_post *post);
/* The session of an Mcp-Session-Id, which must use this backend, and be of that token. NULL: e, and the status. */
struct mcp_session *mcp_session_find(struct mcp_http *m, const struct mcp_backend *b,
				     const struct grant *g, struct slice id, int *status,
				     struct err *e);
void mcp_session_touch(struct mcp_session *s);
/* One of its exchanges is over. */
void mcp_session_settled(struct mcp_session *s, struct mcp_exchange *x);
/* reason, text: for what is unanswered. */
void mcp_session_end(struct mcp_session *s, const char *reason, const char *text);
void mcp_session_listen(struct mcp_session *s, struct http_reply *ret);
