/*
 * leftovers.h - what a uid of a session leaves when its last session is gone: processes that got away, temporary files,
 * System V IPC, message queues. acpd-unpack removes it, as that uid, and then the uid is free (agent_uids.h).
 *
 * A uid is cleaned only when nobody else holds it and nothing of ours runs as it any more, because all of its processes
 * are killed. One is cleaned at a time. Where it fails the uid stays taken, and the next daemon tries again. Trees that
 * sessions worked on stay.
 */
#pragma once

#include "loop/loop.h"
#include "proc/proc.h"
#include "session/parts/users/agent_uids.h"

struct leftovers;

/* busy: something of ours runs as that uid; leftovers_wake when it may have ended. idle: a job has ended. */
struct leftovers_spec {
	struct loop *loop;
	struct proc_host *procs;
	struct agent_uids *uids;
	bool (*busy)(void *ctx, uid_t uid);
	void (*idle)(void *ctx);
	void *ctx;
};

struct leftovers *leftovers_new(const struct leftovers_spec *spec);
/* No job may be running. */
struct leftovers *leftovers_free(struct leftovers *l);
/* Nothing of that holder is left but what its uid owns elsewhere. One that holds no uid is nobody's. */
void leftovers_gone(struct leftovers *l, const char *holder);
/* Nobody may take that uid just now. */
bool leftovers_is_cleaning(const struct leftovers *l, uid_t uid);
void leftovers_wake(struct leftovers *l);
/* The job that cleans up after that uid, for acpd-unpack. */
void leftovers_put_job(const struct agent_uids *uids, uid_t uid, struct buf *ret);
/* A running job is killed, none is begun. */
void leftovers_stop(struct leftovers *l);
