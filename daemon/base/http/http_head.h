/*
 * http_head.h - the head of an HTTP/1.1 answer (RFC 9112): status line, fields, and what they say of the body. Pure.
 *
 * Strict where leniency would let two readers disagree: CRLF only, no folded lines, no blank before a colon, no
 * control bytes, one Content-Length of digits, one Transfer-Encoding, which is "chunked".
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>
#include <sys/types.h>

struct http_head {
	int status;
	struct slice fields; /* the lines, each with CRLF; a part of the text */
	bool has_length, chunked;
	uint64_t length; /* Content-Length; 0 without one */
};

/* Returns the length of the head at the front of in, its empty line included; 0: more has to come. -EMSGSIZE: it is
 * longer than HTTP_HEADERS_MAX; -EPROTO: it is no head. */
ssize_t http_head_parse(struct slice in, struct http_head *ret);
/* The value, without blanks around it, of the first field of this name; false: there is none. */
bool http_head_field(const struct http_head *h, const char *name, struct slice *ret);
/* A status 1xx: the final answer follows (RFC 9110, 15.2). */
bool http_head_is_interim(const struct http_head *h);

/* The value of Content-Length: digits, up to INT64_MAX. */
bool http_length_parse(struct slice value, uint64_t *ret);
/* The value of Transfer-Encoding is "chunked", the only one that we support. */
bool http_coding_is_chunked(struct slice value);
