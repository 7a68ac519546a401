/*
 * fetched_exchange.h - the same as http_exchange.h through acpd-fetch: its answer looks like one of http_exchange.c. A part of http_exchange.c, which owns it.
 */
#pragma once

#include "tools/upstream/http/http_exchange.h"

struct fetched_exchange;

/* request: head and body, as for http_exchange_open; wiped, its headers hold secrets. */
struct fetched_exchange *fetched_exchange_open(struct loop *loop, const struct http_route *route,
					       struct buf *request,
					       const struct http_exchange_ops *ops, void *ctx);
/* Nothing is called after it. Always NULL. */
struct fetched_exchange *fetched_exchange_close(struct fetched_exchange *x);
