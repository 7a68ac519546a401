/*
 * agui_threads.h - the threads of AG-UI clients: which session each is, and what it has been told.
 *
 * A thread is made with its session and lives as long: its file, <state>/agui/<sessionId>.json, goes with what else the
 * session leaves (session/core/removal.h), and an entry here when somebody asks for a thread whose session is gone. The
 * files are read at the first request. Settings have keys in them: they are kept in memory, and on disk as a digest.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "base/list.h"
#include "digest/digest.h"
#include "session/core/session.h"

#define AGUI_DIGEST_HEX 17

/* A message of the people that the thread has. */
struct agui_told {
	char *id; /* of a message, behind "u" for a person or "s" for a system */
	char digest[AGUI_DIGEST_HEX];
};

/* A call to the front end that is over, and what the harness calls it (NULL: that is not known). */
struct agui_over {
	char *id, *harness_id;
	char *tool;
	uint64_t args; /* agui_args_digest; while it is awaited */
	bool awaited;  /* the harness may still tell of it */
	bool lost;
};

struct agui_run;
struct agui_link;

struct agui_thread {
	struct list link;
	char *id, *session_id, *harness, *profile;
	char settings[SHA256_HEX], context[SHA256_HEX]; /* digests; empty: there are none */
	bool front_end;					/* it has had tools of a front end */
	struct agui_told *told;
	size_t ntold;
	struct agui_over over[AGUI_OVER_MAX];
	size_t nover;

	/* of this run of the daemon */
	struct buf given; /* its settings; a secret */
	bool goes_on; /* a turn whose reader leaves does: whenDetached is "continue" or "hold" */
	bool opened;  /* its session has had them */
	struct agui_run *run;
	struct agui_link *parked; /* a connection whose calls wait for the client */
};

struct agui_threads;

struct agui_threads *agui_threads_new(const char *state, struct session_store *store);
struct agui_threads *agui_threads_free(struct agui_threads *ts);
/* NULL: there is none, or its session is gone. */
struct agui_thread *agui_thread_find(struct agui_threads *ts, const char *id);
/* Without a session yet. */
struct agui_thread *agui_thread_add(struct agui_threads *ts, const char *id, const char *harness,
				    const char *profile);
void agui_thread_drop(struct agui_thread *t);
/* Its file is as it is. STATE_NOT_WRITABLE. */
int agui_thread_save(const struct agui_threads *ts, const struct agui_thread *t, struct err *e);

/* --- what it has --- */
void agui_thread_tell(struct agui_thread *t, const char *id, const char digest[AGUI_DIGEST_HEX]);
/* The oldest is forgotten for it. */
void agui_thread_call_over(struct agui_thread *t, const char *id, bool lost);
struct agui_over *agui_thread_over(struct agui_thread *t, const char *id);
/* The one that the harness calls so. */
struct agui_over *agui_thread_named(struct agui_thread *t, const char *harness_id);
/* The oldest of that tool that the harness has not told of. */
struct agui_over *agui_thread_untold(struct agui_thread *t, const char *tool);
/* The turn is over: the harness tells of none any more. */
void agui_thread_turn_over(struct agui_thread *t);
