/* http_target.h - the address of an HTTP server, and requests to it as text. Pure. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct http_target {
	char *host, *port;
	char *authority; /* as it stands in Host */
	bool secure;	 /* https */
	char *path;	 /* with the query */
	char *headers;	 /* of the configuration, each with CRLF; a secret */
};

/* -EINVAL with field "url" or "headers". */
int http_target_parse(struct http_target *t, const char *url, char *const *headers, struct err *e);
void http_target_done(struct http_target *t);

/* A request up to its own headers: "POST", then add lines by http_target_put_header, then http_target_put_body. */
void http_target_put_head(struct buf *b, const struct http_target *t, const char *method);
void http_target_put_header(struct buf *b, const char *name, const char *value);
/* Adds a header; MCP 2026-07-28 encodes a value that is no plain header text. */
void http_target_put_encoded(struct buf *b, const char *name, const char *value);
/* json empty: no body. */
void http_target_put_body(struct buf *b, struct slice json);
