/*
 * session_part.h - the hooks of a part of a session, called at fixed points of the session's life.
 *
 * A part is a folder of session/ with one row of hooks; session_parts.c lists the rows. The core calls a hook for all
 * parts, in the order of that list. A new part adds its row to the list.
 *
 * Every hook may be NULL. Hooks run on the event loop and cannot fail. The put hooks write members of an open JSON
 * object.
 */
#pragma once

struct jw;
struct session;

struct session_part {
	const char *name;

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
};

void session_parts_create(struct session *s);
void session_parts_inherit(struct session *s, const struct session *from);
void session_parts_setup_changed(struct session *s);
void session_parts_forget_keys(struct session *s);
void session_parts_put_status(struct jw *w, const struct session *s);
void session_parts_shut(struct session *s);
void session_parts_drop(struct session *s);
void session_parts_free(struct session *s);
