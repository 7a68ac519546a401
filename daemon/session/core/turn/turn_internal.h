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
#include "session/parts/mcp/mcp_servers.h"
#include "session/core/session.h"
#include "session/parts/trace/session_spans.h"
#include "session/core/turn/trace_context.h"
#include "session/core/turn/client_ids.h"
#include "session/parts/check/turn_proof.h"
#include "usage/account.h"
#include "usage/totals.h"

struct prompt_waiter {
	struct list link;
	turn_done_fn done;
	void *ctx;
};

/* The narrowest first: where several are reached at once, that one is named. */
enum budget_scope { SCOPE_PROMPT, SCOPE_TURN, SCOPE_SESSION, SCOPE_MAX };

/* The budgets of one prompt, and what the turns that were made of it have used. It is the running turn's; a turn that
 * goes on with the same prompt takes it over (turn_budget_pass). */
struct prompt_budget {
	struct budget limits;
	struct spending before;	   /* by the turns before, but for their time */
	uint64_t since_mono;	   /* its first turn began; 0: not yet */
	uint64_t told[BUDGET_MAX]; /* as in struct session_turn */
};

/* The budget that stopped a turn, or that somebody is warned of. */
struct budget_stop {
	bool tripped;
	enum budget_scope scope;
	enum budget_kind kind;
	uint64_t limit, used;
};

/* TURN_CHECKING: its harness has ended it well, and its checks run (turn_proof.h). TURN_ENDING: how it ended is decided and written down; its answer waits until that is durable. */
enum turn_state { TURN_QUEUED, TURN_RUNNING, TURN_CHECKING, TURN_CANCELLING, TURN_ENDING };

struct session_turn {
	struct list link;
	enum turn_state state;
	uint64_t no; /* turn_take_number; 0 while queued */
	char *key, *content, *meta;
	char *checks;		  /* raw array; NULL: the session's */
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
	struct budget_stop trip;
	bool unheld;  /* a tool call beyond a budget may be running: nothing held it back */
	bool outside; /* others than the harness made tool calls, of which it has not been told */
	uint64_t told[BUDGET_MAX];	 /* its budgets that were warned of, by their limits */
	struct prompt_budget *of_prompt; /* NULL: the prompt has none */
	char *retry;			 /* raw {max}; NULL: the session's */
	struct turn_proof proof;
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
enum call_room {
	CALL_UNBOUND, /* there are none, or it is no call of its own */
	CALL_WITHIN,
	CALL_BEYOND, /* it may not run */
};

/* How a call comes to be known. */
enum call_word {
	CALL_SAID,  /* by an update */
	CALL_ASKED, /* by a question of the harness, without which it does not run */
	CALL_OURS,  /* by a question of ours, about a call that has been counted or is none */
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
	enum call_room room;
	char *served; /* "server/tool", if it is known to be one that passes the daemon */
	bool met;     /* it has passed (served_calls.c) */
	bool unnamed; /* its words may be those of any tool */
};

/* A message of the running turn; ids as in struct turn_tool_call. */
struct turn_message {
	struct list link;
	char *id, *ours;
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
	struct list served; /* struct served_call, oldest first */
	unsigned nserved;
	struct list messages; /* of the running turn, the newest last */
	unsigned nmessages;
	unsigned oom_events; /* of the running turn */
	struct client_ids ids;
	struct list
		unwritten; /* struct unwritten_end: ends of turns that the journal has yet to take */
	uint64_t sweep_from; /* ticks: the earliest of the cancelled turns that are being swept after */
	unsigned sweep_round;
	uint64_t cancelled_tick; /* in which the last of them ended */
	struct loop_timer sweep_timer, tick_timer, cancel_timer, budget_timer;
	struct loop_task budget_task;
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
		     enum proof_extent extent);
/* What an attempt used, for the next one. */
void turn_tries_pass(const struct session_turn *from, struct session_turn *to);
/* Members "attempts" and "promptUsage" of one that was not the first attempt. */
void turn_tries_put(const struct session_turn *t, struct jw *w);
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
/* The current one, which never began: e says why, with its reason. */
void turn_fail_because(struct session *s, const struct err *e);
/* One that waits. */
void turn_end_queued(struct session *s, struct session_turn *t, const struct harness_turn_end *end);
/* Every turn that has not ended yet fails with class "shutdown". */
void turns_end_open(struct session *s, const char *why);
/* At the end of the daemon: every turn is answered now. */
void turns_end_all(struct session *s);

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
/* t was cancelled: what its commands left running is ended. */
void turn_sweep_after(struct session *s, const struct session_turn *t);

/* turn_budget.c: budgets */
/* Arms the clock; false: the session's budget is used up and the turn has been ended. */
bool turn_budget_begin(struct session *s);
/* Every budget that holds now, and how much of it is used. Nothing if there is none. */
void turn_budget_put(const struct session *s, struct jw *w, const char *key);
/* After each output: cancels the turn if a budget has been reached. */
void turn_budget_check(struct session *s);
/* The same for what model calls use, where they pass the daemon: the model has said that it wants to go on. */
void turn_budget_check_calls(struct session *s);
/* Tells of each budget of which 80 % are used, once. */
void turn_budget_warn(struct session *s);
/* What is left for a model call that passes the daemon. BUDGET_RESERVED: all of it, by those that run; it may be asked for
 * again when one of them has ended. why: of BUDGET_SPENT. */
enum budget_room { BUDGET_ROOM, BUDGET_RESERVED, BUDGET_SPENT };
enum budget_room turn_budget_room(const struct session *s,
				  const struct spending reserved[SCOPE_MAX],
				  struct budget_stop *why);
/* Something bounds what is used now. */
bool turn_budget_limited(const struct session *s);
/* By the session, its running turn included. */
void turn_budget_used(const struct session *s, struct spending *ret);
/* When the running turn reaches a budget of seconds, monotonic; 0: there is none. */
uint64_t turn_budget_due(const struct session *s);
/* The running turn ends by this budget. */
void turn_budget_stop(struct session *s, const struct budget_stop *why);
/* Tool calls that the budgets leave to the running turn, or between turns; -1: any number. ret, if not NULL: the budget
 * that leaves the fewest. */
int64_t turn_budget_calls_left(const struct session *s, struct budget_stop *ret);
/* No more tool calls have begun than there may. */
bool turn_budget_calls_kept(const struct session *s);
/* A tool call beyond the budget was not let run. The turn ends by it, from the loop, when those within it are over. */
void turn_budget_refused(struct session *s);
/* A tool call is over that passed the daemon. */
void turn_budget_call_ended(struct session *s);
void turn_budget_end(struct session *s, struct session_turn *t);
/* The next turn of the same prompt goes on with its budgets; turn_budget_end has been called for the one before. */
void turn_budget_pass(struct session_turn *from, struct session_turn *to);
/* Members stopDetail and unmeasured of the end of a turn: the budget that ended it; those that nothing measured. */
void turn_budget_put_end(const struct session_turn *t, struct jw *w);
void budget_stop_put(const struct budget_stop *t, struct jw *w);
/* raw: what budget_stop_put has written, as it stands in a record; else nothing is tripped. */
void budget_stop_load(struct slice raw, struct budget_stop *ret);

/* served_calls.c */
/* A call is new, by an update or a question: counted, unless it has passed the daemon already. */
void served_calls_announced(struct session *s, struct turn_tool_call *c, struct slice update,
			    enum call_word word);
/* Some that the running turn has counted have not ended. */
bool served_calls_at_work(const struct session *s);
/* The turn ends: nothing more will be announced of what has passed. */
void served_calls_leave_turn(struct session *s);

/* One attempt of a model call that passed the daemon. */
struct call_report {
	const struct metered *use;
	const char *model_asked, *call_id, *request_id; /* each may be NULL */
	unsigned attempt;
	size_t sent, received; /* bytes of bodies */
	bool answered, auxiliary, cancelled, succeeded;
	uint64_t ttfb_ms, duration_ms;
};

/* usage_record.c: records of the ledger */
void usage_record_call(struct session *s, const struct harness_usage *u);
/* t: its turn, or NULL: it counts in the session's totals alone. */
void usage_record_metered(struct session *s, struct session_turn *t, const struct call_report *r);
/* As records name the session's provider; reported where its API says nothing. */
const char *usage_provider_name(const struct session *s, const char *reported);
/* A turn begins: no file may keep the numbers of an earlier one. */
void usage_record_begin(struct session *s);
/* <0: the record could not be written. */
int usage_record_turn(struct session *s, struct session_turn *t);
/* turn: the last one in them. */
void usage_record_note_totals(struct session *s, uint64_t turn);
void usage_record_put_totals(const struct session *s, uint64_t turn, struct buf *ret);
/* A turn that an earlier daemon left, but has a record: it counts in the session's totals, once. */
void usage_record_count(struct session *s, const struct session_turn *t);

/* orphaned_turn.c */
/* Ends a turn that an earlier daemon left open, as its ledger says or as failed. t: what the journal says of it:
 * number, times, account, whether the session's totals have it, and in s->turn.calls its tool calls. begun: the last
 * "turn" record of the journal, raw, or empty. */
void orphaned_turn_end(struct session *s, struct session_turn *t, struct slice begun);
/* Makes t, which is empty, the turn that was to follow as another attempt and never began; before: what is known of the
 * one it was to follow. */
void orphaned_attempt(struct session *s, struct session_turn *t, const struct turn_proof *before);

/* tool_calls.c */
/* Ends every open tool call of the current turn as failed and forgets all. now: on the clock that they were followed
 * with. */
void tool_calls_close(struct session *s, uint64_t now);
void tool_calls_forget(struct session *s);
struct rule_call;
/* What the harness has said of the call of that id. */
void tool_call_said(const struct session *s, struct slice id, struct rule_call *ret);
/* An update of a tool call that stands in the journal: followed, not sent. */
void tool_call_recall(struct session *s, struct slice update, uint64_t time_ms);
/* These give the id for clients, raw; empty: it is the harness's. */
struct slice tool_call_announce(struct session *s, struct slice tool_call, enum call_word word);
/* No budget lets it run. id: the one for clients. */
bool tool_call_is_beyond(const struct session *s, struct slice id);
struct slice tool_call_track(struct session *s, const struct harness_event *ev, struct slice id);
struct slice tool_call_id(struct session *s, struct slice id);
struct slice turn_message_id(struct session *s, struct slice id);
