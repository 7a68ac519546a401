/*
 * repeatable.h - which requests to an MCP server do no harm when they are carried out twice.
 *
 * A request may be on its way when the connection that has it breaks. Nobody knows then whether it was carried out,
 * so it is sent once more only if that makes no difference. Of the methods of MCP those that only read are so. Of
 * tools those are which the server itself, in its last tools/list, declared read-only or idempotent and not
 * destructive; what it does not declare is taken for the worst, as MCP has it. Only the answers of the server are
 * read here, nothing that a harness says. At most TOOLGATE_TOOLS_MAX names are kept.
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
