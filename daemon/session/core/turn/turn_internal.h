/*
 * turn_internal.h - the turns of a session: its queue of prompts, the turn that runs, what it is held against and what
 * is recorded of it.
 *
 * This folder owns struct session_turns (`turn` in struct session). Turns, results by key, tool calls and messages are
 * on the heap, each in one list of it, and freed by turns_free and tool_calls_forget. A turn ends in turn_finish, which
 * cannot fail: what cannot be written is held back and tried again.
 */
#pragma once

#include "base/list.h"
#include "digest/digest.h"
#include "loop/loop.h"
#include "session/core/session.h"
#include "session/core/turn/span.h"
#include "session/core/trace_context.h"
#include "session/core/turn/client_ids.h"
#include "usage/account.h"

struct prompt_waiter {
	struct list link;
	turn_done_fn done;
	void *ctx;
};

/* TURN_CHECKING: its harness has ended it well, and its checks run (turn_proof.h). TURN_ENDING: how it ended is decided and written down; its answer waits until that is durable. */
enum turn_state { TURN_QUEUED, TURN_RUNNING, TURN_CHECKING, TURN_CANCELLING, TURN_ENDING };

struct session_turn {
	struct list link;
	enum turn_state state;
	uint64_t no; /* turn_take_number; 0 while queued */
	char *key, *content, *meta;
	char *incarnation;	  /* it was taken in; NULL: not known */
	uint64_t first_seq;	  /* of its first event */
	char digest[SHA256_HEX];  /* of the content, if there is a key; "": unknown */
	uint64_t origin, outputs; /* outputs: chunks, tool calls, plans, questions so far */
	struct list waiters;
	struct session *session;
	struct trace_context trace;
	struct trace_span span;
	bool calls_told; /* spans of its model calls have their tokens */
	char failed_provider[64];

	struct account account;
	struct harness_usage tried; /* of the attempts before it */
	char *tries;		    /* raw elements {turn, usage} of these; NULL: there were none */
	struct account reported;    /* the harness's own numbers, where its calls pass the daemon */
	struct turn_error call_error; /* of its last model call, if call_failed */
	bool call_failed, main_calls; /* main_calls: there was one that is no side call */
	uint64_t failed_outputs;      /* outputs, when it failed */
	uint64_t call_records;
	struct proc_usage before, used;
	uint64_t started_ms, ended_ms; /* unix; 0: never began */
	uint64_t started_ticks;	       /* tree_now */
	uint64_t queued_mono, started_mono, first_output_mono, ended_mono;

	struct harness_turn_end end; /* from TURN_CHECKING or TURN_ENDING on */
	struct ledger_wait recorded;
	unsigned waits;	 /* for the record, and for what has changed in the workspace */
	bool unrecorded; /* a record of one of its model calls is missing */
	bool counted;	 /* in the session's totals */
	bool outside; /* others than the harness made tool calls, of which it has not been told */
	bool held;    /* a part has it: its harness is not at it */
	bool again;   /* its prompt are words of the daemon, for another try */
	bool goes_on; /* another turn goes on with its prompt, its key and who waits for it */

	void *parts[]; /* as in struct session */
};

/* The stored result of a turn that had a key. */
struct keyed_result {
	struct list link;
	char *key;
	uint64_t turn, seq;
	char digest[SHA256_HEX]; /* of the prompt; "": unknown */
	char *result;		 /* raw PromptResponse; NULL if it failed */
	struct turn_error error;
	char *proof; /* raw object: the checks and attempt of one that failed */
};

/* What the budgets of tool calls said of a call. */
enum budget_state {
	BUDGET_NONE, /* there are none, or it is no call of its own */
	BUDGET_WITHIN,
	BUDGET_OVER, /* it may not run */
};

/* How a call comes to be known. */
enum call_source {
	CALL_FROM_UPDATE,     /* by an update */
	CALL_FROM_PERMISSION, /* by a question of the harness, without which it does not run */
	CALL_COUNTED, /* by a question of ours, about a call that has been counted or is none */
};

/* A tool call of the running turn. */
struct turn_tool_call {
	struct list link;
	char *id;		 /* raw JSON string, the harness's */
	char *ours;		 /* the client's, raw; NULL: the same */
	char *name;		 /* of its tool; else its kind, or NULL */
	char *kind;		 /* NULL: not said */
	char *locations, *input; /* raw; NULL: not said, or too long to be kept */
	bool named;
	uint64_t since; /* monotonic ms */
	bool open;
	struct trace_span span;
	enum budget_state budget;
	char *served; /* "server/tool", if it is known to be one that passes the daemon */
	bool met;     /* it has passed (served_calls.c) */
	bool unnamed; /* its words may be those of any tool */
};

/* A message of the running turn; ids as in struct turn_tool_call. */
struct turn_message {
	struct list link;
	char *id, *ours;
};

/* In struct session_turns: unknown. */
struct unknown_updates {
	unsigned told; /* events since the turn began, or the last one ended */
	uint64_t more; /* updates since then without an event */
};

/* In struct session: turn. */
struct session_turns {
	struct list queue; /* struct session_turn; the first may be running or ending */
	struct session_turn *current;
	unsigned queued, ending;
	uint64_t count; /* the last number of a turn */
	struct totals totals;
	uint64_t last_counted;	       /* the last turn in them */
	uint64_t peak_rss, peak_at_ms; /* bytes, as last measured; 0: not yet, of this process */
	struct list keys;	       /* struct keyed_result */
	unsigned nkeys;
	struct list calls; /* struct turn_tool_call */
	unsigned ncalls;
	struct list messages; /* of the running turn, the newest last */
	unsigned nmessages;
	unsigned oom_events; /* of the running turn */
	struct client_ids ids;
	struct unknown_updates unknown;
	struct list
		unwritten; /* struct unwritten_end: ends of turns that the journal has yet to take */
	uint64_t sweep_from; /* ticks: the earliest of the cancelled turns that are being swept after */
	unsigned sweep_round;
	uint64_t cancelled_tick; /* in which the last of them ended */
	struct loop_timer sweep_timer, tick_timer, cancel_timer;
};

/* Where the end of a turn is told: the answer to its prompt; that of one that failed; what is kept of an answer for its
 * key; the event; a webhook; the record in the ledger. And before the end, the event of its prompt. */
enum turn_end_place {
	END_ANSWER,
	END_FAILURE,
	END_KEPT,
	END_EVENT,
	END_WEBHOOK,
	END_RECORD,
	END_PROMPT
};

/* turn_queue.c */
/* When it begins, or ends without that: numbers grow in the order in which turns run. */
void turn_take_number(struct session *s, struct session_turn *t);
/* again: they are words of ours, to try it again. */
void turn_emit_prompt(struct session *s, struct slice content, uint64_t origin, bool again);
struct session_turn *turn_first_queued(const struct session *s);
/* The current one, if its harness is at it. */
struct session_turn *turn_in_harness(const struct session *s);
/* t is the first that is queued; the harness is ready. */
void turn_begin(struct session *s, struct session_turn *t);
/* One that waits; the caller puts it into the queue. */
struct session_turn *turn_new(struct session *s);
/* One that is in no queue, with nothing in it. */
struct session_turn *turn_blank(struct session *s);
void turn_free(struct session_turn *t);
void turns_free(struct session *s);
/* The harness has shown something of the turn. */
void turn_output(struct session_turn *t);

/* keyed_result.c */
/* Answers by the stored result; false: there is none. */
bool keyed_result_answer(const struct session *s, const char *key, turn_done_fn done, void *ctx);
const struct keyed_result *keyed_result_find(const struct session *s, const char *key);
/* t has a key and has ended so. */
void keyed_result_add(struct session *s, const struct session_turn *t, const struct turn_result *r);
/* The same by the params of the event that told of it; begun: the last "turn" record before it, or empty. */
void keyed_result_recall(struct session *s, struct slice params, struct slice begun);
/* All of them as an array, and back from there: only those that are not known yet. */
void keyed_results_put(const struct session *s, struct jw *w, const char *name);
void keyed_results_load(struct session *s, struct jval list);
void keyed_results_free(struct session *s);

/* turn_end.c */
/* A PromptResponse; seq: of the event of the turn's end. */
void turn_put_result(struct buf *b, const struct session_turn *t, uint64_t seq,
		     enum turn_end_place at);
/* Puts the end of t into log and journal and remembers it for its key; ret borrows from b and t. */
void turn_end_write(struct session *s, const struct session_turn *t, struct buf *b,
		    struct turn_result *ret);
/* The current one has ended: its checks begin if it has any, else it is closed. */
void turn_finish(struct session *s, const struct harness_turn_end *end);
/* As t->end says. */
void turn_close(struct session *s, struct session_turn *t);
/* What becomes t->end. */
void turn_keep_end(struct session_turn *t, const struct harness_turn_end *end);
void turn_fail(struct session *s, const char *cls, bool retryable, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with other members of the error; its message is text. */
void turn_fail_as(struct session *s, const struct turn_error *error, const char *text);
/* The current one, which never began: e says why, with its reason. */
void turn_fail_because(struct session *s, const struct err *e);
/* One that waits. */
void turn_end_queued(struct session *s, struct session_turn *t, const struct harness_turn_end *end);
/* Every turn that has not ended yet fails with class "shutdown". */
void turns_end_open(struct session *s, const char *why);
/* At the end of the daemon: every turn is answered now. */
void turns_end_all(struct session *s);

/* The session's sums, as they are noted in its journal. turn: the last one in them. */
void turn_totals_put(const struct session *s, uint64_t turn, struct buf *ret);
void turn_totals_note(struct session *s, uint64_t turn);
/* The context of the turn as it is passed on: its span's, else the prompt's. */
const char *turn_trace(const struct session_turn *t, char out[TRACEPARENT_SIZE]);

/* unwritten_end.c */
/* The journal could not take the end of t. */
void unwritten_end_add(struct session *s, const struct session_turn *t,
		       const struct turn_result *r);
/* It can be written again. */
void turns_journal_recovered(void *ctx);
void turns_drop_unwritten(struct session *s);

/* turn_cancel.c */
void turn_cancel_running(struct session *s);
void turns_cancel_all(struct session *s);
/* ctx: the session, whose driver has been away for DETACH_CANCEL_MS. */
void session_cancel_undriven(void *ctx);
/* t was cancelled: what its commands left running is ended. */
void turn_sweep_after(struct session *s, const struct session_turn *t);

/* orphaned_turn.c */
/* Ends a turn that an earlier daemon left open, as its ledger says or as failed. t: what the journal says of it:
 * number, times, account, whether the session's totals have it, and in s->turn.calls its tool calls. begun: the last
 * "turn" record of the journal, raw, or empty. */
void orphaned_turn_end(struct session *s, struct session_turn *t, struct slice begun);
/* A turn that was to go on with the prompt of an earlier one and never began; the caller says what of it is known, counts and
 * frees it. */
struct session_turn *orphaned_next(struct session *s);

/* tool_calls.c */
/* Ends every open tool call of the current turn as failed and forgets all. now: on the clock that they were followed
 * with. */
void tool_calls_close(struct session *s, uint64_t now);
void tool_calls_forget(struct session *s);
/* The call of that id, as the harness has named it, in the running turn; NULL: it has not been announced. */
struct turn_tool_call *tool_call_find(const struct session *s, struct slice id);
/* An update of a tool call that stands in the journal: followed, not sent. */
void tool_call_recall(struct session *s, struct slice update, uint64_t time_ms);
/* These give the id for clients, raw; empty: it is the harness's. */
struct slice tool_call_announce(struct session *s, struct slice tool_call, enum call_source word);
/* No budget lets it run. id: the one for clients. */
bool tool_call_is_beyond(const struct session *s, struct slice id);
struct slice tool_call_track(struct session *s, const struct harness_event *ev, struct slice id);
struct slice tool_call_id(struct session *s, struct slice id);
struct slice turn_message_id(struct session *s, struct slice id);

/* unknown_updates.c */
/* update: raw object. */
void unknown_update_tell(struct session *s, struct slice update);
/* A turn begins or ends: the updates of unknown kinds that had no event are counted in one. */
void unknown_updates_tell_more(struct session *s);
