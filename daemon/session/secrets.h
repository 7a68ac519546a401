/*
 * secrets.h - the values a session was given that must not be written down: the provider's key and headers, and environment values
 * whose name says KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL. They are blacked out by value in everything that is logged, journaled
 * or sent, also where a harness echoes them. What is split over two events, or encoded otherwise than as JSON text, is not found.
 */
#pragma once

#include "base/buf.h"

struct secrets {
	char **values; /* as JSON text without quotes */
	size_t n;
};

/* provider, env: raw JSON objects or NULL. */
void secrets_load(struct secrets *x, const char *provider, const char *env);
void secrets_done(struct secrets *x);
/* Replaces each occurrence by "***". True if there was one. */
bool secrets_redact(const struct secrets *x, struct buf *b);
