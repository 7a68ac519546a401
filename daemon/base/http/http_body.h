/*
 * http_body.h - finds where the body of an HTTP/1.1 message ends (RFC 9112, 6.3), by its head, and what of the body has
 * come. Pure.
 */
#pragma once

#include "base/http/chunked.h"
#include "base/http/http_head.h"

enum http_body_end { HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

struct message_body {
	enum http_body_end end;
	uint64_t left; /* HTTP_BODY_LENGTH */
	struct chunked chunked;
};

/* to_head: the request was HEAD, so no body comes, even if the head announces one. */
void http_body_begin(struct message_body *b, const struct http_head *h, bool to_head);
/* The body of a request: none without Content-Length and Transfer-Encoding. */
void http_body_begin_request(struct message_body *b, const struct http_extent *f);
/* Returns what chunked_next does. 1: data is the next part of the body. 0: in is used up, or the body has ended and the
 * rest of in is not part of it. -EINVAL: the body is broken. */
int http_body_next(struct message_body *b, struct slice *in, struct slice *data);
/* All that is of the body at the front of in, as it stands there: for whoever passes it on. 0 or -EINVAL. */
int http_body_part(struct message_body *b, struct slice in, struct slice *ret);
bool http_body_has_ended(const struct message_body *b);
/* The connection was closed. True if the body is whole. */
bool http_body_is_whole(const struct message_body *b);
