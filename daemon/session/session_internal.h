/* session_internal.h - the session's insides, for the files of session/ alone. */
#pragma once

#include "session/session.h"

#include "base/buf.h"
#include "base/log.h"
#include "digest/digest.h"
#include "usage/account.h"
#include "usage/ledger/ledger.h"
#include "session/store/problems.h"
#include "session/log/reader.h"
#include "session/store/removal.h"
#include "usage/totals.h"
#include "session/secrets/event_fields.h"
#include "session/turn/client_ids.h"
#include "session/secrets/secrets.h"
#include "session/mcp/mcp_servers.h"
#include "session/mcp/upcall.h"

#define TRACEPARENT_SIZE 56 /* W3C: 2-32-16-2 hex digits with dashes, and NUL */

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED };
/* H_CONFIGURING: it is open, and what the session asked for (model, mode) is being set. */
enum harness_state { H_NONE, H_STARTING, H_CONFIGURING, H_READY, H_STOPPING };

struct session_store {
	struct loop *loop;
	struct proc_host *procs;
	const struct harness_table *harnesses;
	struct list sessions;
	unsigned count;
	uint64_t last_number;
	char *state_dir, *incarnation;
	bool switch_user, journal, stopping;
	uid_t uid;
	gid_t gid;
	char *user_name, *pass_env;
	uint64_t journal_max;
	unsigned permission_timeout, mcp_hold;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
	struct store_totals totals; /* running is counted when asked */
	struct buf scratch;	    /* for encoding one event */
	struct ledger *ledger;
	struct workspaces workspaces;
	struct removal_queue *removal;
	struct problems problems;
	const struct mcp_servers_ops *servers; /* NULL: nobody serves any */
	void *servers_ctx;
	struct list dormant; /* journals of earlier daemons, not yet read */
	unsigned harness_idle, harness_max, harness_wait, session_max;
	struct list live, waiting, lonely; /* harness_pool.h */
	unsigned nlive, nwaiting;
	struct loop_timer lonely_timer, wait_timer;
	struct loop_timer recover_timer;
	struct retention keep; /* retain.h */
	struct loop_timer retain_timer, pressure_timer;
	bool cramped; /* the disk is full, and nothing could go */
	struct proc *measuring;
	int64_t measured;
	char *measured_id;
};

/* Somebody who waits for the harness to be ready, or for the session to be closed. */
struct session_waiter {
	struct list link;
	session_done_fn done;
	void *ctx;
	uint64_t since; /* monotonic */
};

/* A call that waits for the harness: set_mode, set_config. */
struct setting {
	struct list link;
	uint64_t token;
	char *mode;   /* set_mode: the new mode */
	char *chosen; /* set_config by a client: configId and value, raw object */
	session_set_fn done;
	void *ctx;
	uint64_t due;
};

struct prompt_waiter {
	struct list link;
	turn_done_fn done;
	void *ctx;
};

/* The budget that stopped a turn. */
struct budget_stop {
	bool tripped, of_session;
	enum budget_kind kind;
	uint64_t limit, used;
};

/* TURN_ENDING: how it ended is decided and written down; its answer waits until that is durable. */
enum turn_state { TURN_QUEUED, TURN_RUNNING, TURN_CANCELLING, TURN_ENDING };

struct session_turn {
	struct list link;
	enum turn_state state;
	uint64_t no; /* 0 while queued */
	char *key, *content, *meta;
	uint64_t first_seq;	  /* of its first event */
	char digest[SHA256_HEX];  /* of the content, if there is a key; "": unknown */
	uint64_t origin, outputs; /* outputs: chunks, tool calls, plans, questions so far */
	struct list waiters;
	struct session *session;
	char traceparent[TRACEPARENT_SIZE]; /* "": none */
	char failed_provider[64];

	struct account account;
	struct proc_usage before, used;
	uint64_t started_ms, ended_ms; /* unix; 0: never began */
	uint64_t started_ticks;	       /* tree_now */
	uint64_t queued_mono, started_mono, first_output_mono, ended_mono;

	struct harness_turn_end end; /* from TURN_ENDING on */
	struct ledger_wait recorded;
	unsigned waits;	 /* for the record, and for what has changed in the workspace */
	bool unrecorded; /* a record of one of its model calls is missing */
	bool counted;	 /* in the session's totals */
	struct budget_stop trip;
};

/* The stored result of a turn that had a key. */
struct keyed_result {
	struct list link;
	char *key;
	uint64_t turn, seq;
	char digest[SHA256_HEX]; /* of the prompt; "": unknown */
	char *result;		 /* raw PromptResponse; NULL if it failed */
	struct turn_error error;
};

/* A tool call of the running turn. */
struct turn_tool_call {
	struct list link;
	char *id;   /* raw JSON string, the harness's */
	char *ours; /* the client's, raw; NULL: the same */
	char *name;
	uint64_t since; /* monotonic ms */
	bool open;
};

/* A message of the running turn; ids as in struct turn_tool_call. */
struct turn_message {
	struct list link;
	char *id, *ours;
};

struct session_question {
	struct list link;
	uint64_t no; /* in the event log */
	struct session *session;
	uint64_t harness_id;
	session_asked_fn answered; /* not the harness's: who asked */
	void *answered_ctx;
	bool elicitation;
	char *params; /* raw object without sessionId */
	struct watcher *shown_to;
	struct loop_timer timer;
};

struct session {
	struct list link;
	struct session_store *store;
	uint64_t number;
	char *id, *cwd, *title, *home;
	const struct harness_def *def;
	enum session_state state;
	bool remove, gone, restart, home_filled; /* gone: put away, to be removed */
	enum when_detached when_detached;
	unsigned client;
	uint64_t updated_ms;

	/* what the harness is started with */
	struct setup setup;
	struct setup *before;	    /* while a load is open: what it was, should the load fail */
	bool reopening, restarting; /* that load found the session closed; or about to restart */
	unsigned pending; /* enum setup_change: given, and waits for the end of the turn */
	struct secrets secrets;
	struct masked_stream *stream; /* text that may be the beginning of a secret; NULL: none */

	struct {
		struct list list; /* struct artifact; valid once read */
		bool read;
		unsigned n;
		uint64_t bytes, last;
	} artifacts;

	struct list inspections;	    /* struct inspection */
	struct list diffs;		    /* asked for while one is taken */
	unsigned snapshots_running;	    /* snapshots being taken (baseline.c) */
	bool snapshot_again;		    /* a baseline is wanted when they are */
	bool baseline_due;		    /* until the newest is taken nobody is answered */
	struct session_turn *snapshot_turn; /* waits for the one at its end */
	void (*snapshot_done)(struct session_turn *t);
	struct loop_timer snapshot_timer;
	uint64_t last_diff;

	/* what is being put into workspace and home, and what came of the last time */
	struct provisioning *provisioning;
	char *provisioned, *refusal; /* raw objects */
	char *home_instructions;     /* for the harness's own configuration */

	/* the harness and its process */
	enum harness_state hstate;
	struct proc *proc;
	struct harness *harness;
	char *native_id;
	char *forked_from; /* id of the session whose context it began with */
	unsigned copying;  /* forks that read the home: no harness may be started */
	struct harness_caps caps;
	char *version; /* as the program says itself */
	struct list live_link, wait_link,
		lonely_link; /* harness_pool.h: of the store's lists; empty: in none */
	uint64_t wait_since, lonely_since;
	uint64_t sweep_from; /* ticks: the earliest of the cancelled turns that are being swept after */
	unsigned sweep_round;
	uint64_t cancelled_tick; /* in which the last of them ended */
	struct loop_timer sweep_timer, tick_timer;
	bool resting;	  /* stopped because nobody needed it */
	bool began;	  /* a turn has, so there is a context to take up */
	bool recovered;	  /* from the journal of an earlier daemon */
	bool headless;	  /* and its head is damaged */
	bool unremovable; /* it was to be deleted, and could not */
	bool restored, closed_output, own_modes, model_tried, mode_tried, reconfigure;
	unsigned choices_tried;
	char *modes, *config; /* modes: the harness's own, or derived from config */
	char *model;	      /* in force, as the harness names it; NULL: it does not say */
	struct err start_error;
	struct list open_waiters, close_waiters, settings;
	uint64_t last_token;
	struct loop_timer start_timer, setting_timer, adapter_timer;

	/* turns */
	struct list turns; /* the first may be running or ending */
	struct session_turn *current;
	unsigned queued, ending;
	struct totals totals;
	uint64_t peak_rss, peak_at_ms; /* bytes, as last measured; 0: not yet, of this process */
	uint64_t turn_count;
	struct list keys;
	unsigned nkeys;
	struct list calls;
	unsigned ncalls;
	struct list messages; /* of the running turn, the newest last */
	unsigned nmessages;
	struct client_ids ids;
	struct loop_timer cancel_timer, detach_timer, idle_timer, budget_timer;
	struct loop_task advance_task;

	/* MCP servers (mcp_servers.h, upcall.h) */
	char *given; /* raw: what the harness was started with */
	void *mcp_handle;
	int64_t mcp_call_ms;
	struct list ports, upcalls;
	unsigned nupcalls;

	struct list questions;
	unsigned nquestions;
	uint64_t last_question;
	struct list watchers;
	struct list readers; /* struct log_reader */
	struct evlog log;
	uint64_t acked,
		told; /* journal_trim.h; told: the newest event that is not about the session's own life */
	uint64_t closed_ms; /* unix; 0: in an earlier life */
	int64_t bytes;	    /* on disk, once closed; -1: not measured */
	struct list
		owed; /* struct owed: ends of turns that the journal has yet to take (turn_end.c) */
};

/* session_store.c */
/* With home and journal, not started; NULL with e. */
struct session *session_prepared(struct session_store *st, const struct session_params *p,
				 struct err *e);
void session_wait_open(struct session *s, session_done_fn done, void *ctx);
/* In the store's list, with nothing in it but its id. */
struct session *session_blank(struct session_store *st, const char *id);
void session_touch(struct session *s);
void session_free(struct session *s);
void store_check_stopped(struct session_store *st);

/* harness_launch.c */
/* Starts the harness; hstate must be H_NONE. On success STARTING, the rest comes through the waiters. */
int harness_launch(struct session *s, struct err *e);
void harness_arm_start(struct session *s);
void harness_stop(struct session *s);
/* session_fork.c: the harness is gone; who waits for that copies the home. */
void session_quiet(struct session *s);
/* Calls everyone who waits for the harness; e NULL on success. */
void session_opened(struct session *s, const struct err *e);
/* Only that: turns and the harness are left alone. */
void session_answer_waiters(struct session *s, const struct err *e);
/* session.c: what session_open has changed holds, or (e) is taken back: a session that was closed is closed again. */
void session_open_kept(struct session *s);
void session_open_undone(struct session *s);
/* The harness does not come: those who wait since before then are told; a session that was being made is none. */
void session_waited(struct session *s, uint64_t before, const struct err *e);
void session_closed(struct session *s);

/* adapter_host.c: the callbacks an adapter uses. */
extern const struct harness_host_ops session_host_ops;

void session_note_native(struct session *s);

/* harness_settings.c */
void session_host_reply(void *ctx, uint64_t token, struct slice result, const struct err *e);
void session_settings_fail(struct session *s, const struct err *e);
/* As the harness reported them; empty: unchanged. */
void session_store_options(struct session *s, struct slice modes, struct slice config);
/* Puts mode, a raw JSON string, into the stored SessionModeState. */
void session_store_mode(struct session *s, struct slice mode);
/* The harness changed its options by itself: what is derived from them changes too. */
void session_config_changed(struct session *s, struct slice config);
/* Calls to the harness; params: members configId and value. -ENOENT: the option of that category has no such value. */
int settings_set_config(struct session *s, struct slice params, session_set_fn done, void *ctx,
			struct err *e);
int settings_choose(struct session *s, const char *category, const char *name, session_set_fn done,
		    void *ctx, struct err *e);
int settings_set_mode(struct session *s, const char *mode, session_set_fn done, void *ctx,
		      struct err *e);
bool settings_has_mode(const struct session *s, const char *mode);

/* harness_configure.c */
/* The harness is open: sets what the session asked for, then reports it ready. */
void session_configure(struct session *s);
/* The same for a running harness whose session has been given another mode. */
void session_reconfigure(struct session *s);
void session_open_failed(struct session *s, const struct err *e);

/* turn_queue.c */
/* The one place that decides what happens next: start the harness, begin a turn, close. Deferred. */
void session_advance(struct session *s);
void session_emit_prompt(struct session *s, struct slice content, uint64_t origin);
struct session_turn *turn_first_queued(struct session *s);
void turn_free(struct session_turn *t);
void turns_free(struct session *s);
/* The harness has shown something of the turn. */
void turn_output(struct session_turn *t);

/* turn_end.c */
/* Puts the end of t into log and journal and remembers it for its key; ret borrows from b and t. */
void turn_end_write(struct session *s, const struct session_turn *t, struct buf *b,
		    struct turn_result *ret);
/* The journal can be written again. */
void turns_journal_recovered(void *ctx);
void turns_drop_owed(struct session *s);
void turn_finish(struct session *s, const struct harness_turn_end *end);
void turn_fail(struct session *s, const char *cls, bool retryable, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The current one, which never began: e says why, with its reason. */
void turn_fail_because(struct session *s, const struct err *e);
void turn_cancel_running(struct session *s);
void turns_cancel_all(struct session *s);
/* At the end of the daemon: every turn is answered now. */
void turns_end_all(struct session *s);

/* turn_budget.c: budgets */
/* Arms the clock; false: the session's budget is used up and the turn has been ended. */
bool turn_budget_begin(struct session *s);
/* After each output: cancels the turn if a budget has been reached. */
void turn_budget_check(struct session *s);
/* Tool calls that the budgets leave to a turn; -1: any number. */
int64_t turn_budget_calls_left(const struct session *s);
void turn_budget_end(struct session *s, struct session_turn *t);
void budget_stop_put(const struct budget_stop *t, struct jw *w);

/* usage_record.c: records of the ledger */
void usage_record_call(struct session *s, const struct harness_usage *u);
/* A turn begins: no file may go on telling an earlier one's numbers. */
void usage_record_begin(struct session *s);
/* <0: the record could not be written. */
int usage_record_turn(struct session *s, struct session_turn *t);
/* turn: the last one in them. */
void usage_record_note_totals(struct session *s, uint64_t turn);
/* A turn that an earlier daemon left, but has a record: it counts in the session's totals, once. */
void usage_record_count(struct session *s, const struct session_turn *t);

/* orphaned_turn.c */
/* Ends a turn that an earlier daemon left open, as its ledger says or as failed. t: what the journal says of it: number, times, account,
 * whether the session's totals have it, and in s->calls its tool calls. begun: the last "turn" record of the journal, raw, or empty. */
void orphaned_turn_end(struct session *s, struct session_turn *t, struct slice begun);

/* tool_calls.c */
/* Ends every open tool call of the current turn as failed and forgets all. now: on the clock that they were followed with. */
void session_close_calls(struct session *s, uint64_t now);
void session_forget_calls(struct session *s);
/* An update of a tool call that stands in the journal: followed, not sent. */
void session_recall_call(struct session *s, struct slice update, uint64_t time_ms);
/* These give the id for clients, raw; empty: it is the harness's. */
struct slice session_announce_call(struct session *s, struct slice tool_call);
struct slice session_track_call(struct session *s, const struct harness_event *ev, struct slice id);
struct slice session_call_id(struct session *s, struct slice id);
struct slice session_message_id(struct session *s, struct slice id);

/* session_mask.c */
/* From what the session is set up with; what was a secret before stays one. */
void session_load_secrets(struct session *s);
/* json with the secrets in its text hidden, in b; json itself if it has none. members, table: event_fields_mask. */
struct slice session_mask_json(const struct session *s, struct slice json, bool members,
			       const struct event_field *table, struct buf *b);
/* One line of others, in place; it may have been cut to size. */
void session_mask_line(const struct session *s, char *text, size_t size);
void session_mask_string(const struct session *s, char **text);
struct err session_mask_err(const struct session *s, const struct err *e);
/* A file of ours, by a copy. */
int session_mask_file(const struct session *s, const char *path);

/* masked_stream.c */
/* True if it has been taken: a piece of text that is sent on, perhaps later. */
bool session_stream(struct session *s, const struct harness_event *ev);
/* Sends what is held back: another event comes. */
void session_flush_stream(struct session *s);
void session_end_stream(struct session *s);
void session_drop_stream(struct session *s);

/* emit.c */
/* The event alone: nothing that is held back goes before it. */
void session_emit_update(struct session *s, enum harness_update kind, struct slice update,
			 struct slice meta, uint64_t origin);
void session_emit(struct session *s, enum harness_update kind, struct slice update,
		  struct slice meta, uint64_t origin);
void session_emit_turn_end(struct session *s, const struct session_turn *t,
			   const struct turn_result *r);
void session_harness_event(struct session *s, const struct harness_event *ev);
/* An _acpd/event; kind: one of ours; data: raw members of the event. */
void session_note(struct session *s, enum event_kind kind, struct slice data);

/* question.c */
void session_ask(struct session *s, const struct harness_ask *a);
void session_unask(struct session *s, uint64_t harness_id);
/* Answers all open questions "cancelled" towards the harness and withdraws them from clients. */
void session_cancel_questions(struct session *s);
/* Puts what is open to the new driver. */
void session_reissue_questions(struct session *s, struct watcher *w);
void session_hold_questions(struct session *s, struct watcher *gone);

/* reader.c */
void session_wake_readers(struct session *s);
/* No event follows: what is left is read, then the readers end. */
void session_finish_readers(struct session *s);
/* The session goes: readers hold nothing of it any more. */
void session_drop_readers(struct session *s);

/* upcall.c */
void session_drop_ports(struct session *s);

/* mcp_servers.c */
/* What the harness is to be given, to s->given; nothing may be started if it fails. */
int mcp_servers_open(struct session *s, struct err *e);
void mcp_servers_close(struct session *s);
void mcp_servers_forget(struct session *s);

/* session_log.c: a line of the log at level info, with session, current turn and trace; then pairs, as log_write takes them. */
void session_log(const struct session *s, const char *event, ...) __attribute__((sentinel));
void turn_log(const struct session_turn *t, enum log_level level, const char *event, ...)
	__attribute__((sentinel));
/* watcher.c */
void session_wake(struct session *s);
struct watcher *session_driver(struct session *s);
void session_detach_all(struct session *s, const char *reason);
