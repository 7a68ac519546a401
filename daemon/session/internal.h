/* internal.h - the session's insides, for the files of session/ alone. */
#pragma once

#include "session/session.h"

#include "base/buf.h"
#include "session/account.h"
#include "session/secrets.h"

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED };
enum harness_state { H_NONE, H_STARTING, H_READY, H_STOPPING };

struct store {
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
	char *user_name;
	uint64_t journal_max;
	unsigned permission_timeout;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
	struct store_totals totals; /* running is counted when asked */
	struct buf scratch;	    /* for encoding one event */
};

/* Somebody who waits for the harness to be ready, or for the session to be closed. */
struct waiter {
	struct list link;
	session_done_fn done;
	void *ctx;
};

/* A call that waits for the harness: set_mode, set_config. */
struct setting {
	struct list link;
	uint64_t token;
	char *mode; /* set_mode: the new mode */
	session_set_fn done;
	void *ctx;
	uint64_t due;
};

struct prompt_waiter {
	struct list link;
	turn_done_fn done;
	void *ctx;
};

enum turn_state { TURN_QUEUED, TURN_RUNNING, TURN_CANCELLING };

struct turn {
	struct list link;
	enum turn_state state;
	uint64_t no; /* 0 while queued */
	char *key, *content, *meta;
	uint64_t origin, outputs; /* outputs: chunks, tool calls, plans, questions so far */
	struct list waiters;
	struct account account;
};

/* The stored result of a turn that had a key. */
struct keyed {
	struct list link;
	char *key;
	uint64_t turn, seq;
	char *result; /* raw PromptResponse; NULL if it failed */
	struct turn_error error;
};

/* A tool call of the running turn. */
struct tool_call {
	struct list link;
	char *id; /* raw JSON string */
	bool open;
};

struct ask {
	struct list link;
	struct session *session;
	uint64_t harness_id;
	bool elicitation;
	char *params; /* raw object without sessionId */
	struct watcher *shown_to;
	struct loop_timer timer;
};

struct session {
	struct list link;
	struct store *store;
	uint64_t number;
	char *id, *cwd, *title, *home;
	const struct harness_def *def;
	enum session_state state;
	bool remove, restart, home_filled;
	enum when_detached when_detached;
	unsigned client;
	uint64_t updated_ms;

	/* what the harness is started with */
	struct setup setup;
	struct secrets secrets;

	/* the harness and its process */
	enum harness_state hstate;
	struct proc *proc;
	struct harness *harness;
	char *native_id;
	struct harness_caps caps;
	bool restored, closed_output;
	char *modes, *config;
	struct err start_error;
	struct list open_waiters, close_waiters, settings;
	uint64_t last_token;
	struct loop_timer start_timer, setting_timer, adapter_timer;

	/* turns */
	struct list turns; /* the first may be running */
	struct turn *current;
	unsigned queued;
	uint64_t turn_count;
	struct list keys;
	unsigned nkeys;
	struct list calls;
	unsigned ncalls;
	struct loop_timer cancel_timer, detach_timer, idle_timer;
	struct loop_task advance_task;

	struct list asks;
	unsigned nasks;
	struct list watchers;
	struct evlog log;
};

/* store.c */
void session_touch(struct session *s);
void session_free(struct session *s);
void store_check_stopped(struct store *st);

/* launch.c */
/* Starts the harness; hstate must be H_NONE. On success STARTING, the rest comes through the waiters. */
int harness_launch(struct session *s, struct err *e);
void harness_stop(struct session *s);
/* Calls everyone who waits for the harness; e NULL on success. */
void session_opened(struct session *s, const struct err *e);
void session_closed(struct session *s);

/* host.c: the callbacks an adapter uses. */
extern const struct harness_host_ops session_host_ops;
void session_settings_fail(struct session *s, const struct err *e);

/* turn.c */
/* The one place that decides what happens next: start the harness, begin a turn, close. Deferred. */
void session_advance(struct session *s);
void turn_finish(struct session *s, const struct harness_turn_end *end);
void turn_fail(struct session *s, const char *cls, bool retryable, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void turns_cancel_all(struct session *s);
void turns_free(struct session *s);

/* emit.c */
void session_emit(struct session *s, enum harness_update kind, struct slice update,
		  struct slice meta, uint64_t origin);
void session_emit_turn_end(struct session *s, const struct turn *t, const struct turn_result *r);
void session_harness_event(struct session *s, const struct harness_event *ev);
/* Puts mode, a raw JSON string, into the stored SessionModeState. */
void session_store_mode(struct session *s, struct slice mode);
/* Ends every open tool call as failed and forgets all. */
void session_close_calls(struct session *s);
void session_announce_call(struct session *s, struct slice tool_call);

/* ask.c */
void session_ask(struct session *s, const struct harness_ask *a);
void session_unask(struct session *s, uint64_t harness_id);
/* Answers all open questions "cancelled" towards the harness and withdraws them from clients. */
void session_cancel_asks(struct session *s);
/* Puts what is open to the new driver. */
void session_reissue_asks(struct session *s, struct watcher *w);
void session_hold_asks(struct session *s, struct watcher *gone);

/* watch.c */
void session_wake(struct session *s);
struct watcher *session_driver(struct session *s);
void session_detach_all(struct session *s, const char *reason);
