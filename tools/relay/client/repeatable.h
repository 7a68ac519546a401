/*
 * repeatable.h - which requests to an MCP server may safely be carried out twice.
 *
 * When a connection breaks while it has a request, it is unknown whether the request was carried out. So it is sent
 * once more only if that makes no difference. That holds for the methods of MCP that only read, and for the tools that
 * the server, in its last tools/list, declared read-only or idempotent and not destructive. An undeclared tool counts
 * as unsafe, as MCP requires. Only the server's answers decide, never the harness's messages. At most
 * TOOLGATE_TOOLS_MAX names are kept.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct repeatable_tools {
	char **tools; /* names of those that may be repeated */
	size_t n;
};

/* A result of tools/list; first: of the first page, which replaces what was known. */
void repeatable_note(struct repeatable_tools *r, struct slice result, bool first);
bool repeatable_allowed(const struct repeatable_tools *r, const char *method, struct slice params);
void repeatable_done(struct repeatable_tools *r);
