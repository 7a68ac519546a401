/* agui_talk_internal.h - between the files of a talk: its messages, its calls, its other updates. */
#pragma once

#include "agui/agui_talk.h"

/* A tool call of the harness that is told of. */
struct agui_call {
	struct list link;
	char *id;	   /* as the client has it */
	char *harness_id;  /* as the harness has it */
	char *name, *args; /* args: raw; for a history */
	uint64_t seq;
	bool ended;	       /* its arguments are whole */
	bool put;	       /* it stands in the history */
	bool hidden;	       /* the client was told of it in another way */
	bool held;	       /* the client is told of it when it is known whose it is */
	struct agui_said said; /* held */
	uint64_t activity_seq; /* 0: there is none */
};

#define AGUI_ID_SIZE 32

/* "acpd-17" */
void agui_id(char out[AGUI_ID_SIZE], uint64_t seq);
/* A message of the history begins; the caller goes on and ends the object. */
struct jw agui_message_begin(struct agui_talk *t, const char *id, const char *role);
void agui_message_end(struct agui_talk *t, struct jw *w);
/* {messageId, activityType, content} as event or message; content: raw. */
void agui_activity(struct agui_talk *t, const char *id, const char *type, struct slice content);

/* talk_calls.c */
void agui_talk_call(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_talk_call_update(struct agui_talk *t, uint64_t seq, struct slice update);
void agui_calls_end(struct agui_talk *t);
void agui_call_show(struct agui_talk *t, struct agui_call *c, struct slice args);

/* talk_held.c */
void agui_call_release(struct agui_talk *t, struct agui_call *c);
/* One more can be. */
bool agui_calls_may_hold(const struct agui_talk *t);
/* More is known of one that is held. */
void agui_call_note(struct agui_talk *t, struct agui_call *c, struct slice args);

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

/* talk_state.c */
void agui_talk_plan(struct agui_talk *t, uint64_t seq, struct slice update);
/* False: it says nothing of the state. */
bool agui_talk_state(struct agui_talk *t, struct slice update);
