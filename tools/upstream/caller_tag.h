/*
 * caller_tag.h - a server that several sessions share, as one of them sees it: adds to every call for whom it is made
 * (upstream_server.h), so that questions and log messages of a legacy server do not reach another session. It replaces
 * what the caller itself wrote there.
 */
#pragma once

#include "tools/mcp/backend.h"

/* inner must outlive it; freeing it frees only itself. Calls belong to inner. */
struct mcp_backend *caller_tag_new(struct mcp_backend *inner, const char *session);
