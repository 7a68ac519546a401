/*
 * session_part.h - the hooks of a part of a session, called at fixed points of the session's life.
 *
 * A part is a folder of session/parts/ with one row of hooks; session/parts/session_parts.h lists the rows. The core calls
 * a hook for all parts, in the order of that list, and knows no part by its name. A part owns its state, which lies in
 * the memory of the session; others read it by the accessor in the part's header (draft_of, and so on).
 *
 * Every hook may be NULL. Hooks run on the event loop, and must not block. A hook that returns void cannot fail. One that
 * returns an int fails with a negative errno, and fills e if it has that argument. It is called with PARTS_FIRST: the first
 * result other than 0 counts, and the parts after it are not called. What 1 means is written at the hook. The put hooks
 * write members of an open JSON object.
 */
#pragma once

#include "harnesses/harness.h"
#include "json/jenc.h"
#include "session/core/turn/turn_internal.h"

/* Before the finish reason: why there was the turn; after it: what came of it. */
enum span_place { SPAN_CAUSE, SPAN_OUTCOME };

enum record_place { RECORD_HEAD, RECORD_STATE, RECORD_END };

/* What a session is asked to have. */
struct setup_request {
	const struct session_store *store;
	const struct harness_def *harness;
	const struct setup *have; /* NULL: there is no session yet */
	const struct setup_params *params;
};

struct err;
struct jw;
struct span_note;
struct session;
struct session_store;
struct setup;
struct setup_params;
struct harness_def;
struct session_params;
struct session_parameter;
struct store_work;
struct watcher;
struct harness_ask;
struct harness_plan;
struct harness_request;
struct proc_bounds;
struct proc_status;
struct turn_error;
struct store_config;
struct store_totals;

struct session_part {
	const char *name;
	size_t size; /* bytes of its state; 0: it has none */
	/* The rows of its parameters, with NULL at the end (session_parameter.h). */
	const struct session_parameter *const *parameters;

	/* Initializes the part of a new session, whose memory is zeroed: its empty lists. */
	void (*create)(struct session *s);
	/* A new session has been given p, which is borrowed, and nothing has been made of it. */
	void (*begin)(struct session *s, const struct session_params *p);
	/* Chooses the user or the directory of a new session. from: the original of a fork, or NULL. On failure unplace of all
	 * parts follows. */
	int (*place)(struct session *s, const struct session_params *p, const struct session *from,
		     struct err *e);
	/* Reverts place, after it has failed in this part or another one. Also called if place was not. */
	void (*unplace)(struct session *s);
	/* The session was made and cannot be kept: nothing has been written for it. */
	void (*unmake)(struct session *s);
	/* Begins what precedes the first harness of a new session. 1: the harness waits for it, and session_launch_first
	 * follows; 0: there is nothing. */
	int (*precede)(struct session *s, const struct session_params *p, struct err *e);
	/* The first harness of a session may start. 1: the part starts it later (harness_pool_launch), or answers those who
	 * wait for it with an error. */
	int (*launch_first)(struct session *s, struct err *e);
	/* Checks the requested parameters before anything changes. */
	int (*check_setup)(const struct setup_request *r, struct err *e);
	/* Checks the same against the ceiling of a token that is limited to the session. */
	int (*check_ceiling)(const struct session *s, const struct setup_params *p,
			     const struct setup_params *ceiling, struct err *e);
	/* Check that a closed session can be opened, and that any session can be opened with p. */
	int (*check_reopen)(const struct session *s, struct err *e);
	int (*check_open)(const struct session *s, const struct session_params *p, struct err *e);
	/* Checks that the files of a closed session can be read. */
	int (*check_files)(const struct session *s, struct err *e);
	/* Checks that something other than a turn can copy or write files of the session. what: begins the message of e. */
	int (*check_touch)(const struct session *s, const char *what, struct err *e);
	/* Starts the work that p requests for a session that is opened again. A failure ends the call before the setup changes; a
	 * later one fails the waiters of the session. */
	int (*open_again)(struct session *s, const struct session_params *p, struct err *e);
	/* p has been applied to the session. The call waits for the harness. */
	void (*opened)(struct session *s, const struct session_params *p);
	/* Copies to s, a fork, the state that it shares with its original. Both have their setup. */
	void (*inherit)(struct session *s, const struct session *from);
	/* Applies a setup that changed while the session is open. */
	void (*setup_changed)(struct session *s);
	/* Stops all helpers that have keys of the session, before forget_keys. The core stops the harness. */
	void (*stop_helpers)(struct session *s);
	/* Forgets the keys and secrets that clients gave the session: the sandbox is a copy of another one. The harness has
	 * exited. */
	void (*forget_keys)(struct session *s);

	/* Writes members of the session's status, and of the answer that opens the session. */
	void (*put_status)(struct jw *w, const struct session *s);
	/* Writes members of the answer that opens the session only, before those of put_status. */
	void (*put_opened)(struct jw *w, const struct session *s);

	/* Writes members of the journal's record of the session, and takes them up from there. The order of members in the
	 * record stays as it is, so that an unchanged session writes the same bytes. */
	void (*put_record)(struct jw *w, const struct session *s, enum record_place at);
	void (*load_record)(struct session *s, struct slice record);
	/* The same of what stands for events that were given up; and of the summary of a closed session. */
	void (*put_base)(struct jw *w, const struct session *s);
	void (*load_base)(struct session *s, struct slice base);
	void (*put_summary)(struct jw *w, const struct session *s);
	void (*load_summary)(struct session *s, struct slice summary);
	/* An event of an earlier daemon. event: raw. */
	void (*recall_event)(struct session *s, unsigned kind, struct slice event);
	/* The turn of the events recalled so far is over: by an event that was read, or that is written now (close). */
	void (*recall_turn_end)(struct session *s, bool close);
	/* The journal has been read. */
	void (*recovered)(struct session *s);

	/* A client begins to drive the session; is to be told what is open; lets go; can no longer answer. */
	void (*driver_ready)(struct session *s, struct watcher *w);
	void (*driver_gone)(struct session *s, struct watcher *w);
	void (*driver_mute)(struct session *s, struct watcher *w);

	/* Makes session_tree readable. It stays so at least until the part is told to shut, or changes the tree. */
	int (*open_tree)(struct session *s, struct err *e);

	/* --- its harness --- */
	/* Creates what the processes of the session run in, before the first of them and again before each harness.
	 * After a failure before a harness, disconnect follows. */
	int (*open_bounds)(struct session *s, struct err *e);
	/* Adds to the bounds of a process of the session. */
	void (*put_bounds)(const struct session *s, struct proc_bounds *b);
	/* Opens what the harness connects to. 1: the harness waits until the part calls harness_walled. */
	int (*connect)(struct session *s, struct err *e);
	/* The harness has exited, or could not be started: closes what connect opened. Also called if connect was not. */
	void (*disconnect)(struct session *s);
	/* Fills what the harness is asked for; what r points to lives until the next call, or with the session. */
	void (*put_request)(const struct session *s, struct harness_request *r);
	/* Adds variables to the environment of every process of the session, and files to the home of its harness. */
	void (*put_env)(const struct session *s, struct harness_plan *plan);
	void (*put_files)(const struct session *s, struct harness_plan *plan);
	/* Why the harness has ended unasked, if the part knows: fills ret. */
	bool (*explain_exit)(struct session *s, const struct proc_status *st,
			     struct turn_error *ret);
	/* The harness has ended, and nothing it asked can be answered. Also when it is at the end of its part in a turn. */
	void (*cancel_questions)(struct session *s);
	/* The harness asks, or takes its question back. */
	void (*ask)(struct session *s, const struct harness_ask *a);
	void (*unask)(struct session *s, uint64_t id);
	/* Whether the daemon counts the model calls of the session itself. */
	bool (*meters_calls)(const struct session *s);
	/* enum harness_rules: what rules of the session the harness has to enforce. */
	unsigned (*rules_need)(const struct session *s);
	/* Those who wait for the harness are answered only later, after session_advance. */
	bool (*delays_answer)(const struct session *s);

	/* --- its turns --- */
	size_t turn_size; /* bytes of its state of each turn; 0: it has none */
	/* check_prompt checks that the session accepts this prompt. turn_queued: it is about to enter the queue. */
	int (*check_prompt)(const struct session *s, const struct prompt_params *p, struct err *e);
	void (*turn_queued)(struct session_turn *t, const struct prompt_params *p);
	/* Something that uses the machine begins or has ended: reports what happened to the machine since the last call. */
	void (*watch)(struct session *s);
	/* The turn has its number; it begins: before its prompt is written down; and before its harness is told. 1: the part has
	 * ended the turn. */
	void (*turn_numbered)(const struct session *s, struct session_turn *t);
	void (*turn_begin)(struct session *s, struct session_turn *t);
	int (*turn_start)(struct session *s, struct session_turn *t);
	/* Members of the journal's note of a turn that has begun; and of a turn's end, wherever it is told. */
	void (*put_begun)(const struct session_turn *t, struct jw *w);
	void (*put_end)(const struct session_turn *t, struct jw *w, enum turn_end_place at);
	/* Adds attributes to the span of a turn that has ended. */
	void (*put_span)(const struct session_turn *t, struct span_note *n, enum span_place at);
	/* _meta of the prompt, for the harness; empty: as the client gave it. It may borrow from b. */
	struct slice (*prompt_meta)(const struct session_turn *t, struct buf *b);
	/* The harness has said or done something in the turn: before it is told, and after. */
	void (*output)(struct session_turn *t, enum harness_update kind, struct slice update);
	void (*output_told)(struct session *s);
	/* A model call that the harness reports. */
	void (*model_call)(struct session *s, const struct harness_usage *u);
	/* A tool call begins, is announced by an update or a question, or is over; and the harness itself says so. */
	void (*tool_call_begin)(struct session *s, struct turn_tool_call *c);
	void (*tool_call_announced)(struct session *s, struct turn_tool_call *c,
				    struct slice update, enum call_source word);
	void (*tool_call_end)(struct session *s, struct turn_tool_call *c, bool ok, uint64_t ms);
	void (*tool_call_reported)(struct session *s, bool ok);
	/* Nothing more will be said of the tool calls of the turn. */
	void (*tool_calls_left)(struct session *s);
	/* The stop reason that the part insists on; NULL: none. */
	const char *(*stop_reason)(const struct session_turn *t);
	/* The harness's part in the turn is over. stopped: whatever it still does is no longer the turn's. */
	void (*turn_left)(struct session *s, struct session_turn *t, bool stopped);
	/* The harness has ended the turn well. 1: the part has it now (held), and calls turn_close. */
	int (*turn_hold)(struct session *s, struct session_turn *t);
	/* A turn that the part holds ends so; the part calls turn_close. Or nobody waits for the part any more. */
	void (*turn_stop)(struct session *s, struct session_turn *t,
			  const struct harness_turn_end *end);
	void (*turn_abandon)(struct session_turn *t);
	/* The turn is being closed, and is still the current one; it no longer is. */
	void (*turn_closing)(struct session *s, struct session_turn *t);
	void (*turn_closed)(struct session *s, struct session_turn *t);
	/* Another turn should go on with the prompt. Then next follows t. */
	bool (*wants_next)(const struct session *s, const struct session_turn *t);
	/* turn_record writes the record of the turn. On failure the turn fails. turn_count counts a turn that has a record. */
	int (*turn_record)(struct session *s, struct session_turn *t);
	void (*turn_count)(struct session *s, struct session_turn *t);
	/* The turn has ended, and is on record unless it failed for that; it failed after all. */
	void (*turn_ended)(struct session *s, struct session_turn *t);
	void (*turn_failed_late)(struct session *s, struct session_turn *t);
	/* True: the answer waits until done is called. */
	bool (*turn_wait)(struct session *s, struct session_turn *t,
			  void (*done)(struct session_turn *t));
	/* What is told of the end of t later, or of an earlier daemon's turn by its note or record; what next, which was to
	 * follow t and never began, has of it. */
	void (*turn_copy)(struct session_turn *to, const struct session_turn *from);
	void (*turn_load)(struct session_turn *t, struct slice record, bool ended);
	void (*turn_follow)(const struct session_turn *t, struct session_turn *next);
	void (*turn_free)(struct session_turn *t);
	/* The end of a turn of an earlier daemon, acpd: of its event. True: its prompt goes on. And after all: next is the turn
	 * that was to go on with it. */
	bool (*recall_ended)(struct session *s, struct slice acpd);
	bool (*recall_next)(struct session *s, struct session_turn *next);
	/* Members of acpd as the result of a prompt with a key keeps them; of one that failed. False: nothing was written. */
	bool (*put_kept)(struct jw *w, struct slice acpd, bool failed);
	/* Members on what the session has used, of its status. */
	void (*put_use)(struct jw *w, const struct session *s);

	/* The workspace or the home is being written: no harness may start, and the files stay. */
	bool (*is_preparing)(const struct session *s);
	/* Something waits for the harness, or for what it asked: it is not idle. */
	bool (*holds_harness)(const struct session *s);
	/* A job is under way, or other work: the session is not idle, its harness may be. */
	bool (*has_job)(const struct session *s);
	bool (*is_working)(const struct session *s);
	/* Adds what is under way, and when it will end by itself. */
	void (*put_work)(const struct session *s, struct store_work *ret);

	/* The session is closed, and is deleted if removed. */
	void (*closed)(struct session *s, bool removed);
	/* Releases resources outside the daemon's memory: mounts, namespaces, cgroups, servers. All processes of the session
	 * have exited. The session may be opened again. Idempotent: runs again before drop. */
	void (*shut)(struct session *s);
	/* Answers all waiters of the part and detaches objects that point at it: the session is being freed. Callbacks may
	 * still read all parts. */
	void (*drop)(struct session *s);
	/* Frees the part's memory. Calls nothing back. */
	void (*free)(struct session *s);
	/* The daemon ends: cancels the work of the part for the session. */
	void (*stop)(struct session *s);
	/* A client cancels the work of the session. The core has cancelled its turns. */
	void (*cancelled)(struct session *s);
	/* Ends what was requested with ctx: its done follows, with an error unless it is complete. False: there is none. */
	bool (*cancel_work)(struct session *s, const void *ctx);

	/* What the part keeps for all sessions: in struct session_store, as the state of a session is in struct session. */
	size_t store_size;
	/* The terms of the store are set: when it is made, and again when the daemon is claimed. */
	void (*store_configure)(struct session_store *st);
	/* The state directories are made. Nothing has been recovered or removed, and no child has been started. */
	int (*store_open)(struct session_store *st, const struct store_config *cfg, struct err *e);
	/* Files can be removed from now on; no session has been recovered. */
	void (*store_begin)(struct session_store *st);
	/* The daemon ends: helpers are ended, and none is started. */
	void (*store_stop)(struct session_store *st);
	/* The sessions are freed. Also after a store_open that failed. */
	void (*store_free)(struct session_store *st);
	/* Fills the part's members of ret. */
	void (*store_totals)(const struct session_store *st, struct store_totals *ret);
	/* The files of a deleted session, or of a workspace at path, are gone. */
	void (*store_removed)(struct session_store *st, const char *id);
	void (*store_tree_removed)(struct session_store *st, const char *path);
	/* A job in the background has ended. */
	void (*store_idle)(struct session_store *st);
};

/* Whether a session can be given these parameters, before anything changes. have: its setup; NULL: it is new. */
int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e);

/* The table: session/parts/session_parts.c. */
extern const struct session_part *const session_parts[];
extern const size_t session_parts_count;

/* The parts that have the hook at that offset, in order, with NULL at the end. Found once, and kept. */
const struct session_part *const *session_parts_with(size_t hook);

#define PARTS_WITH(hook) session_parts_with(offsetof(struct session_part, hook))
/* Calls a hook of all parts that have it, with these arguments. */
#define PARTS_CALL(hook, ...)                                                                      \
	do {                                                                                       \
		for (const struct session_part *const *p_ = PARTS_WITH(hook); *p_; p_++)           \
			(*p_)->hook(__VA_ARGS__);                                                  \
	} while (0)
/* The first answer that is not 0, false or NULL; the parts after it are not called. */
#define PARTS_FIRST(hook, ...)                                                                     \
	({                                                                                         \
		__typeof__(session_parts[0]->hook(__VA_ARGS__)) answer_ = 0;                       \
                                                                                                   \
		for (const struct session_part *const *p_ = PARTS_WITH(hook); !answer_ && *p_;     \
		     p_++)                                                                         \
			answer_ = (*p_)->hook(__VA_ARGS__);                                        \
		answer_;                                                                           \
	})

/* Memory of its owner (a session, a turn, the store), zeroed, with the states of the parts behind it. size: the member of struct
 * session_part that says how long they are. */
#define PARTS_ALLOC(owner, size)                                                                   \
	((struct owner *)session_parts_alloc(sizeof(struct owner), offsetof(struct owner, parts),  \
					     offsetof(struct session_part, size)))
void *session_parts_alloc(size_t owner, size_t parts, size_t size);
/* Members of the parts, for the answer that opens the session. */
void session_parts_put_opened(struct jw *w, const struct session *s);
unsigned session_parts_rules_need(const struct session *s);
