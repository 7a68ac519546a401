/*
 * store_internal.h - all sessions of the daemon: the lists they stand in, the limits they share, and what lies on disk
 * for them.
 *
 * This folder owns struct session_store, and of each session struct session_stored, which stands in struct session as
 * `stored`. There is one store, made and freed by cmd_serve; sessions are freed by it, from deferred tasks. What
 * is found damaged is noted (problems.h) and stops nothing.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "session/core/harness/harness_internal.h"
#include "session/core/session.h"
#include "session/core/store/activity.h"
#include "session/core/store/problems.h"
#include "session/core/store/removal.h"
#include "session/core/store/session_index.h"
#include "proc/users/agent_user.h"
#include "proc/users/uid_range.h"
#include "usage/ledger/ledger.h"

/* In struct session_store: recovery. */
struct store_recovery {
	struct list dormant; /* journals of earlier daemons, not yet read */
	struct loop_timer timer;
	struct list
		unchecked; /* sessions taken up by their summaries, whose journals are to be read */
	struct evlog_check *check; /* of the first of them; NULL: not begun */
	struct loop_timer check_timer;
};

/* In struct session_store: retention (retain.h). */
struct store_retention {
	struct retention keep;
	struct loop_timer timer, pressure_timer;
	bool cramped; /* the disk is full, and nothing could go */
	struct proc *measuring;
	int64_t measured;
	char *measured_id;
};

struct session_store {
	struct loop *loop;
	struct proc_host *procs;
	const struct harness_table *harnesses;
	struct list sessions;
	struct session_index by_id;
	unsigned count;
	uint64_t last_number;
	char *state_dir, *incarnation, *pass_env;
	bool journal, stopping, draining; /* draining: nothing new is begun (session.h) */
	uint64_t journal_max;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
	struct store_totals totals; /* running is counted when asked */
	struct buf scratch;	    /* for encoding one event */
	struct ledger *ledger;
	struct workspaces workspaces;
	struct removal_queue *removal;
	struct fetcher *fetcher;
	struct outbox *outbox;
	struct problems problems;

	struct agent_user user; /* --agent-user: of what belongs to no session */
	struct harness_pool pool;
	struct store_recovery recovery;
	struct store_retention retention;
	struct store_activity activity;

	void *parts[]; /* what each part keeps for all sessions, as in struct session */
};

/* In struct session: stored. */
struct session_stored {
	struct session *same_slot; /* session_index.h */
	bool recovered;		   /* from the journal of an earlier daemon */
	struct list check_link;	   /* empty: its journal need not be looked at */
	bool headless;		   /* and its head is damaged */
	bool imported;		   /* it was made of a bundle: it can be read, and nothing else */
	char *harness;		   /* of one that was imported, and def with that name alone */
	struct harness_def def;
	bool remove;	    /* once it is closed */
	bool gone;	    /* put away, to be removed */
	bool unremovable;   /* it was to be deleted, and could not */
	uint64_t uid;	    /* as whom it ran, by its journal; 0: nothing is said */
	bool parked;	    /* its uid was given to others: parked_uids.h */
	bool kept_uid;	    /* which cannot be done, in this life */
	uint64_t closed_ms; /* unix; 0: in an earlier life */
	int64_t bytes;	    /* on disk, once closed; -1: not measured */
};

/* Ends store_stop if no child is left. A part calls it when its own job ends. */
void store_check_stopped(struct session_store *st);
/* ctx: the store. A job in the background has ended. */
void store_background_idle(void *ctx);
/* Something new may be begun: SHUTTING_DOWN, DRAINING. */
int store_admit(const struct session_store *st, struct err *e);

/* session_journal.c */
/* Opens the journal of a new session (or none) and writes its head record. NO_SPACE, STATE_NOT_WRITABLE. */
int journal_open(struct session *s, struct err *e);
/* What follows when the journal of s cannot be written, and when it can be again. */
void journal_watch(struct session *s);
