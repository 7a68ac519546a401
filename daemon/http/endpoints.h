/*
 * endpoints.h - the plain HTTP side, as a table of routes; knows no sockets. net/ checks Host, Origin and token before
 * it calls http_respond, and writes the reply: its body at once, or, if reply.stream is set, as the stream makes it. If
 * reply.sink is set there is no reply yet: the sink needs the request's body first. No other body is read.
 *
 * GET /health is open and has no state: it answers while the daemon is unclaimed, and reports only that the daemon
 * runs. So are GET /openapi.json, which says the same of every daemon of this build, and the files of the run viewer,
 * /ui. POST /v1/claim is open, too, where there is one: it checks a token of its own. Everything else needs the token.
 * Below /v1 a query is checked strictly (http/request_parts.h); the older routes ignore theirs.
 */
#pragma once

#include "access/tokens.h"
#include "archive/archive_store.h"
#include "base/buf.h"
#include "http/mcp/mcp_http.h"
#include "http/bodies.h"
#include "lifecycle/lifecycle.h"
#include "session/core/session.h"
#include "tools/hosted/hosted.h"

struct http_request;
struct http_reply;

struct http_context {
	struct loop *loop;
	struct session_store *store;
	struct proc_host *procs;
	struct archive_store *archives;
	struct fetcher *fetcher;
	struct outbox *outbox;
	struct mcp_http *mcp;
	struct lifecycle *life;
	struct tokens *tokens; /* may be NULL in tests */
	struct hosted *hosted;
	/* POST /v1/claim, which a higher layer answers (net/claim/claim.h); NULL: there is no such route */
	void (*claim)(void *ctx, const struct http_request *rq, struct http_reply *ret);
	void *claim_ctx;
	/* POST /v1/agui/{harness}, likewise (agui/agui.h); NULL only in tests */
	void (*agui)(void *ctx, const struct http_request *rq, struct slice harness,
		     struct slice profile, struct http_reply *ret);
	void *agui_ctx;
	const char *state, *workspaces; /* directories; workspaces may be NULL */
	const char *ui_dir;		/* where the run viewer is, or would be */
	uint64_t backlog_max;		/* --backlog-max */
	uint64_t restarts;		/* how often a program took this one's place */
	bool remote;			/* it listens for other machines, too */
	unsigned connections;
	uint64_t started_ms;		  /* monotonic */
	uint64_t resumed_at, resumed_gap; /* unix ms, 0: never; ms */
};

enum http_framing {
	FRAMING_NONE,	/* no framing at all */
	FRAMING_LENGTH, /* so many bytes, perhaps 0 */
	FRAMING_CHUNKED,
	FRAMING_INVALID, /* wrong framing, or framing that two readers may read differently */
};

struct http_request {
	const char *method, *path; /* decoded */
	const struct grant *grant; /* what its client may; NULL: nothing, it has shown no token */
	const struct slice *query; /* items of the query, see http/request_parts.h */
	size_t nquery;
	struct slice accept, last_event_id; /* headers; empty if absent */
	struct slice accept_encoding, if_none_match;
	struct slice content_type, content_range, range;
	struct slice mcp_version, mcp_method, mcp_name, mcp_session;
	struct slice traceparent, tracestate;
	struct slice access_token;
	enum http_framing body;
	uint64_t length; /* FRAMING_LENGTH */
};

#define HTTP_REPLY_HEADERS 4

struct http_header {
	const char *name, *value; /* name: as "Allow:"; NULL: end of the table */
};

struct http_reply {
	int status;
	const char *content_type; /* NULL: there is no body */
	struct {
		const char *name; /* as "Allow:" */
		char value[64];
	} headers[HTTP_REPLY_HEADERS];
	unsigned nheaders;
	const struct http_header *always; /* and these; or NULL */
	struct buf body;
	struct http_stream *stream; /* owned by the holder of the reply; NULL: body is all */
	bool sized;		    /* the stream gives exactly length bytes */
	uint64_t length;
	bool denied;		/* for want of a scope */
	struct http_sink *sink; /* owned likewise; if set, nothing else is */
};

/* True if the route needs no token. */
bool http_route_open(const struct http_context *ctx, const char *method, const char *path);
/* Fills ret for every request; the caller frees body, stream and sink. */
void http_respond(const struct http_context *ctx, const struct http_request *rq,
		  struct http_reply *ret);
/* The answer of a sink that has one; the caller frees as above. */
void http_sink_answer(struct http_sink *s, struct http_reply *ret);
/* {"error":{"reason","message"}} */
void http_reply_error(struct http_reply *ret, int status, const char *reason, const char *message);
/* The same with all that e says. */
void http_reply_err(struct http_reply *ret, int status, const struct err *e);
void http_reply_header(struct http_reply *ret, const char *name, const char *value);
