/*
 * secrets.h - the values a session was given that must not be written down: the provider's key and headers, headers of its MCP servers,
 * and environment values, its own and those of MCP servers, whose name says KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL. They are blacked
 * out by value in everything that is logged, journaled or sent, also where a harness echoes them. What is split over two events, or
 * encoded otherwise than as JSON text, is not found.
 */
#pragma once

#include "base/buf.h"

struct secrets {
	char **values; /* as JSON text without quotes */
	size_t n;
};

/* Raw JSON, each may be NULL: objects, and the array mcpServers of ACP. */
void secrets_load(struct secrets *x, const char *provider, const char *env, const char *servers);
void secrets_done(struct secrets *x);
/* Replaces each occurrence by "***". True if there was one. */
bool secrets_redact(const struct secrets *x, struct buf *b);
