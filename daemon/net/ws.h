/* ws.h - what the files of the WebSocket and HTTP server share: net_server.c, visitor.c, upgrade.c,
 * http_serve.c, body.c, ws.c. */
#pragma once

#include "net/net_server.h"

#include "base/bucket.h"
#include "base/buf.h"
#include "base/http/chunked.h"
#include "loop/acceptor.h"
#include "net/socket_wait.h"

#include <libwebsockets.h>
#include <sys/socket.h>

/* Limits what clients without a token are sent: all of them together, and each address. No address gets
 * more than half, so that a flood from one leaves others their answers. Addresses share one of OPEN_PEERS buckets by a
 * hash, so that the table needs no memory for new ones and none can reset its own. All zeros is a full budget. */

#define OPEN_PEERS 64 /* buckets of addresses */

struct open_budget {
	struct bucket all, peers[OPEN_PEERS];
};

/* Takes so many bytes for that address, or none. now: monotonic milliseconds. */
bool open_budget_take(struct open_budget *b, const struct sockaddr_storage *peer, uint64_t now,
		      uint64_t bytes);

struct net_server {
	struct loop *loop;
	struct acp_server *acp;
	struct admission *admission;
	struct http_context *http;
	struct lws_context *context;
	struct lws_vhost *vhost;
	lws_retry_bo_t keepalive; /* none: lws' clock goes on while we do not run */
	unsigned ping_ms,
		pong_ms; /* silence until a client is asked, and until it is dropped then */
	struct acceptor listener;
	struct socket_wait sockets;
	unsigned connections, max_connections;
	unsigned unauthenticated, authenticated; /* see struct visitor */
	unsigned lent;				 /* of connections, those of minted tokens */
	struct list unauthenticated_list, authenticated_list, other_list;
	struct bucket refusals, acceptances; /* lines of the log */
	struct open_budget open_answers;     /* to requests without a token */
	struct list dirty;    /* peers with output not yet offered to their sockets */
	unsigned char *batch; /* LWS_PRE + CONN_BATCH_BYTES: frames of one write */
};

/* The state of the body of an HTTP reply. WAIT: its stream will wake us when there is more; LAST: the rest is in the
 * buffer. */
enum http_body { BODY_NONE, BODY_MORE, BODY_WAIT, BODY_LAST };

/* One client; lives in the per-session memory of its wsi, zeroed by lws. */
struct peer {
	struct lws *wsi;
	struct net_server *net;
	struct acp_conn *conn; /* WebSocket only */
	uint64_t heard;	       /* clock_mono_ms; and when that was too long ago: */
	struct loop_timer silence;
	bool pinged, ping_due;
	uint64_t taken;	   /* bytes of ours, when it was asked last */
	struct buf in;	   /* a message that came in pieces */
	bool skip;	   /* the rest of a binary message */
	struct list dirty; /* in net->dirty */
	bool choked;	   /* lws holds a part of our last batch */
	bool asked;	   /* in that list (WebSocket), or a WRITEABLE callback is on its way */
	int close_code;	   /* 0: open */
	const char *close_reason;
	/* HTTP only */
	struct buf reply;	    /* body on its way */
	struct http_stream *stream; /* makes the body */
	bool busy;		    /* and counts as a connection */
	enum http_body body;
	bool woken;	      /* the stream has more since it was asked last */
	struct loop_io input; /* the client's input, or its end, where lws does not read */
	bool chunked;
	bool no_keepalive; /* the request had a body nobody reads, or the end of ours cannot be marked otherwise */
	bool unread; /* some of the request's body may still come: linger before the close */
	struct http_sink *sink; /* takes the request's body */
	struct chunked chunks;
	uint64_t left; /* of a body with Content-Length */
	bool chunks_in, body_over, paused, answer_due;
	struct loop_timer stall;
};

/* --- visitor.c: the TCP connections, and which of them are closed when there are too many; for the files of net/ that
 * know libwebsockets.
 *
 * An unauthenticated one has shown no token yet. The last STRANGERS_MAX of them are kept; at the next the oldest is closed, so that
 * silent connections keep no newcomer out. A visitor that has shown a token in a plain request is known, and may stay
 * for its next request; the KNOWN_MAX latest of those are kept, in a budget of their own. A visitor with a WebSocket, a
 * stream or an upload is busy, counts against --max-connections, and is never closed for others.
 *
 * A visitor is lws' opaque pointer of its connection, made before the adoption and freed with it (WSI_DESTROY). lws
 * closes a visitor a moment later, never inside the call. */

enum visitor_state {
	VISITOR_UNAUTHENTICATED,
	VISITOR_AUTHENTICATED,
	VISITOR_BUSY,
	VISITOR_LEAVING
};

struct visitor {
	struct socket_watch watch;
	struct list
		link; /* the unauthenticated by age, the authenticated by their last request; the others */
	struct lws *wsi;
	enum visitor_state state;
	struct grant_hold hold; /* what the token of its last request may; none: it had none */
	bool is_local;		/* came through acp.sock, whose peers are known by their uid */
	bool is_cut;		/* the daemon ends it, not its client */
	bool *gone;		/* set when it is destroyed while it arrives */
	bool asked;		/* had a request before */
	unsigned open_answers;	/* to requests without a token */
	uint64_t open_bytes;	/* of them */
	char id[33]; /* Acp-Connection-Id: a name for logs on both sides, not a credential; WebSocket only */
};

/* Owns the descriptor from now on; a local one needs no token. */
void visitor_adopt(struct net_server *n, int fd, bool local);
/* The same, for the TCP listener. */
void visitor_arrive(void *server, int fd);
/* It has shown a token, or needs none: what it may is kept until its next request. */
void visitor_known(struct net_server *n, struct lws *wsi, const struct grant *g);
/* A request without a token: it may nothing. */
void visitor_unknown(struct lws *wsi);
/* NULL: nothing. */
const struct grant *visitor_grant(struct lws *wsi);
/* No more connections for it: there are too many at all, or of its token. */
bool visitor_crowds(const struct net_server *n, struct lws *wsi);
/* Takes an answer of so many bytes in memory (a file that is streamed costs its reader's pace) from what connections
 * without a token may get, all of them, each address and each connection: an answer may be thousands of times as long as
 * its request. False: not now. *last is set if it is the last of the connection. */
bool visitor_afford(struct net_server *n, struct lws *wsi, uint64_t size, bool *last);
/* Begins or ends what counts as a connection. */
void visitor_busy(struct net_server *n, struct lws *wsi, bool busy);
void visitor_leave(struct net_server *n, struct lws *wsi);
struct visitor *visitor_of(struct lws *wsi);
/* Resets every connection that came over TCP: what is half sent or half read goes no further. local: and ends those
 * that did not. lws notices it a moment later. */
void visitors_reset(struct net_server *n, bool local);
/* A connection, or a request by HTTP, was let in. */
void visitor_accepted(struct net_server *n, struct lws *wsi, enum door d);
/* One line for a connection or request that was refused, limited so that they do not flood the log. */
void visitor_refused(struct net_server *n, struct lws *wsi, int status, const char *reason);

/* upgrade.c: 0: go on; -1: refused, the connection ends. */
int upgrade_check(struct net_server *n, struct lws *wsi);
/* upgrade.c: Host, Origin, claim and token, for WebSocket and HTTP alike; open: the route needs no token. */
int access_check(struct net_server *n, struct lws *wsi, bool open);
/* upgrade.c: adds Acp-Connection-Id to the 101. */
int upgrade_headers(struct lws *wsi, struct lws_process_html_args *args);
/* upgrade.c: value of a header; empty if absent or longer than the buffer. */
struct slice header_get(struct lws *wsi, enum lws_token_indexes token, char *buf, size_t size);
/* The same of one that libwebsockets has no token for, name in lower case with its colon; "?" if it is longer. */
struct slice header_get_custom(struct lws *wsi, const char *name_colon, char *buf, size_t size);
struct slice query_get(struct lws *wsi, const char *name_eq, char *buf, size_t size);
/* upgrade.c: the headers that a browser requires before a page of another origin may read our answers. Only origins of
 * --allow-origin get them, on every route and with every status, also for refusals and event streams. A page sends its
 * token in a header, so credentials such as cookies are never allowed. */

/* A preflight asks whether the page may send its request; the request itself follows, with its token. */
bool cors_is_preflight(struct lws *wsi, const char *method);
/* Adds the headers for the request's Origin, if it is listed. -1: they do not fit. */
int cors_put(struct lws *wsi, bool preflight, unsigned char **p, unsigned char *end);

/* http_serve.c */
int http_serve(struct net_server *n, struct peer *p, struct lws *wsi);
int http_writeable(struct peer *p);
void http_closed(struct peer *p);
/* Adds a header, name with its colon, at *p. -1: it does not fit. */
int http_put_header(struct lws *wsi, const char *name, struct slice value, unsigned char **p,
		    unsigned char *end);
int http_refuse(struct lws *wsi, int status, const char *reason, const char *message);
/* The same with one more header. */
int http_refuse_with(struct lws *wsi, int status, const char *reason, const char *message,
		     const char *header, const char *value);
/* Asks for http_writeable; a sink or a stream calls it. */
void http_ask_writeable(void *peer);
/* The same with all that e says. */
int http_refuse_err(struct lws *wsi, int status, const struct err *e, const char *extra_header,
		    const char *extra_value);
int http_send(struct peer *p, struct http_reply *r, bool head_only);
/* body.c: the framing of the body, from the headers. */
enum http_framing body_framing(struct lws *wsi, uint64_t *length);
/* Reads the body into the sink, and answers. */
int body_begin(struct peer *p, const struct http_request *rq, struct http_sink *sink);
/* For bytes that lws has read; for the end, after as many as Content-Length says. */
int body_receive(struct peer *p, const char *data, size_t n);
int body_complete(struct peer *p);
int body_answer(struct peer *p);
/* Drops the client's input while we answer, or, lingering, until its end or for BODY_LINGER_MS. */
void body_watch_input(struct peer *p);
int body_linger(struct peer *p);
void body_end(struct peer *p);
/* ws.c */
int ws_established(struct net_server *n, struct peer *p, struct lws *wsi);
int ws_receive(struct peer *p, char *data, size_t n);
/* A pong. */
void ws_heard(struct peer *p);
int ws_writeable(struct peer *p);
void ws_closed(struct peer *p);
void ws_flush_dirty(struct net_server *n);
