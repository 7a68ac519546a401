/*
 * agui_link.h - the ACP connection of a run: an acp_conn whose client is here.
 *
 * A run pumps it when its own reader takes more, so a front end that reads slowly is held up as any client of ACP is, and
 * given up by the same rules. Without a run it is parked: it has calls to the front end open, for --mcp-hold; then they
 * end as TOOL_CALL_LOST. Its end is seen by whoever pumps it, and freed from a deferred task.
 */
#pragma once

#include "agui/agui.h"
#include "agui/agui_talk.h"
#include "agui/agui_threads.h"

/* What all runs share. */
struct agui {
	struct loop *loop;
	struct session_store *store;
	struct acp_server *acp;
	char *profiles;
	struct agui_threads *threads;
	struct list links; /* struct agui_link */
	unsigned runs;
};

/* --- agui_tools.c: the tools of a front end, as an MCP server that the client of the session serves -----------------------
 *
 * The harness lists and calls them as those of any server of type "acp". A call is told to the front end, and waits for
 * its result, which a later run brings. The tools are those of the newest run. */

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

/* --- agui_link.c ------------------------------------------------------------------------------------------------- */

struct agui_link {
	struct list link;
	struct agui *owner;
	struct acp_conn *conn; /* NULL: it is closed */
	struct grant_hold hold;
	struct agui_thread *thread;
	struct agui_run *run;
	char name[32];
	char closed[64]; /* why; empty: it is open */
	uint64_t last_id;
	struct list calls; /* struct agui_front_call: open ones */
	unsigned ncalls;
	struct list
		announced; /* the same, by harness_id and tool: the harness has told of them, and they have not come */
	unsigned nannounced;
	struct agui_calls told; /* open calls of the harness, between two runs */
	struct buf tools;	/* raw array */
	struct loop_timer hold_over;
	struct loop_task end;
};

/* Says initialize. */
struct agui_link *agui_link_open(struct agui *a, struct agui_thread *t, const struct grant *g);
void agui_link_free(struct agui_link *l);
/* A request of ours; its id. params: raw. */
uint64_t agui_link_ask(struct agui_link *l, const char *method, struct slice params);
/* The answer to a request to us: raw {result…} members of the response. */
void agui_link_answer(struct agui_link *l, uint64_t id, struct slice result);
void agui_link_refuse(struct agui_link *l, uint64_t id);
/* Cancels the turn, and goes with the calls that are open. */
void agui_link_stop_turn(struct agui_link *l);
/* The run is over: it stays if calls are open, else it goes. */
void agui_link_leave(struct agui_link *l);
/* Another run takes it. */
void agui_link_adopt(struct agui_link *l, struct agui_run *run);
void agui_link_set_tools(struct agui_link *l, struct slice tools);
/* False: too many are open. Takes c. */
bool agui_link_add_call(struct agui_link *l, struct agui_front_call *c);
struct agui_front_call *agui_link_call(struct agui_link *l, const char *id);
/* It has its answer (raw {result}), and is freed. */
void agui_link_call_over(struct agui_link *l, struct agui_front_call *c, struct slice result,
			 bool lost);
/* The harness tells of a call to a tool of the front end. */
void agui_link_announce(struct agui_link *l, const char *harness_id, const char *tool);
/* The same for one that names no server, if a call that fits has come: its tool, borrowed; else NULL. */
const char *agui_link_match(struct agui_link *l, const char *harness_id,
			    const struct agui_said *said);
