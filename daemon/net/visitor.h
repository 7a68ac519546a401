/*
 * visitor.h - who is connected over TCP, and who has to go when it gets crowded; for the files of net/ that know
 * libwebsockets.
 *
 * A stranger has shown no token yet: the last STRANGERS_MAX of them are kept, and the next one takes the place of the
 * oldest, so that no number of silent connections keeps a newcomer out who has something to say. Who has shown a
 * token in a plain request is known, and may stay for the next one; of those the KNOWN_MAX latest are kept, in a
 * budget of their own. Who has a WebSocket, a stream or an upload is busy, counts against --max-connections, and is
 * never sent away for others.
 *
 * A visitor is lws' opaque pointer of its connection, made before the adoption and freed with it (WSI_DESTROY). Who
 * is sent away is closed by lws a moment later, never inside the call.
 */
#pragma once

#include "net/ws.h"

enum visitor_place { VISITOR_STRANGER, VISITOR_KNOWN, VISITOR_BUSY, VISITOR_LEAVING };

struct visitor {
	struct list link; /* strangers by age, the known by their last request */
	struct lws *wsi;
	enum visitor_place place;
	bool local; /* came through acp.sock, whose peers are known by their uid */
	bool *gone; /* set when it is destroyed while it arrives */
	bool asked; /* had a request before */
	char id[33]; /* Acp-Connection-Id: a name for logs on both sides, not a credential; WebSocket only */
};

/* Takes the descriptor over; a local one is not asked for a token. */
void visitor_adopt(struct net_server *n, int fd, bool local);
/* The same, for the TCP listener. */
void visitor_arrive(void *server, int fd);
/* Showed the token. */
void visitor_known(struct net_server *n, struct lws *wsi);
/* Begins or ends what counts as a connection. */
void visitor_busy(struct net_server *n, struct lws *wsi, bool busy);
void visitor_leave(struct net_server *n, struct lws *wsi);
struct visitor *visitor_of(struct lws *wsi);
/* One line for a connection or request that was refused, as far as the log is not flooded with them. */
void visitor_refused(struct net_server *n, struct lws *wsi, int status, const char *reason);
