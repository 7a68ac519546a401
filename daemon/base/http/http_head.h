/*
 * http_head.h - the head of an HTTP/1.1 answer (RFC 9112): status line, fields, and what they say of the body. Pure.
 */
#pragma once

#include "base/http/http_fields.h"

struct http_head {
	int status;
	struct slice fields; /* the lines, each with CRLF; a part of the text */
	struct http_extent body;
};

/* Returns the length of the head at the front of in, its empty line included; 0: more has to come. -EMSGSIZE: it is
 * longer than HTTP_HEADERS_MAX; -EPROTO: it is no head. */
ssize_t http_head_parse(struct slice in, struct http_head *ret);
/* The value, without blanks around it, of the first field of this name; false: there is none. */
bool http_head_field(const struct http_head *h, const char *name, struct slice *ret);
/* A status 1xx: the final answer follows (RFC 9110, 15.2). */
bool http_head_is_interim(const struct http_head *h);
