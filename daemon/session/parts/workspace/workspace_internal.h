/*
 * workspace_internal.h - what of a session lies in its workspace and home, beside its history: what is put there,
 * snapshots of it, artifacts.
 *
 * This folder owns struct session_workspace. What runs for it outside
 * (inspections, provisioning) keeps the session from being freed until it has ended. Errors go to the caller; a
 * snapshot that fails is noted in the log and keeps no turn from ending.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "base/list.h"
#include "loop/loop.h"
#include "session/core/session_internal.h"
#include "workspace/helper_job.h"

struct provisioning;
struct session_turn;

/* State of the part. */
struct session_workspace {
	struct {
		struct list list; /* struct artifact; valid once read */
		bool read;
		unsigned n;
		uint64_t bytes, last;
	} artifacts;

	struct list inspections;    /* struct inspection */
	uint64_t export_lacks;	    /* how much the last archive that lacked something did */
	struct list diffs;	    /* asked for while a snapshot is taken */
	unsigned snapshots_running; /* snapshots being taken (baseline.c) */
	bool snapshot_again;	    /* a baseline is wanted when they are */
	bool baseline_ignoring;	    /* of fewer files: the whole tree has too many */
	bool seeded;		    /* its directory was begun by the extraction */
	bool baseline_is_due;	    /* until the newest is taken nobody is answered */
	struct session_turn *snapshot_turn; /* waits for the one at its end */
	void (*snapshot_done)(struct session_turn *t);
	struct loop_timer snapshot_timer;
	uint64_t last_diff;

	/* what is being put into workspace and home, and what came of the last time */
	struct provisioning *provisioning;
	char *provisioned, *refusal; /* raw objects */
	char *home_instructions;     /* for the harness's own configuration */
};

static inline struct session_workspace *workspace_of(const struct session *s)
{
	return s->parts[PART_WORKSPACE];
}

/* --- inspection.c --- */
/* Runs of acpd-unpack that only read what belongs to a session: snapshots, diffs, lists of skills. Embedded in their owner;
 * a session is not freed while one runs. */
struct inspection {
	struct list link; /* in the session's inspections */
	struct session *session;
	struct helper_job *helper;
	const void *asked_by; /* the request that may cancel it; NULL: none */
	/* Once; then the owner calls inspection_done and frees what it is embedded in. */
	void (*ended)(struct inspection *k, struct slice report, const struct err *e);
};

/* On failure nothing has begun, and inspection_done is not to be called. */
int inspection_start(struct inspection *k, struct session *s, const char *verb, struct slice job,
		     void (*ended)(struct inspection *k, struct slice report, const struct err *e),
		     struct err *e);
void inspection_done(struct inspection *k);
bool has_inspections(const struct session *s);
/* session_advance is called when each of them has ended. */
void inspections_abort(struct session *s);
/* What was asked for with ctx: an inspection, one that waits, or a provisioning (the hook cancel_work). */
bool workspace_cancel(struct session *s, const void *ctx);
/* Fills in what the client that cancelled its request is answered, and returns it. */
const struct err *inspection_cancelled(struct err *e);

/* --- provision.c --- */
/* Puts what a client asked for into a session's workspace and private home, before its harness is started or while it
 * lives. Until that has ended no harness is started and no turn begins. */

bool session_is_provisioning(const struct session *s);
/* It is at work, and does not wait for the baseline alone. */
bool provision_is_writing(const struct session *s);
/* Whoever asked is answered once the baseline is taken, too. */
void provision_answer(struct session *s);
/* The session is being closed. */
void provision_abort(struct session *s);
/* Undoes what was asked for with ctx, unless it is written. False: there is none. */
bool provision_cancel(struct session *s, const void *ctx);
/* Frees what is remembered of requests. */
void provision_done(struct session *s);
/* Hooks of the part (session_part.h): of a new session; of one that is opened by a load or a resume. */
int provision_first(struct session *s, const struct session_params *p, struct err *e);
int provision_admit(const struct session *s, const struct session_params *p, struct err *e);
int provision_again(struct session *s, const struct session_params *p, struct err *e);
