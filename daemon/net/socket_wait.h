/*
 * socket_wait.h - waits for the sockets that lws serves, so that lws never waits itself: it would by poll(2), which looks
 * at every connection each time, and so each message would cost the more the more connections are at rest.
 *
 * All sockets are in an epoll set of ours, and that is in the loop's. What a socket has is served in one of two ways.
 *
 * In a pass lws looks at all its sockets and timers once, without waiting (lws_service with a negative time). The set
 * reports these sockets by their edges. An edge asks for passes, and so does whoever calls lws to do something later
 * (socket_wait_asked): passes go on until PASSES of them one after the other have called nobody. Of the rest of a message
 * lws sends a part in each pass, and calls nobody; as long as the socket takes more, there are more passes. Then there is
 * nothing that lws could do, and whatever comes next is an edge. What has a time in lws (a handshake, a close) gets a pass
 * each PASS_EACH_MS.
 *
 * A WebSocket at rest (socket_watch_rest) is served alone (lws_service_fd) as long as it has input, and no other is
 * looked at: nothing of it is on its way out, and it has no time in lws. What lws wants to send by itself after that, such
 * as a pong, is sent at once. If that leaves anything behind, it is at rest no more.
 */
#pragma once

#include "base/list.h"
#include "loop/loop.h"

#include <libwebsockets.h>

#define SOCKET_BATCH 32

struct net_server;

/* One socket; embedded in its owner. */
struct socket_watch {
	struct net_server *net; /* NULL: it is not watched */
	struct list busy;	/* alone: it rests */
	struct lws *wsi;
	bool leaves; /* it is being closed, and rests no more */
};

struct socket_wait {
	struct loop_io io; /* the epoll set */
	struct loop_timer again;
	struct socket_watch *batch[SOCKET_BATCH]; /* those that are served; NULL: it has gone */
	struct list busy;			  /* sockets that are not at rest */
	unsigned passes;			  /* still to do */
	bool ready;				  /* the set has something */
	bool called,
		changed; /* by lws since it was called; changed: for more than a message, or an end */
};

/* 0 or -errno. */
int socket_wait_open(struct net_server *n);
void socket_wait_close(struct net_server *n);
/* One turn of the loop, which waits if there is nothing to do. -1: lws does not go on. */
int socket_wait_turn(struct net_server *n);
/* lws may have something to do now. */
void socket_wait_asked(struct net_server *n);
/* Whether lws holds received bytes of any connection that it can go on with. */
bool socket_wait_has_stored(struct lws_context *context);
/* lws has called with this, and got that for an answer. */
void socket_wait_called(struct net_server *n, enum lws_callback_reasons reason, int answer);

/* What is asked of lws for later, is asked by these. */
void socket_set_timeout(struct lws *wsi, enum pending_timeout reason, int secs);
void socket_ask_writeable(struct lws *wsi);
void socket_read(struct lws *wsi, bool on);

/* 0 or -errno. */
int socket_watch_begin(struct net_server *n, struct lws *wsi, struct socket_watch *w);
/* Before its socket is closed, or right after. All zeros is allowed. */
void socket_watch_end(struct socket_watch *w);
void socket_watch_rest(struct socket_watch *w, bool rests);
