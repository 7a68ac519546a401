/*
 * tool_renaming.h - what a harness gets of one server: tools under unique names (struct tool_names) with schemas that it and its
 * provider take (input_schema.c), and which of them it has listed. A tool that no model can be given is left out alone.
 *
 * A backend in front of the session's gate, on the harness's side only: policies, clients of /mcp and the server
 * itself have the server's own names. Tools in which nothing is changed, and all else, pass byte for byte.
 */
#pragma once

#include "base/slice.h"
#include "tools/mcp/backend.h"

/*
 * One name for each tool of a session that no harness confuses with another.
 *
 * Model providers allow few characters in the name of a tool, so harnesses replace all others by "_", and some join the
 * server's name and the tool's by "_" too. OpenCode then silently offers one tool where there were several (a.b, a/b
 * and a:b; server x with y_z beside server x_y with z). So a tool whose name would become that of an earlier one gets
 * another: its own, with "_" and eight digits of a hash. The first tool keeps its name, for as long as the session's
 * servers are set up. A name that would be too long for providers beside that of its server is cut, with such digits.
 */

struct tool_names;

struct tool_name {
	uint64_t id, key; /* of server and tool; of what harnesses make of both */
	char *tool;	  /* as its server names it */
	char *alias;	  /* as the harness gets it: tool itself where that is unique */
	uint64_t seen;	  /* for the caller: the listing that had it last; 0: none */
	uint64_t page;	  /* for the caller: the page of its lists that had it last; 0: none */
};

struct tool_names *tool_names_new(void);
struct tool_names *tool_names_free(struct tool_names *n);
/* The entry of this tool, made if need be. NULL: there is no room for more (TOOL_NAMES_MAX). */
struct tool_name *tool_names_take(struct tool_names *n, const char *server, const char *tool);
/* The tool that was given under this name; NULL: none was. */
const struct tool_name *tool_names_find(const struct tool_names *n, const char *server,
					const char *alias);
/* The tool of this server that the words are about, in which an agent says what it calls: mcp__SERVER__TOOL,
 * SERVER/TOOL, TOOL (SERVER MCP Server) and the like, odd characters replaced or not. NULL: none is. */
const struct tool_name *tool_names_said(const struct tool_names *n, const char *server,
					const char *said);

struct tool_renaming_ops {
	/* The harness has listed tools. tools: raw array of the server's names since its first page; renamed: raw
	 * array of {tool, as}, omitted: raw array of {tool, reason, message}, each may be empty. */
	void (*listed)(void *ctx, struct slice tools, struct slice renamed, struct slice omitted);
};

/* inner and names are borrowed. */
struct mcp_backend *tool_renaming_new(struct mcp_backend *inner, const char *server,
				      struct tool_names *names, const struct tool_renaming_ops *ops,
				      void *ctx);
