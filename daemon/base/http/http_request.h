/*
 * http_request.h - the head of an HTTP/1.1 request that a program in the sandbox makes: request line, fields, and what
 * they say of the body (RFC 9112, 3). Pure.
 *
 * A request that names both Content-Length and Transfer-Encoding is refused: it is how one request is made to look like
 * two. So is HTTP/1.0, which no program of today needs.
 */
#pragma once

#include "base/http/http_fields.h"

struct http_request_head {
	struct slice method; /* a token */
	struct slice target; /* as it came: no blank, no control byte, not empty */
	struct slice fields; /* the lines, each with CRLF */
	struct http_extent body;
	bool stays; /* the connection may carry another request: no Connection: close */
};

/* Returns the length of the head at the front of in, its empty line included; 0: more has to come. -EMSGSIZE: it is
 * longer than max; -EPROTO: it is no head. Slices borrow from in. */
ssize_t http_request_parse(struct slice in, size_t max, struct http_request_head *ret);
