/*
 * tool_renaming.h - what a harness gets of one server: tools under unique names (tool_names.h) with schemas that it and its
 * provider take (input_schema.h), and which of them it has listed. A tool that no model can be given is left out alone.
 *
 * A backend in front of the session's gate, on the harness's side only: policies, clients of /mcp and the server
 * itself have the server's own names. Tools in which nothing is changed, and all else, pass byte for byte.
 */
#pragma once

#include "base/slice.h"
#include "tools/mcp/backend.h"
#include "tools/relay/harness/tool_names.h"

struct tool_renaming_ops {
	/* The harness has listed tools. tools: raw array of the server's names since its first page; renamed: raw
	 * array of {tool, as}, omitted: raw array of {tool, reason, message}, each may be empty. */
	void (*listed)(void *ctx, struct slice tools, struct slice renamed, struct slice omitted);
};

/* inner and names are borrowed. */
struct mcp_backend *tool_renaming_new(struct mcp_backend *inner, const char *server,
				      struct tool_names *names, const struct tool_renaming_ops *ops,
				      void *ctx);
