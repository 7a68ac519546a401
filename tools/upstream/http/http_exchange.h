/*
 * http_exchange.h - one HTTP/1.1 request and its answer on the loop: on a TCP connection of its own, or by acpd-fetch.
 * No redirects.
 *
 * Callbacks come from the loop: head once, data any number of times, end once. http_exchange_close is legal at any
 * time, from inside them too; nothing is called back after it.
 */
#pragma once

#include "base/buf.h"
#include "base/http/http_message.h"
#include "loop/loop.h"

#include <sys/socket.h>

/*
 * The user of a connection: the daemon's own, or the user who wrote the configuration that names the
 * server.
 *
 * A socket belongs to its maker: rules of the firewall by user (nft meta skuid), /proc/net/tcp and what a server asks
 * the kernel about its peer all use the file system uid of the thread at that moment, for as long as the socket lives.
 * So the uid is changed around socket(2) and around looking up a name, and nowhere else. What that user cannot reach is
 * then not reached for him. It is fsuid, not the real or effective uid: those of a thread decide who may signal the
 * whole process. No further process and no copy of bytes is needed.
 */
struct socket_user {
	bool switch_user; /* else as ourselves */
	uid_t uid;
	gid_t gid;
};

/* For the calling thread alone. False: it was refused, and no socket may be made. socket_user_leave follows in any
 * case. */
bool socket_user_enter(const struct socket_user *as);
void socket_user_leave(const struct socket_user *as);

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

struct fetcher;

/* How it gets there: the addresses are tried in turn, from sockets of that user; or by the fetcher, which alone
 * can do https. */
struct http_route {
	const struct socket_user *as;
	const struct sockaddr_storage *addresses;
	size_t n;
	struct fetcher *fetcher; /* NULL: the above */
	bool secure;		 /* https */
	bool named;		 /* as in struct fetch_request */
};

/* request: head and body, owned from now on. */
struct http_exchange *http_exchange_open(struct loop *loop, const struct http_route *route,
					 struct buf *request, const struct http_exchange_ops *ops,
					 void *ctx);
/* Always NULL. The memory is freed at the end of this turn of the loop. */
struct http_exchange *http_exchange_close(struct http_exchange *x);

/*
 * Finds the addresses of a host, beside the loop: it may take seconds. "localhost" and address literals
 * need no resolver. A resolver is asked as the given user (struct socket_user).
 */

struct resolve;

/* error: NULL, or why there are none. From the loop, once; the resolve is gone after. */
typedef void (*resolve_fn)(void *ctx, const struct sockaddr_storage *addresses, size_t n,
			   const char *error);

struct resolve *resolve_begin(struct loop *loop, const char *host, const char *port,
			      const struct socket_user *as, resolve_fn fn, void *ctx);
/* fn is not called any more; the thread, if there is one, ends by itself. Always NULL. */
struct resolve *resolve_cancel(struct resolve *r);
/* Loopback addresses only. */
bool addresses_are_local(const struct sockaddr_storage *addresses, size_t n);
