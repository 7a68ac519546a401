/*
 * http_exchange.h - one HTTP/1.1 request and its answer on a connection of its own, on the loop. Plain TCP, no TLS, no redirects.
 *
 * Callbacks come from the loop: head once, data any number of times, end once. exchange_close is legal at any time, from inside them
 * too; nothing is called back after it.
 */
#pragma once

#include "base/buf.h"
#include "loop/loop.h"
#include "tools/upstream/http/socket_user.h"

#include <stdbool.h>
#include <sys/socket.h>

struct exchange;

struct exchange_head {
	int status;
	struct slice lines; /* of the headers, each with CRLF */
};

/* Of the value, without blanks around it; false: no such header. */
bool exchange_header(const struct exchange_head *h, const char *name, struct slice *ret);

enum exchange_end {
	EXCHANGE_COMPLETE,
	EXCHANGE_UNREACHABLE, /* no connection: nothing was sent */
	EXCHANGE_CUT, /* the connection ended before the answer did, or what came is no HTTP */
};

struct exchange_ops {
	void (*head)(void *ctx, const struct exchange_head *h);
	void (*data)(void *ctx, struct slice bytes);
	/* why: for humans; NULL if complete. */
	void (*end)(void *ctx, enum exchange_end how, const char *why);
};

struct address {
	socklen_t n;
	struct sockaddr_storage at;
};

/* Tries the addresses in turn, from sockets of that user. request: head and body, taken over. */
struct exchange *remote_exchange_open(struct loop *loop, const struct dial_as *as,
				      const struct address *addresses, size_t n,
				      struct buf *request, const struct exchange_ops *ops,
				      void *ctx);
/* Always NULL. The memory goes at the end of this turn of the loop. */
struct exchange *exchange_close(struct exchange *x);
