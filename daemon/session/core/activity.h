/*
 * activity.h - what the sessions of the daemon are doing: which of them work, how much is under way, and what will
 * happen by itself next.
 *
 * A session works while a turn, a question, a call of a tool or a model, or a job on its workspace is open, or somebody
 * waits for its harness. A harness that only lives is no work, nor is a client that only watches. The session tells of
 * what may have changed that (activity_note); the store keeps those that work in a list and since when there is none. So
 * nothing here grows with the sessions that rest.
 *
 * One listener is told of every change, at once and often; it has to coalesce (lifecycle/lifecycle.h). It must not call
 * back into sessions.
 */
#pragma once

#include "base/list.h"

struct session;
struct session_store;

/* In struct session_store: activity. */
struct store_activity {
	struct list working;	       /* struct session, by working_link */
	uint64_t idle_mono, idle_real; /* since when it is empty */
	void (*changed)(void *ctx);
	void *ctx;
};

/* What will happen at a time unless something comes before. */
struct deadline {
	const char *what;	/* static word; NULL: nothing */
	uint64_t due;		/* monotonic ms */
	const char *session_id; /* borrowed; NULL: of no session */
};

struct store_work {
	unsigned sessions; /* that work */
	unsigned turns, queued, questions, tool_calls, model_calls, jobs;
	unsigned waiting; /* for a harness (harness_pool.c) */
	struct deadline next;
};

void activity_init(struct store_activity *a);
/* Something of s has begun or ended. */
void activity_note(struct session *s);
/* s is freed. */
void activity_forget(struct session *s);
/* ret becomes that deadline if it is earlier; due 0: there is none. */
void deadline_note(struct deadline *ret, const char *what, uint64_t due, const char *session_id);

void store_on_activity(struct session_store *st, void (*changed)(void *ctx), void *ctx);
void store_work(const struct session_store *st, struct store_work *ret);
/* No session works; since is then filled. */
bool store_idle(const struct session_store *st, uint64_t *mono, uint64_t *real);
