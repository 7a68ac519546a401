/*
 * agui_run.h - one run: the stream of a reply, from RUN_STARTED to RUN_FINISHED or RUN_ERROR.
 *
 * It opens or loads the thread's session, tells what the session has said (as history, for a snapshot) and then what it
 * says. It ends with the turn, with a question (an interrupt), or with a call to a tool of the front end. A run whose
 * client closes it cancels the turn, unless whenDetached says that it goes on.
 */
#pragma once

#include "agui/agui_input.h"
#include "agui/agui_link.h"
#include "agui/agui_talk.h"
#include "session/core/trace_context.h"

/* --- agui_history.c: what of an input's messages a thread has, and what is new -----------------------------------------
 *
 * A thread has the messages of people in an order. An input repeats all of them, by id and unchanged, and adds to their
 * end; or it has none at all. What the daemon said may be missing, as when a stream was cut; what it has not said may
 * stand before the first message of a person only, as a greeting of the front end does. Everything else is
 * HISTORY_CHANGED. */

struct agui_news {
	bool *is_new; /* for each message of the input: to be told to the agent */
	size_t n;
	bool has_people; /* a message of a person is among them */
};

void agui_news_done(struct agui_news *n);
/* -EINVAL with HISTORY_CHANGED, and nothing to free. */
int agui_history_check(const struct agui_thread *t, const struct agui_input *in,
		       struct agui_news *ret, struct err *e);
/* What is new is told. */
void agui_history_note(struct agui_thread *t, const struct agui_input *in,
		       const struct agui_news *n);
/* The last n of what was told are taken back. */
void agui_history_forget(struct agui_thread *t, size_t n);
/* Messages before the first of a person that the agent has never said, for a snapshot: elements of an array. */
void agui_history_lead(const struct agui_input *in, struct buf *b);

/* --- a run ------------------------------------------------------------------------------------------------------- */

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

/* Members of _meta. */
void agui_run_put_trace(const struct agui_run *r, struct jw *w);
void agui_run_wake(struct agui_run *r);

/* agui_run.c: of struct agui_names; ctx is the run. */
enum agui_tool_owner agui_run_owner_of(void *ctx, struct slice update, const char *call_id,
				       struct agui_call_owner *ret);
/* run_start.c: what is to be done first. -EINVAL with e. */
int agui_run_start(struct agui_run *r, const struct grant *g, struct err *e);
/* run_start.c: the session is there (opened: raw answer): snapshots, then the prompt. */
void agui_run_opened(struct agui_run *r, struct slice opened);
/* run_frames.c: one frame of the connection. */
void agui_run_frame(struct agui_run *r, struct slice frame);
/* agui_run.h: the last event of a run. */
void agui_run_fail(struct agui_run *r, const char *code, const char *message);
/* end: raw params of _acpd/turn_end. */
void agui_run_turn_over(struct agui_run *r, struct slice end);
/* Nothing was to be done. */
void agui_run_idle(struct agui_run *r);
/* It ends with what is open: questions, or calls. False: nothing is. */
bool agui_run_pause(struct agui_run *r);

/* --- agui_settings.c: what a thread's session is opened with ----------------------------------------------------------
 *
 * Members of _meta.acpd, and those of session/new beside them, given by the first run of the thread or by a profile. Later
 * runs repeat them, or have none. */

/* NAME of a profile: its text is appended. PROFILE_UNKNOWN, PROFILE_UNUSABLE. */
int agui_profile_read(const char *list, const char *name, struct buf *ret, struct err *e);
/* The thread's settings are those of the input, or of its profile; a new thread gets them. t->given has them then.
 * SETTINGS_FIXED, SETTINGS_REQUIRED, PARAM_UNSUPPORTED, FIELD_MISSING, and those above. */
int agui_settings_take(const struct agui *a, struct agui_thread *t, const struct agui_input *in,
		       bool new_thread, struct err *e);
/* params of session/new, and of session/load. */
void agui_settings_put_new(const struct agui_thread *t, bool has_front_end, struct slice trace,
			   struct buf *b);
void agui_settings_put_load(const struct agui_thread *t, const char *cwd, struct slice trace,
			    struct buf *b);

/* --- run_resume.c: the questions of a session as interrupts, and what a client answers ---------------------------------- */

/* How many questions of the session are open. */
size_t agui_questions_open(const struct agui *a, const char *session_id);
/* Every open question of the session is answered by an element of resume (raw array), and every element is one's.
 * INTERRUPT_UNANSWERED, INTERRUPT_UNKNOWN. */
int agui_resume_check(const struct agui *a, const char *session_id, struct slice resume,
		      struct err *e);
/* The answers are given. Reasons of approval_answer. */
int agui_resume(const struct agui *a, struct slice resume, struct err *e);
/* Elements of interrupts. */
void agui_interrupts_put(const struct agui *a, const char *session_id, struct jw *w);
