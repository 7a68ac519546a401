/*
 * http_post.h - the messages of upstream_http.c in transit: one HTTP request each, and its answer.
 *
 * A post belongs to its mcp_remote and lives until its answer is complete, it is closed, or its server is stopped; it
 * is freed at the end of the loop's turn. It reports by the functions of upstream_http.c below.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/http/sse_lines.h"
#include "base/limits.h"
#include "base/list.h"
#include "tools/upstream/http/http_exchange.h"
#include "tools/upstream/http/upstream_http.h"
#include "tools/upstream/upstream.h"

/* The address of an HTTP server, and requests to it as text. Pure. */

struct http_target {
	char *host, *port;
	char *authority; /* as it stands in Host */
	bool secure;	 /* https */
	char *path;	 /* with the query */
	char *headers;	 /* of the configuration, each with CRLF; a secret */
};

/* -EINVAL with field "url" or "headers". */
int http_target_parse(struct http_target *t, const char *url, char *const *headers, struct err *e);
void http_target_done(struct http_target *t);

/* A request up to its own headers: "POST", then add lines by http_target_put_header, then http_target_put_body. */
void http_target_put_head(struct buf *b, const struct http_target *t, const char *method);
void http_target_put_header(struct buf *b, const char *name, const char *value);
/* Adds a header; MCP 2026-07-28 encodes a value that is no plain header text. */
void http_target_put_encoded(struct buf *b, const char *name, const char *value);
/* json empty: no body. */
void http_target_put_body(struct buf *b, struct slice json);

/*
 * Arguments of tool calls that go into HTTP headers as well ("x-mcp-header" in a tool's inputSchema,
 * MCP 2026-07-28), so that proxies may route by them. A server refuses calls that lack them. Pure.
 *
 * Learned from every tools/list result that passes. A declaration that breaks the rules (an invalid header name, a type
 * other than string, integer or boolean) is ignored. Bounded: declarations beyond MCP_MIRRORED_MAX are ignored.
 */
struct param_headers {
	struct list fields;
	unsigned n;
};

void param_headers_init(struct param_headers *m);
void param_headers_done(struct param_headers *m);
/* result: of tools/list. */
void param_headers_learn(struct param_headers *m, struct slice result);
/* The headers of a call with these params. */
void param_headers_put(struct buf *b, const struct param_headers *m, struct slice params);

/*
 * The event stream of an HTTP answer (text/event-stream), one whole event at a time. Pure.
 *
 * base/http/sse_lines.h takes it apart; here the data of an event is put together. The id of the last event and the wait
 * that the server asked for are kept, for the next connection. Bounded: a value or the data of an event above max bytes
 * ends the parsing.
 */
struct sse {
	size_t max;
	struct sse_lines lines;
	struct buf value, data;
	struct buf id; /* of the last event; empty: none. Goes into a header: no control bytes. */
	uint64_t retry_ms; /* 0: not said */
};

/* event: data of one event; the rest is parsed only while it returns true. -EMSGSIZE: too large. */
int sse_feed(struct sse *s, struct slice bytes, bool (*event)(void *ctx, struct slice data),
	     void *ctx);
void sse_reader_done(struct sse *s);

enum http_post_kind { POST_MESSAGE, POST_STREAM /* the GET stream */ };
enum http_post_mode { MODE_IGNORED, MODE_JSON, MODE_EVENTS };

struct http_post {
	struct list link;
	struct mcp_remote *h;
	enum http_post_kind kind;
	uint32_t id;	    /* of the request it is, or 0 */
	char *method;	    /* NULL: an answer, or the stream */
	char *subject;	    /* Mcp-Name, or NULL */
	struct buf message; /* until it is accepted */
	bool waits;	    /* not sent yet */
	bool is_call;	    /* tools/call to a modern server: some arguments go into headers */
	bool resumed;	    /* GET for the rest of its answer */
	bool sent_again, dead;
	unsigned tries;
	struct http_exchange *x;
	int status;
	enum http_post_mode mode;
	struct buf body;
	struct sse sse;
	bool got_event;
	struct loop_timer timer;
	struct loop_task task;
};

struct mcp_remote {
	struct upstream up;
	struct http_target target;
	char *name;
	bool local_only;
	struct fetcher *fetcher; /* makes its requests; NULL: we do */
	struct loop_task begin_task;
	struct socket_user as;
	struct sockaddr_storage addresses[MCP_ADDRESSES_MAX];
	size_t naddresses;
	struct resolve *resolve;
	struct list posts;
	unsigned nposts;
	struct http_post
		*barrier; /* nothing else is sent before its answer: notifications/initialized */
	struct http_post *stream;
	bool no_stream; /* the server has none */
	char *session;
	bool renewing; /* a new session is being begun */
	struct upstream_rpc_request again;
	struct loop_timer renew_timer;
	struct param_headers param_headers;
	struct upstream_rpc_request listing; /* of tools whose calls lacked headers */
	unsigned pages;
	struct http_exchange *goodbye;
	struct loop_timer down_timer;
	bool stopped; /* the end of the connection has to be reported */
	struct err why;
};

/* out NULL: the GET stream. Not sent yet. */
struct http_post *http_post_new(struct mcp_remote *h, const struct upstream_rpc_out *out);
bool http_post_is_method(const struct http_post *p, const char *method);
void http_post_send(struct http_post *p);
void http_post_close(struct http_post *p);
/* Sends the request that ends the session (DELETE). */
struct http_exchange *http_post_goodbye(struct mcp_remote *h);

/* --- upstream_http.c ----------------------------------------------------------------- */

void upstream_http_post_over(struct http_post *p);
void upstream_http_unreachable(struct mcp_remote *h, const char *why);
/* The server refused p for lack of headers that its list of tools requires: p is sent again once the list is read. */
void upstream_http_headers_lacked(struct mcp_remote *h, struct http_post *p);
void upstream_http_said_goodbye(struct mcp_remote *h);
/* The server does not know the session: p is sent again in the next one. */
void upstream_http_session_lost(struct mcp_remote *h, struct http_post *p);
