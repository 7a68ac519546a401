/*
 * visitor.h - the TCP connections, and which of them are closed when there are too many; for the files of net/ that
 * know libwebsockets.
 *
 * A stranger has shown no token yet. The last STRANGERS_MAX of them are kept; at the next the oldest is closed, so that
 * silent connections keep no newcomer out. A visitor that has shown a token in a plain request is known, and may stay
 * for its next request; the KNOWN_MAX latest of those are kept, in a budget of their own. A visitor with a WebSocket, a
 * stream or an upload is busy, counts against --max-connections, and is never closed for others.
 *
 * A visitor is lws' opaque pointer of its connection, made before the adoption and freed with it (WSI_DESTROY). lws
 * closes a visitor a moment later, never inside the call.
 */
#pragma once

#include "net/ws.h"

enum visitor_place { VISITOR_STRANGER, VISITOR_KNOWN, VISITOR_BUSY, VISITOR_LEAVING };

struct visitor {
	struct socket_watch watch;
	struct list link; /* strangers by age, the known by their last request; the others */
	struct lws *wsi;
	enum visitor_place place;
	struct grant_hold hold; /* what the token of its last request may; none: it had none */
	bool local;		/* came through acp.sock, whose peers are known by their uid */
	bool cut;		/* the daemon ends it, not its client */
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
