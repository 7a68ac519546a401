/*
 * resolve.h - finds the addresses of a host, beside the loop: it may take seconds. "localhost" and address literals
 * need no resolver. A resolver is asked as the given user (socket_user.h).
 */
#pragma once

#include "tools/upstream/http/http_exchange.h"

struct resolve;

/* error: NULL, or why there are none. From the loop, once; the resolve is gone after. */
typedef void (*resolve_fn)(void *ctx, const struct address *addresses, size_t n, const char *error);

struct resolve *resolve_begin(struct loop *loop, const char *host, const char *port,
			      const struct socket_user *as, resolve_fn fn, void *ctx);
/* fn is not called any more; the thread, if there is one, ends by itself. Always NULL. */
struct resolve *resolve_cancel(struct resolve *r);
/* Loopback addresses only. */
bool addresses_are_local(const struct address *addresses, size_t n);
