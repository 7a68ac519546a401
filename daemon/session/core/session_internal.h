/*
 * session_internal.h - the insides of a session, for the files of session/ alone: its core. What else belongs to it is
 * the state of its parts (session_part.h).
 *
 * A session is made by session_blank, and freed by the store when nothing of it runs any more. Functions return 0 or a
 * negative errno with e filled.
 */
#pragma once

#include "session/core/session.h"
#include "session/core/session_host.h"

#include "base/buf.h"
#include "session/core/harness/harness_internal.h"
#include "session/core/log/log_internal.h"
#include "session/core/log/reader.h"
#include "session/core/redact/redact_internal.h"
#include "session/core/activity.h"
#include "session/core/store/store_internal.h"
#include "session/core/turn/turn_internal.h"

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_CLOSING, SESSION_CLOSED };

/* Somebody who waits for the harness to be ready, or for the session to be closed. */
struct session_waiter {
	struct list link;
	session_done_fn done;
	void *ctx;
	uint64_t since; /* monotonic */
};

struct session {
	struct list link;
	struct session_store *store;
	uint64_t number;
	char *id, *cwd, *title, *home;
	const char *workdir; /* where its programs work, borrowed from a part; NULL: in cwd */
	const char *
		overlay; /* what its programs see at cwd instead, borrowed from a part; NULL: cwd */
	const struct harness_def *def;
	struct agent_user user; /* as whom everything of it runs */
	enum session_state state;
	uint64_t updated_ms;
	struct list close_waiters; /* struct session_waiter */
	struct loop_task advance_task;
	struct list working_link; /* activity.h; empty: it rests */

	/* who follows it */
	struct list watchers, observers; /* struct watcher; only the first of them may change it */
	enum when_detached when_detached;
	unsigned client;
	struct loop_timer detach_timer;

	/* what the harness is started with */
	struct setup setup;
	struct {
		struct setup *before; /* while a load is open: what it was, should the load fail */
		bool reopening, restarting; /* it found the session closed; or about to restart */
		unsigned pending; /* enum setup_change: given, and waits for the end of the turn */
	} load;

	struct session_turns turn;
	struct session_harness harness;
	struct session_events log;
	struct session_redact redact;
	struct session_stored stored;

	void *parts[]; /* the state of each part, by enum session_part_id; read by its accessor alone */
};

/* session_states.c */
/* Decides what happens next, from the loop (session_next). */
void session_advance(struct session *s);
void session_touch(struct session *s);
/* Another who waits, at the end of a list of struct session_waiter. */
void session_wait(struct list *waiters, session_done_fn done, void *ctx);

/* session_facts.c */
/* Something new may be begun: SHUTTING_DOWN, DRAINING. */
int store_admit(const struct session_store *st, struct err *e);
/* It stands in the queue for a harness (harness_pool.c). */
bool session_awaits_harness(const struct session *s);
/* Something is under way in it, or somebody waits for it. */
bool session_is_busy(const struct session *s);

/* life/session_life.c */
/* With home and journal, not started; NULL with e. from: what it is a fork of, or NULL. */
struct session *session_prepared(struct session_store *st, const struct session_params *p,
				 const struct session *from, struct err *e);
/* Starts the first harness, unless a part starts it later. */
int session_launch_first(struct session *s, struct err *e);
/* The setup has changed so (enum setup_change): a running harness is started anew if it has to be, after its turn. */
void session_restart_for(struct session *s, unsigned changed);
void session_closed(struct session *s);
/* session_facts.c: the provider of the API that the session was pointed to, as spans and records name it; reported where
 * its API says nothing. */
const char *session_provider_name(const struct session *s, const char *reported);

/* life/session_fork.c: begins the copies of its home that wait for the end of its harness. */
void session_fork_go_on(struct session *s);

/* session/parts/session_next.c: the one place that decides it. ctx: the session. */
void session_next(void *ctx);
