/*
 * http_exchange.h - one HTTP/1.1 request and its answer on the loop: on a TCP connection of its own, or by acpd-fetch.
 * No redirects.
 *
 * Callbacks come from the loop: head once, data any number of times, end once. http_exchange_close is legal at any
 * time, from inside them too; nothing is called back after it.
 */
#pragma once

#include "base/buf.h"
#include "base/http/http_head.h"
#include "loop/loop.h"
#include "tools/upstream/http/socket_user.h"

#include <stdbool.h>
#include <sys/socket.h>

struct http_exchange;

enum http_exchange_end {
	HTTP_EXCHANGE_COMPLETE,
	HTTP_EXCHANGE_UNREACHABLE, /* no connection: nothing was sent */
	HTTP_EXCHANGE_CUT, /* the connection ended before the answer did, or the answer is not HTTP */
};

struct http_exchange_ops {
	void (*head)(void *ctx, const struct http_head *h);
	void (*data)(void *ctx, struct slice bytes);
	/* why: for humans; NULL if complete. */
	void (*end)(void *ctx, enum http_exchange_end how, const char *why);
};

struct address {
	socklen_t n;
	struct sockaddr_storage at;
};

struct fetcher;

/* How it gets there: the addresses are tried in turn, from sockets of that user; or by the fetcher, which alone
 * can do https. */
struct http_route {
	const struct socket_user *as;
	const struct address *addresses;
	size_t n;
	struct fetcher *fetcher; /* NULL: the above */
	const char *authority, *path;
	bool secure; /* https */
	bool named;  /* as in struct fetch_request */
};

/* request: head and body, owned from now on. */
struct http_exchange *http_exchange_open(struct loop *loop, const struct http_route *route,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx);
/* Always NULL. The memory is freed at the end of this turn of the loop. */
struct http_exchange *http_exchange_close(struct http_exchange *x);
