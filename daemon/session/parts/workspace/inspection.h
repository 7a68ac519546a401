/*
 * inspection.h - runs of acpd-unpack that only read what belongs to a session: snapshots, diffs, lists of skills.
 * Embedded in whatever wants to know; a session is not freed while one goes on.
 */
#pragma once

#include "session/core/session_internal.h"
#include "workspace/helper_job.h"

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
bool inspections_running(const struct session *s);
/* session_advance is called when each of them has ended. */
void inspections_abort(struct session *s);
/* Fills in what the client that cancelled its request is answered, and returns it. */
const struct err *inspection_cancelled(struct err *e);
