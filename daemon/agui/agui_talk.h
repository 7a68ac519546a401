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

#include "base/buf.h"
#include "base/list.h"
#include "json/jenc.h"

enum agui_open { OPEN_NONE, OPEN_TEXT, OPEN_THOUGHT, OPEN_USER };

/* Parts of the state that updates change: members of state.acpd. */
enum agui_part { PART_MODE, PART_OPTIONS, PART_COMMANDS, PART_TITLE, PART_USAGE, PART_MAX };

/* What stands for a call of the harness that is one to a tool of the front end, which was told in another way: its id
 * there, for the caller to free, and the tool's name. False: it is none. out_id NULL: it is one, and its id is not known. */
struct agui_names {
	bool (*served)(void *ctx, struct slice update, const char *call_id, char **out_id,
		       char **tool);
	void *ctx;
};

struct agui_talk {
	struct buf *out;
	bool history, old; /* old: the client knows AG-UI 0.0.x */
	bool whole;	   /* history: nothing was left out */
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
	struct list calls;   /* struct agui_call */
	unsigned ncalls;
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
/* The run ends, and perhaps not the turn: messages and arguments of calls end. */
void agui_talk_pause(struct agui_talk *t);
/* From now on live. */
void agui_talk_go_live(struct agui_talk *t);
/* The turn is over: calls that are still open are, too. */
void agui_talk_turn_over(struct agui_talk *t);

/* --- writing an event --- */
struct jw agui_event_begin(struct buf *out, const char *type);
void agui_event_end(struct jw *w);
/* A call to a tool of the front end, whole; args: raw, or empty. Nothing is open then. */
void agui_talk_front_call(struct agui_talk *t, const char *id, const char *tool, struct slice args);
/* The member of the state that holds that part. */
const char *agui_part_name(enum agui_part p);
