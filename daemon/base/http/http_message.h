/*
 * http_message.h - the head of an HTTP/1.1 message: its first line, its fields, and what they say of the body (RFC 9112); and
 * where the body ends (RFC 9112, 6.3), with what of it has come. Pure.
 *
 * A request that names both Content-Length and Transfer-Encoding is refused: it is how one request is made to look like
 * two. So is HTTP/1.0, which no program of today needs.
 */
#pragma once

#include "base/buf.h"
#include "base/http/chunked.h"
#include "base/http/http_fields.h"

/* --- answers -------------------------------------------------------------------------------------------------- */

struct http_head {
	int status;
	struct slice fields; /* the lines, each with CRLF; a part of the text */
	struct http_extent body;
};

/* Returns the length of the head at the front of in, its empty line included; 0: more has to come. -EMSGSIZE: it is
 * longer than HTTP_HEADERS_MAX; -EPROTO: it is no head. */
ssize_t http_head_parse(struct slice in, struct http_head *ret);

/* --- requests, which a program in the sandbox makes ------------------------------------------------------------ */

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

/* --- bodies --------------------------------------------------------------------------------------------------- */

enum http_body_end { HTTP_BODY_LENGTH, HTTP_BODY_CHUNKED, HTTP_BODY_CLOSE };

struct message_body {
	enum http_body_end end;
	uint64_t left; /* HTTP_BODY_LENGTH */
	struct chunked chunked;
};

/* to_head: the request was HEAD, so no body comes, even if the head announces one. */
void http_body_begin(struct message_body *b, const struct http_head *h, bool to_head);
/* Takes answers 1xx off the front of in, and begins the body of the final one, whose head stays there until its slices have been
 * used. Returns as http_head_parse; 101 counts as final. */
ssize_t http_answer_begin(struct buf *in, bool to_head, struct http_head *h,
			  struct message_body *b);
/* The body of a request: none without Content-Length and Transfer-Encoding. */
void http_body_begin_request(struct message_body *b, const struct http_extent *f);
/* Returns what chunked_next does. 1: data is the next part of the body. 0: in is used up, or the body has ended and the
 * rest of in is not part of it. -EINVAL: the body is broken. */
int http_body_next(struct message_body *b, struct slice *in, struct slice *data);
/* Takes the next part of the body off the front of in. It is there until something is added to in. Returns as above. */
int http_body_take(struct message_body *b, struct buf *in, struct slice *data);
/* All that is of the body at the front of in, as it stands there: for whoever passes it on. 0 or -EINVAL. */
int http_body_part(struct message_body *b, struct slice in, struct slice *ret);
bool http_body_has_ended(const struct message_body *b);
/* The connection was closed. True if the body is whole. */
bool http_body_is_whole(const struct message_body *b);
