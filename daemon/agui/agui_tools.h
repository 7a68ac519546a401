/*
 * agui_tools.h - the tools of a front end, as an MCP server that the client of the session serves.
 *
 * The harness lists and calls them as those of any server of type "acp". A call is told to the front end, and waits for
 * its result, which a later run brings. The tools are those of the newest run.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "json/jenc.h"

#define AGUI_SERVER "frontend"

/* A call that waits for its result. */
struct agui_front_call {
	struct list link;
	uint64_t rpc_id; /* of its request */
	char *id, *tool, *harness_id;
	struct slice args; /* raw, within text */
	uint64_t digest;   /* agui_args_digest of them */
	char *text;
};

/* An element of mcpServers. */
void agui_tools_declare(struct jw *w);
/* The answer to a request of MCP that is no call: raw {result} or {error}. tools: raw array, or empty. */
void agui_tools_answer(struct slice method, struct slice tools, struct buf *ret);
/* The result that the message of a front end is: raw {result}. content: text or parts; error: raw, or empty. */
void agui_tools_result(struct jval content, struct slice error, struct buf *ret);
/* The result of one that is lost. */
void agui_tools_lost(struct buf *ret);
/* NULL: it is no call. params: raw, of an mcp/message. */
struct agui_front_call *agui_front_call_new(uint64_t rpc_id, struct slice params);
void agui_front_call_free(struct agui_front_call *c);
