/*
 * session_part.h - the hooks of a part of a session, called at fixed points of the session's life.
 *
 * A part is a folder of session/parts/ with one row of hooks; session/parts/session_parts.h lists the rows. The core calls
 * a hook for all parts, in the order of that list, and knows no part by its name. A part owns its state, which lies in
 * the memory of the session; others read it by the accessor in the part's header (draft_of, and so on).
 *
 * Every hook may be NULL. Hooks run on the event loop and cannot fail. The put hooks write members of an open JSON
 * object.
 */
#pragma once

#include <stddef.h>

struct err;
struct jw;
struct session;
struct session_store;
struct store_config;
struct store_totals;

struct session_part {
	const char *name;
	size_t size; /* bytes of its state; 0: it has none */

	/* Initializes the part of a new session, whose memory is zeroed: its empty lists. */
	void (*create)(struct session *s);
	/* Copies to s, a fork, the state that it shares with its original. Both have their setup. */
	void (*inherit)(struct session *s, const struct session *from);
	/* Applies a setup that changed while the session is open. */
	void (*setup_changed)(struct session *s);
	/* Forgets the keys and secrets that clients gave the session: the sandbox is a copy of another one. The harness has
	 * exited. */
	void (*forget_keys)(struct session *s);

	/* Writes members of the session's status, and of the answer that opens the session. */
	void (*put_status)(struct jw *w, const struct session *s);
	/* Writes members of the answer that opens the session only, before those of put_status. */
	void (*put_opened)(struct jw *w, const struct session *s);

	/* Releases resources outside the daemon's memory: mounts, namespaces, cgroups, servers. All processes of the session
	 * have exited. The session may be opened again. Idempotent: runs again before drop. */
	void (*shut)(struct session *s);
	/* Answers all waiters of the part and detaches objects that point at it: the session is being freed. Callbacks may
	 * still read all parts. */
	void (*drop)(struct session *s);
	/* Frees the part's memory. Calls nothing back. */
	void (*free)(struct session *s);
	/* The daemon ends: what the part has at work for the session is cancelled. */
	void (*stop)(struct session *s);

	/* What the part keeps for all sessions: in struct session_store, as the state of a session is in struct session. */
	size_t store_size;
	/* Takes over what of cfg can be set late: when the store is made, and again when the daemon is claimed. */
	void (*store_configure)(struct session_store *st, const struct store_config *cfg);
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

/* The table: session/parts/session_parts.c. */
extern const struct session_part *const session_parts[];
extern const size_t session_parts_count;

/* Bytes of a session with the state of its parts. */
size_t session_parts_size(void);
void session_parts_create(struct session *s);
void session_parts_inherit(struct session *s, const struct session *from);
void session_parts_setup_changed(struct session *s);
void session_parts_forget_keys(struct session *s);
void session_parts_put_status(struct jw *w, const struct session *s);
void session_parts_shut(struct session *s);
void session_parts_drop(struct session *s);
void session_parts_free(struct session *s);
void session_parts_stop(struct session *s);

size_t store_parts_size(void);
void store_parts_place(struct session_store *st);
void store_parts_configure(struct session_store *st, const struct store_config *cfg);
/* Those of the parts before one that fails stay open. */
int store_parts_open(struct session_store *st, const struct store_config *cfg, struct err *e);
void store_parts_begin(struct session_store *st);
void store_parts_stop(struct session_store *st);
void store_parts_free(struct session_store *st);
void store_parts_totals(const struct session_store *st, struct store_totals *ret);
void store_parts_removed(struct session_store *st, const char *id);
void store_parts_tree_removed(struct session_store *st, const char *path);
void store_parts_idle(struct session_store *st);
