/*
 * draft_ops.h - one thing that is asked of a draft, for the files of this folder: its place in the queue, the claim on the
 * tree, and the run of acpd-unpack that carries it out.
 */
#pragma once

#include "session/parts/draft/draft_internal.h"
#include "session/core/session_internal.h"
#include "session/parts/workspace/workspace_internal.h"

struct draft_op;

struct draft_op_kind {
	const char *name;
	bool exclusive; /* no harness may live */
	/* Holds the claim now. 1: a job goes on; 0: done, with op->answer; -errno with e. */
	int (*begin)(struct draft_op *op, struct err *e);
	/* The job has ended; as begin. failed: e says why. */
	int (*ended)(struct draft_op *op, struct slice report, bool failed, struct err *e);
};

/* Who hears of its end, besides done. */
enum draft_waiter {
	DRAFT_WAITER_NONE,
	DRAFT_WAITER_START,
	DRAFT_WAITER_LOAD,
	DRAFT_WAITER_HARNESS,
	DRAFT_WAITER_FAILURES
};

struct draft_op {
	struct list link;
	struct session *s;
	const struct draft_op_kind *kind;
	enum draft_waiter waiter;
	session_set_fn done; /* or NULL */
	void *ctx;
	struct claim claim;
	struct inspection run;
	bool works, runs; /* the claim is asked for; a job goes on */
	bool discard, torn, recovers;
	uint64_t generation; /* that an apply found */
	uint64_t turn;	     /* that has ended */
	const char *why;     /* of one that begins by itself; a literal */
	char *digest, *patch;
	char *force;	   /* of an apply: raw array of paths, or NULL */
	char *missing;	   /* why it will be a copy */
	struct buf answer; /* members of the answer, or of the error's data */
};

extern const struct draft_op_kind draft_op_on, draft_op_off, draft_op_apply, draft_op_diff,
	draft_op_mount;

/* At the end of the queue. */
struct draft_op *draft_op_add(struct session *s, const struct draft_op_kind *kind,
			      session_set_fn done, void *ctx);
/* Begins the job of op. job: its own members follow the session's owner. 1, or -errno with e. */
int draft_op_run(struct draft_op *op, const char *verb, struct buf *job, struct err *e);
/* SESSION_CLOSING. */
int draft_op_refuse_closing(struct err *e);
/* Begins the job that tells what the draft changes. */
int draft_begin_diff(struct draft_op *op, struct err *e);
/* Members root, base, uid, gid; with view also view and overlay. Leaves the object open. */
void draft_op_put_job(struct draft_op *op, struct jw *w, bool view);
