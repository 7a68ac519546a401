/*
 * standing.h - a program of ours that stands beside the daemon (acpd-fetch, acpd-proxy): found, started at its first use
 * with a socket to it, and again after its death.
 *
 * A run is one process and its socket (loop/frame_channel.h). The program is told as "serve UID GID" who to become, has
 * the socket as descriptor 3, and says with a frame of the type `ready` that it is confined. A run is lost when its
 * socket ends or something on it is against the rules; its process is killed then, and the next run may begin before it
 * is gone. One that dies again and again is started less and less often.
 *
 * Embedded in its owner, who fills the first members. Callbacks come from the loop, but for begun.
 */
#pragma once

#include "loop/frame_channel.h"
#include "proc/proc.h"

#define STANDING_WHY_SIZE 256

struct standing;

struct standing_run {
	struct list link; /* in runs */
	struct standing *of;
	struct proc *proc;
	struct frame_channel channel;
	uint64_t started_ms;
	uint32_t serial;
	bool ready; /* it has said so */
	bool lost;  /* its socket has ended */
};

struct standing_ops {
	struct frame_channel_ops channel; /* types, standing_take, standing_lost */
	unsigned ready;
	/* Its first frames. Called by standing_get. */
	void (*begun)(void *ctx, struct standing_run *run);
	/* After it was ready; <0: against the rules. */
	int (*frame)(void *ctx, struct standing_run *run, const struct frame *f);
	/* Nothing more will come of it. Once; the run is freed behind it, or later. */
	void (*ended)(void *ctx, struct standing_run *run, const char *why);
};

int standing_take(void *ctx, const struct frame *f, int *fd);
void standing_lost(void *ctx, const char *why);

struct standing {
	struct loop *loop;
	struct proc_host *procs;
	const char *name, *variable; /* "acpd-fetch", "ACPD_FETCH" */
	const char *option;	     /* that says as whom it runs, for messages */
	char *program;		     /* where it is; NULL: it is not there */
	char *user,
		*agent_user; /* who it is to be, NULL: standing_user chooses; and who it may not be */
	char *argument;	     /* one more; or NULL */
	const struct standing_ops *ops;
	void *ctx;

	struct list runs;
	struct standing_run
		*run; /* the one that is asked; NULL: standing_get would have to start one */
	uint32_t serial;
	uint64_t wait_ms, not_before_ms; /* after it died: no run before that time */
};

/* Its members are set; the texts are its own from now on. */
void standing_init(struct standing *s);
/* Ends all runs, waits for that, and frees the texts. */
void standing_done(struct standing *s);
/* The run to ask; NULL with why: there is none, and none can be started now. */
struct standing_run *standing_get(struct standing *s, char why[STANDING_WHY_SIZE]);
/* The run that is asked is ended, and forgotten at once with all that it knows; the next one may begin. */
void standing_break_off(struct standing *s);

/* Who a program runs as where the daemon is root: who was asked for, else the first of its own name, nobody and daemon
 * that is there and not the agent's. -EINVAL with e: that user is not there, is root, or the agent's. */
int standing_user(const struct standing *s, uid_t *uid, gid_t *gid, struct err *e);

struct jw;
/* Members of w: {program?, missing?, user?}. */
void standing_put_status(const struct standing *s, struct jw *w);
