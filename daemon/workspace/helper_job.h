/*
 * helper_job.h - one run of acpd-unpack: a job goes in, its report comes out. That program does everything that touches
 * foreign bytes or a tree that an agent can write; the daemon never does.
 *
 * A job may ask for confirmation ("confirm": true): then staged is called once everything is checked and nothing has
 * been done, and the job waits for helper_job_commit or helper_job_abort. done is called exactly once, from the loop,
 * and then the owner calls helper_job_free; not before.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "loop/loop.h"
#include "proc/proc.h"

struct helper_job;

struct helper_job_events {
	/* report: the raw object. NULL: the job needs no confirmation. */
	void (*staged)(void *ctx, struct slice report);
	/* e NULL: report is the raw "done" object. Else e says why (reasons of acpd-unpack, HELPER_FAILED,
	 * CANCELLED), and report is the raw "refused" or "failed" object, or empty. */
	void (*done)(void *ctx, struct slice report, const struct err *e);
};

struct helper_job_spec {
	const char *verb;
	struct slice job; /* raw object, one line */
	int data;	  /* becomes its descriptor 3; 0: none. Borrowed */
	struct proc_group *
		group; /* of the session that it works for, whose limits it shares; NULL: it works for none */
};

/* NULL with e. */
struct helper_job *helper_job_start(struct loop *loop, struct proc_host *procs,
				    const struct helper_job_spec *spec,
				    const struct helper_job_events *ev, void *ctx, struct err *e);
/* After staged. */
void helper_job_commit(struct helper_job *h);
/* Undoes the job at any point; done follows, with CANCELLED if the abort came in time. */
void helper_job_abort(struct helper_job *h);
/* For a job that may stop at any point; done follows. */
void helper_job_kill(struct helper_job *h);
/* For use in done: true if the program was killed, even after its report, so that it has not cleaned up. */
bool helper_job_torn(const struct helper_job *h);
struct helper_job *helper_job_free(struct helper_job *h);

/* Where acpd-unpack is: ACPD_UNPACK, or beside our own executable. NULL: not there. The caller frees. */
char *helper_job_program(void);
