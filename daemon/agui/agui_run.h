/*
 * agui_run.h - one run: the stream of a reply, from RUN_STARTED to RUN_FINISHED or RUN_ERROR.
 *
 * It opens or loads the thread's session, tells what the session has said (as history, for a snapshot) and then what it
 * says. It ends with the turn, with a question (an interrupt), or with a call to a tool of the front end. A run whose
 * client closes it cancels the turn, unless whenDetached says that it goes on.
 */
#pragma once

#include "agui/agui_history.h"
#include "agui/agui_input.h"
#include "agui/agui_link.h"
#include "agui/agui_talk.h"
#include "session/core/turn/trace_context.h"

enum agui_stage { STAGE_OPENING, STAGE_LIVE, STAGE_OVER };

struct agui_run {
	struct http_stream base;
	struct agui *owner;
	struct buf body; /* what in borrows from; it may hold keys */
	struct agui_input in;
	struct agui_news news;
	struct agui_thread *thread; /* NULL: it has none of its own */
	struct agui_link *link;
	struct agui_talk talk;
	enum agui_stage stage;
	struct buf out; /* what is said between two fills */
	bool new_thread, filling, again;
	bool asked;		     /* a question is open */
	bool follows;		     /* a turn runs that this run did not begin */
	bool lost_history;	     /* not all of it could be read */
	uint64_t open_id, prompt_id; /* our requests; 0: not made */
	struct buf prompt;	     /* raw array of blocks, if something is new */
	size_t told;  /* messages that the prompt told, until it is sure that it holds them */
	char key[48]; /* of the prompt; empty: there is none */
	char traceparent[TRACEPARENT_SIZE]; /* of the request; "": it had none */
	char *tracestate;
	size_t budget; /* bytes of frames that this fill may still take */
	uint64_t seq;  /* of the newest event */
};

struct agui_run *agui_run_new(struct agui *a);
/* run_trace.c: headers of the request, or empty. */
void agui_run_trace(struct agui_run *r, struct slice parent, struct slice state);
/* Members of _meta. */
void agui_run_put_trace(const struct agui_run *r, struct jw *w);
/* The input is there: errors from here on are events. */
void agui_run_begin(struct agui_run *r, const struct grant *g);
void agui_run_wake(struct agui_run *r);
/* Before it began. */
void agui_run_free(struct agui_run *r);

/* run_calls.c: of struct agui_names; ctx is the run. */
enum agui_whose agui_run_whose(void *ctx, struct slice update, const char *call_id,
			       struct agui_whose_call *ret);
/* run_start.c: what is to be done first. -EINVAL with e. */
int agui_run_start(struct agui_run *r, const struct grant *g, struct err *e);
/* run_start.c: the session is there (opened: raw answer): snapshots, then the prompt. */
void agui_run_opened(struct agui_run *r, struct slice opened);
/* run_frames.c: one frame of the connection. */
void agui_run_frame(struct agui_run *r, struct slice frame);
/* run_end.c */
void agui_run_fail(struct agui_run *r, const char *code, const char *message);
/* end: raw params of _acpd/turn_end. */
void agui_run_turn_over(struct agui_run *r, struct slice end);
/* Nothing was to be done. */
void agui_run_idle(struct agui_run *r);
/* It ends with what is open: questions, or calls. False: nothing is. */
bool agui_run_pause(struct agui_run *r);
