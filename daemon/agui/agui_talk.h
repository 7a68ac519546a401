/*
 * agui_talk.h - what a session says, in the events of AG-UI; and what it has said, as AG-UI messages.
 *
 * One reader of ACP updates with two ends. Live, each update becomes events that are appended to out as server-sent
 * events. As history, the same updates become messages for a MESSAGES_SNAPSHOT. Both give a message the same id, made
 * of the number of its first event: so a client that has the one and gets the other has nothing twice. A message ends
 * where something else begins.
 *
 * Texts pass as they were escaped; what is decoded is only what decides. Knows no sessions.
 */
#pragma once

#include "agui/agui_said.h"
#include "base/buf.h"
#include "base/list.h"
#include "json/jenc.h"

enum agui_open { OPEN_NONE, OPEN_TEXT, OPEN_THOUGHT, OPEN_USER };

/* Parts of the state that updates change: members of state.acpd. */
enum agui_part { PART_MODE, PART_OPTIONS, PART_COMMANDS, PART_TITLE, PART_USAGE, PART_MAX };

/* Whose tool a call of the harness is to: its own; one of the front end, which was told in another way; or that is not
 * known before such a call comes. */
enum agui_tool_owner { OWNER_HARNESS, OWNER_FRONT_END, OWNER_UNKNOWN };

/* The caller frees. */
struct agui_call_owner {
	char *id, *tool; /* OWNER_FRONT_END: the name, and the id there; NULL: it is not known */
	struct agui_said said; /* OWNER_UNKNOWN */
};

struct agui_names {
	enum agui_tool_owner (*owner_of)(void *ctx, struct slice update, const char *call_id,
					 struct agui_call_owner *ret);
	void *ctx;
};

struct agui_calls {
	struct list list; /* struct agui_call */
	unsigned n;
};

struct agui_talk {
	struct buf *out;
	bool is_history, is_old; /* old: the client knows AG-UI 0.0.x */
	bool is_whole;		 /* history: nothing was left out */
	struct agui_names names;
	enum agui_open open;
	uint64_t open_seq;
	char *open_id;	 /* the message's, in ACP; or NULL */
	struct buf text; /* history: of the open message, still escaped, with its first quote */
	struct slice
		origin; /* history: of an open message of the user, raw _meta.agui; within text_origin */
	struct buf text_origin, parts;
	size_t nparts;
	struct buf messages; /* history: elements of an array */
	struct agui_calls calls;
	uint64_t plan_seq;
	struct list plans, subagents; /* struct agui_plan, of a history; struct agui_subagent */
	unsigned nplans, nsubagents;
	bool compacting;       /* its step has begun */
	char *state[PART_MAX]; /* raw, the newest; or NULL */
};

void agui_talk_init(struct agui_talk *t, struct buf *out, bool old, const struct agui_names *names);
void agui_talk_done(struct agui_talk *t);
/* update: raw, of a session/update with that number. */
void agui_talk_update(struct agui_talk *t, uint64_t seq, struct slice update);
/* What AG-UI has no event for, as it is. */
void agui_talk_raw(struct agui_talk *t, struct slice update);
/* The message that is open ends. */
void agui_talk_close(struct agui_talk *t);
/* The run ends, and perhaps not the turn: messages and arguments of calls end. What is held back stays so. */
void agui_talk_pause(struct agui_talk *t);
/* Calls that may be to tools of the front end are held back. No such call has come: they are the harness's own. */
void agui_talk_release(struct agui_talk *t);
/* A call to a tool of the front end has come that one of them is: its id as the harness has it, for the caller to free;
 * else NULL. */
char *agui_talk_claim(struct agui_talk *t, const char *tool, uint64_t args);
/* Open calls go from one talk of a connection to the next. */
void agui_calls_init(struct agui_calls *c);
void agui_calls_move(struct agui_calls *from, struct agui_calls *to);
void agui_calls_free(struct agui_calls *c);
/* From now on live. */
void agui_talk_go_live(struct agui_talk *t);
/* The turn is over: calls that are still open are, too. */
void agui_talk_turn_over(struct agui_talk *t);

/* --- writing an event --- */
struct jw agui_event_begin(struct buf *out, const char *type);
void agui_event_end(struct jw *w);
/* An event whose members are known. */
#define agui_event(out, type, ...) agui_event_of(out, type, JW_MEMBERS(__VA_ARGS__))
void agui_event_of(struct buf *out, const char *type, const struct jw_member *members);
/* A call to a tool of the front end, whole; args: raw, or empty. Nothing is open then. */
void agui_talk_front_call(struct agui_talk *t, const char *id, const char *tool, struct slice args);
/* The member of the state that holds that part. */
const char *agui_part_name(enum agui_part p);

/* --- between the files of a talk: its messages, its calls, its other updates ----------------------------------------- */

/* A tool call of the harness that is told of. */
struct agui_call {
	struct list link;
	char *id;	   /* as the client has it */
	char *harness_id;  /* as the harness has it */
	char *name, *args; /* args: raw; for a history */
	uint64_t seq;
	bool ended;	       /* its arguments are whole */
	bool is_put;	       /* it stands in the history */
	bool hidden;	       /* the client was told of it in another way */
	bool held;	       /* the client is told of it when it is known whose it is */
	struct agui_said said; /* held */
	uint64_t activity_seq; /* 0: there is none */
};

#define AGUI_ID_SIZE 32

/* "acpd-17". Returns out. */
const char *agui_id(char out[AGUI_ID_SIZE], uint64_t seq);
/* A message of the history begins; the caller goes on and ends the object. */
struct jw agui_message_begin(struct agui_talk *t, const char *id, const char *role);
void agui_message_end(struct agui_talk *t, struct jw *w);
/* {messageId, activityType, content} as event or message; content: raw. */
void agui_activity(struct agui_talk *t, const char *id, const char *type, struct slice content);

/* talk_calls.c: tool calls, and those that are held back */
void agui_talk_call(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_talk_call_update(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_calls_end(struct agui_talk *t);

/* talk_more.c */
void agui_talk_plan_update(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_talk_plan_removed(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_talk_compaction(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_talk_subagent(struct agui_talk *t, uint64_t seq, struct slice update);
/* The plans of a history, at its end. */
void agui_plans_put(struct agui_talk *t);
/* Steps and subagents end with the run. */
void agui_more_pause(struct agui_talk *t);
void agui_more_done(struct agui_talk *t);

void agui_talk_plan(struct agui_talk *t, uint64_t seq, struct slice update);
/* False: it says nothing of the state. */
bool agui_talk_state(struct agui_talk *t, struct slice update);
