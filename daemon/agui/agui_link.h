/*
 * agui_link.h - the threads of AG-UI clients, and the ACP connection of a run: an acp_conn whose client is here.
 *
 * A run pumps it when its own reader takes more, so a front end that reads slowly is held up as any client of ACP is, and
 * given up by the same rules. Without a run it is parked: it has calls to the front end open, for --mcp-hold; then they
 * end as TOOL_CALL_LOST. Its end is seen by whoever pumps it, and freed from a deferred task.
 */
#pragma once

#include "agui/agui.h"
#include "agui/agui_talk.h"
#include "base/list.h"
#include "digest/digest.h"

/* --- agui_threads.c: the threads of AG-UI clients: which session each is, and what it has been told.
 *
 * A thread is made with its session and lives as long: its file, <state>/agui/<sessionId>.json, goes with what else the
 * session leaves (session/core/removal.h), and an entry here when somebody asks for a thread whose session is gone. The
 * files are read at the first request. Settings have keys in them: they are kept in memory, and on disk as a digest. */

#define AGUI_DIGEST_HEX 17

/* A message of the people that the thread has. */
struct agui_told {
	char *id; /* of a message, behind "u" for a person or "s" for a system */
	char digest[AGUI_DIGEST_HEX];
};

/* A call to the front end that is over, and what the harness calls it (NULL: that is not known). */
struct agui_over {
	char *id, *harness_id;
	char *tool;
	uint64_t args; /* agui_args_digest; while it is awaited */
	bool awaited;  /* the harness may still tell of it */
	bool lost;
};

struct agui_run;
struct agui_link;

struct agui_thread {
	struct list link;
	char *id, *session_id, *harness, *profile;
	char settings[SHA256_HEX], context[SHA256_HEX]; /* digests; empty: there are none */
	bool has_front_end;				/* it has had tools of a front end */
	struct agui_told *told;
	size_t ntold;
	struct agui_over over[AGUI_OVER_MAX];
	size_t nover;

	/* of this run of the daemon */
	struct buf given; /* its settings; a secret */
	bool goes_on; /* a turn whose reader leaves does: whenDetached is "continue" or "hold" */
	bool opened;  /* its session has had them */
	struct agui_run *run;
	struct agui_link *parked; /* a connection whose calls wait for the client */
};

struct agui_threads;

struct agui_threads *agui_threads_new(const char *state, struct session_store *store);
struct agui_threads *agui_threads_free(struct agui_threads *ts);
/* NULL: there is none, or its session is gone. */
struct agui_thread *agui_thread_find(struct agui_threads *ts, const char *id);
/* Without a session yet. */
struct agui_thread *agui_thread_add(struct agui_threads *ts, const char *id, const char *harness,
				    const char *profile);
void agui_thread_drop(struct agui_thread *t);
/* Its file is as it is. STATE_NOT_WRITABLE. */
int agui_thread_save(const struct agui_threads *ts, const struct agui_thread *t, struct err *e);

/* --- what it has --- */
void agui_thread_tell(struct agui_thread *t, const char *id, const char digest[AGUI_DIGEST_HEX]);
/* The oldest is forgotten for it. */
void agui_thread_call_over(struct agui_thread *t, const char *id, bool lost);
struct agui_over *agui_thread_over(struct agui_thread *t, const char *id);
/* The one that the harness calls so. */
struct agui_over *agui_thread_named(struct agui_thread *t, const char *harness_id);
/* The oldest of that tool that the harness has not told of. */
struct agui_over *agui_thread_untold(struct agui_thread *t, const char *tool);
/* The turn is over: the harness tells of none any more. */
void agui_thread_turn_over(struct agui_thread *t);

/* --- all runs ---------------------------------------------------------------------------------------------------- */

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
