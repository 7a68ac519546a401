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

#include "base/buf.h"
#include "base/err.h"
#include "http/endpoints.h"
#include "session/core/trace_context.h"
#include "tools/mcp/mcp_front.h"

/* --- mcp_check.c: the kind of a message posted to an MCP endpoint, and whether the headers that repeat parts of it agree.
 * Pure.
 *
 * The body decides. A request that names a protocol version in its _meta is modern (2026-07-28), with any headers, and
 * must then have everything that this revision requires: clientCapabilities, and the headers MCP-Protocol-Version,
 * Mcp-Method and, if the method names a thing, Mcp-Name, with the same values (Mcp-Name perhaps as =?base64?...?=).
 * "initialize" begins a legacy session; everything else belongs to one. A batch is refused: neither of the two legacy
 * revisions that we serve has them. */

struct mcp_headers {
	struct slice version, method, name; /* empty if absent; not checked yet */
};

enum mcp_post_kind {
	MCP_POST_REFUSED,
	MCP_POST_MODERN,	/* a request of its own */
	MCP_POST_MODERN_NOTICE, /* a notification: there is nothing it could be about */
	MCP_POST_INITIALIZE,
	MCP_POST_REQUEST, /* of a session, as the next */
	MCP_POST_OTHER,	  /* notifications and responses */
};

struct mcp_post {
	enum mcp_post_kind kind;
	struct slice id; /* raw, in the body; empty if there is none that an answer can name */
	/* REFUSED: the answer */
	int status;
	struct err e;
	struct buf extra; /* further members of data, raw */
};

/* The caller frees ret->extra. */
void mcp_post_check(struct slice body, const struct mcp_headers *h, struct mcp_post *ret);
/* True for the header MCP-Protocol-Version of a request in a session: absent, or a legacy revision that we serve. */
bool mcp_legacy_version_ok(struct slice version);
bool mcp_modern_version(struct slice version);

/* --- mcp_events.c: messages of MCP as a stream of events: a queue that the producer of messages fills, and the socket
 * empties.
 *
 * Embedded by its owner, who passes &s->base on in a reply (mcp_events_reply) and learns once, by gone, that the driver
 * needs it no more. With more than MCP_HTTP_BACKLOG_MAX unread bytes the queue is thrown away and the stream breaks
 * off, so that the client sees it. The last message is always taken. */

struct mcp_events {
	struct http_stream base;
	struct loop *loop;
	void (*gone)(struct mcp_events *s);
	struct buf out;
	struct loop_timer quiet; /* time for a comment */
	bool is_comment_due, ended, broken;
};

void mcp_events_init(struct mcp_events *s, struct loop *loop, void (*gone)(struct mcp_events *s));
void mcp_events_done(struct mcp_events *s);
/* False: the reader was too slow and has lost the stream. */
bool mcp_events_put(struct mcp_events *s, struct slice message, bool last);
/* No more messages follow those in the queue. */
void mcp_events_end(struct mcp_events *s);
void mcp_events_reply(struct mcp_events *s, struct http_reply *ret);

/* --- sessions and exchanges ---------------------------------------------------------------------------------- */

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
	bool is_initialize, failed;		    /* failed: its answer is an error */
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
