/*
 * agui.h - AG-UI: a front end runs an agent by POST /v1/agui/{harness}, and gets its events as they come.
 *
 * A run is a client of ACP inside the daemon: it opens or loads the thread's session over an acp_conn of its own, prompts,
 * and says what comes out of it in AG-UI's events. So a run may what the connection of its token may, and nothing of a
 * session is known twice. The connection ends with the run; it stays (parked) while a tool of the front end is to answer.
 *
 *	agui_input.h  a RunAgentInput, decoded
 *	agui_talk.h   updates -> events, or messages
 *	agui_link.h   the connection of a run, threads and their files, and the front end as an MCP server
 *	agui_run.h    a run, as the stream of its reply: its history, settings and questions
 */
#pragma once

#include "acp/acp_server.h"
#include "http/endpoints.h"

struct agui;

/* profiles: --profile, or NULL. */
struct agui *agui_new(struct loop *loop, struct session_store *store, struct acp_server *acp,
		      const char *state, const char *profiles);
/* No run is open: their streams have been freed. */
struct agui *agui_free(struct agui *a);
/* Each item is NAME=FILE, and the files can be read. OPTION_INVALID. */
int agui_profiles_check(const char *list, struct err *e);
/* POST /v1/agui/{harness}?profile=; for http_context.agui. */
void agui_ask(void *ctx, const struct http_request *rq, struct slice harness, struct slice profile,
	      struct http_reply *ret);
