/*
 * http_client.h - plain HTTP/1.1 for the command line: one request on one connection, blocking, bodies in pieces.
 *
 * No TLS: an https:// URL is refused. An answer that comes while the request's body is still being sent ends the
 * sending. All waits end after HTTP_CLIENT_SECS without a byte in either direction.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct http_client;

/* url: http:// or ws://, its path is ignored. token may be empty. */
struct http_client *http_client_new(const char *url, struct slice token, struct err *e);
/* Through a daemon's acp.sock, where no token is asked for. */
struct http_client *http_client_new_socket(const char *path);
struct http_client *http_client_free(struct http_client *c);

struct http_ask {
	const char *method, *path;
	const char *headers; /* further lines, each with CRLF; may be NULL */
	int body_fd;	     /* the body: count bytes of this file from at on, if has_body */
	uint64_t at, count;
	bool has_body;
};

struct http_answer {
	int status;
	uint64_t length; /* Content-Length; 0 without one */
	uint64_t sent;	 /* bytes of the request's body that went out */
	bool has_offset;
	uint64_t offset; /* Upload-Offset */
};

/* Sends and reads the head of the answer. -ECONNREFUSED with UNREACHABLE: no daemon answers. -ECONNRESET with
 * CONNECTION_LOST: cut off on the way, may be tried again. -EPROTO: no sensible answer. Others: the body's file. */
int http_client_ask(struct http_client *c, const struct http_ask *rq, struct http_answer *ret,
		    struct err *e);
/* Up to n bytes of the answer's body; 0 at its end, -ECONNRESET if it was cut off. */
ssize_t http_client_read(struct http_client *c, void *out, size_t n);
