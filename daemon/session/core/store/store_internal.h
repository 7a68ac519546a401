/*
 * store_internal.h - all sessions of the daemon: the lists they stand in, the limits they share, and what lies on disk
 * for them.
 *
 * This folder owns struct session_store, and of each session struct session_stored, which stands in struct session as
 * `stored`. There is one store, made and freed by cmd_serve; sessions are freed by it, from deferred tasks. What
 * is found damaged is noted (problems.c) and stops nothing.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "session/core/harness/harness_internal.h"
#include "session/core/session.h"
#include "session/core/activity.h"
#include "session/core/removal.h"
#include "proc/users/agent_user.h"
#include "proc/users/uid_range.h"
#include "usage/ledger/ledger.h"

struct journal_record;
struct session;

/* In struct session_store: recovery. */
struct store_recovery {
	struct list dormant; /* journals of earlier daemons, not yet read */
	struct loop_timer timer;
	struct list
		unchecked; /* sessions taken up by their summaries, whose journals are to be read */
	struct evlog_check *check; /* of the first of them; NULL: not begun */
	struct loop_timer check_timer;
};

/* In struct session_store: retention (retain.c). */
struct store_retention {
	struct loop_timer timer, pressure_timer;
	bool cramped; /* the disk is full, and nothing could go */
	struct proc *measuring;
	int64_t measured;
	char *measured_id;
};

/* In struct session_store: by_id. A hash table with chains: a session is linked into it by its member stored.same_slot, from
 * session_blank to session_free. Zeroed at first. */
struct session_index {
	struct session **slots;
	size_t nslots, n; /* nslots: a power of two */
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
	struct store_terms terms;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
	struct store_totals totals; /* running is counted when asked */
	struct buf scratch;	    /* for encoding one event */
	struct ledger *ledger;
	struct workspaces workspaces;
	struct removal_queue *removal;
	struct fetcher *fetcher;
	struct egress *egress;
	struct outbox *outbox;
	struct list problems; /* problems.c */
	size_t nproblems;     /* found, also those beyond the list */

	struct agent_user user; /* --agent-user: of what belongs to no session */
	struct harness_pool pool;
	struct store_recovery recovery;
	struct store_retention retention;
	struct store_activity activity;

	void *parts[]; /* what each part keeps for all sessions, as in struct session */
};

/* In struct session: stored. */
struct session_stored {
	struct session *same_slot; /* in struct session_index */
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

/* problems.c */
void problems_done(struct session_store *st);

/* session_journal.c */
/* Opens the journal of a new session (or none) and writes its head record. NO_SPACE, STATE_NOT_WRITABLE. */
int journal_open(struct session *s, struct err *e);
/* What follows when the journal of s cannot be written, and when it can be again. */
void journal_watch(struct session *s);
/* What a later life needs of the events up to to, if they are not read. */
void trim_put_base(struct session *s, struct buf *b, uint64_t to);
/* Reads a record "base" or "ack" back. */
void trim_load_base(struct session *s, struct slice value);
/* There is no room: gives up what may be, first of all if the disk is full. True: something was. */
bool trim_now(struct session *s, bool disk_full);
/* A fork of a session whose head is gone notes that of itself. */
void trim_inherit(struct session *s);
/* The client has all that it could want to keep: everything but how the session was closed. */
bool trim_stored(const struct session *s);
/* Whether the disk of the state directory has that many bytes left, as far as it says. */
bool store_has_space(const struct session_store *st, uint64_t bytes);

/* retain.c */
/* When it was closed, unix ms. */
uint64_t retain_closed_at(const struct session *s);
void retain_begin(struct session_store *st);
void retain_stop(struct session_store *st);
void retain_done(struct session_store *st);
/* A session has been closed, or more of it acknowledged. */
void retain_check(struct session *s);
/* Something could not be written for want of room. */
void retain_pressure(struct session_store *st);

/* session_recover.c */
/* Notes which journals there are and begins to read them in the background. */
void recover_begin(struct session_store *st);
/* Reads that one now, if there is such a journal. */
struct session *recover_one(struct session_store *st, const char *id);
/* A session whose journal has just been put there, of a bundle. NULL: it could not be read. */
struct session *recover_new(struct session_store *st, const char *id);
/* What of the journal of s is damaged goes to log, /ready and those who are told elsewhere. */
void recover_report_damage(struct session *s);
/* Reads all that are left. */
void recover_all(struct session_store *st);
void recover_done(struct session_store *st);

/* session_summary.c */
/* Writes the summary of s, if it is due; that it cannot be written does no harm. */
void summary_write(struct session *s);
/* ctx: the session, none of whose turns has ended for SESSION_IDLE_MS. Gives back the memory of its log. */
void session_idle(void *ctx);
/* The same for the last time: s goes. */
void summary_done(struct session *s);
/* Takes up s from its summary: fn gets the records. False: there is none that holds, and nothing has been done. */
bool summary_take(struct session *s, void (*fn)(void *ctx, const struct journal_record *rec),
		  void *ctx);

/* The journal of s is to be read in the background. */
void journal_check_later(struct session *s);
void journal_checks_done(struct session_store *st);

/* session_memory.c */
/* In the store's list, with nothing in it but its id. */
struct session *session_blank(struct session_store *st, const char *id);
void session_free(struct session *s);
/* Removes the files of a deleted session. If they cannot be removed, the session stays, closed. */
int session_put_away(struct session *s, struct err *e);
void session_index_free(struct session_index *x);
/* NULL: there is none. */
struct session *session_index_find(const struct session_index *x, const char *id);
