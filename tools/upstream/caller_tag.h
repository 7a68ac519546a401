/*
 * caller_tag.h - a server that several have in common, as one of them sees it: says with every call for whom it is
 * made (upstream_server.h), so that what a legacy server asks or logs does not reach another. Whatever the caller
 * itself said there is replaced.
 */
#pragma once

#include "tools/mcp/backend.h"

/* inner must outlive it; freeing it frees only itself. Calls belong to inner. */
struct mcp_backend *caller_tag_new(struct mcp_backend *inner, const char *session);
