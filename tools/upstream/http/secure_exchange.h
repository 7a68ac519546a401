/*
 * secure_exchange.h - the same as http_exchange.h for https: the request goes through acpd-fetch, and its answer looks
 * like one of http_exchange.c. A part of http_exchange.c, which owns it.
 */
#pragma once

#include "tools/upstream/http/http_exchange.h"

struct secure_exchange;

/* request: head and body, as for http_exchange_open; wiped, its headers hold secrets. */
struct secure_exchange *secure_exchange_open(struct loop *loop, const struct http_route *route,
					     struct buf *request,
					     const struct http_exchange_ops *ops, void *ctx);
/* Nothing is called after it. Always NULL. */
struct secure_exchange *secure_exchange_close(struct secure_exchange *x);
