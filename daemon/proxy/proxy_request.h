/*
 * proxy_request.h - the head of a request to a proxy (RFC 9112, 3.2.2 and 3.2.3): CONNECT HOST:PORT, or a method with
 * http://HOST[:PORT]/..., and the head that goes on to the server. Pure.
 *
 * Strict where two readers could disagree: base/http/http_fields.h, and one Host, which is the host of the target; both
 * lengths at once, and chunks of HTTP/1.0, are refused. The server gets the target without its origin, a Host that is
 * made from the target, and no field that belongs to the connection to us. HTTP/1.0 is taken as well: Python's http.client
 * connects so.
 */
#pragma once

#include "base/buf.h"
#include "base/http/http_fields.h"
#include "egress/wire/egress_host.h"
#include "egress/wire/egress_reason.h"

struct proxy_request {
	bool tunnel;	      /* CONNECT */
	bool upgrade;	      /* it asks for another protocol, and has no body */
	bool old;	      /* HTTP/1.0 */
	struct slice written; /* the host as it came */
	struct egress_host host;
	int port;
	struct slice method, path, fields;
	struct http_extent body;
};

/* The length of the head at the front of in; 0: more has to come. -1: it is refused, and *why says it; host is there if
 * it could be read. Slices borrow from in. */
ssize_t proxy_request_parse(struct slice in, struct proxy_request *ret, enum egress_reason *why);
/* The head for the server. Of one that is no tunnel. */
void proxy_request_put(const struct proxy_request *r, struct buf *to);
/* Fields that are for the next hop only, by their name or because Connection lists them. */
bool proxy_field_is_ours(struct slice fields, struct slice name);
