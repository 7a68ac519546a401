/*
 * inspection.h - runs of acpd-unpack that only look at what belongs to a session: snapshots, diffs, lists of skills.
 * Embedded in whatever wants to know; a session is not freed while one goes on.
 */
#pragma once

#include "session/session_internal.h"
#include "workspace/helper_job.h"

struct inspection {
	struct list link; /* in the session's looks */
	struct session *session;
	struct helper_job *helper;
	/* Once; then the owner calls inspection_done and frees what it is embedded in. */
	void (*ended)(struct inspection *k, struct slice report, const struct err *e);
};

/* On failure nothing has begun, and inspection_done is not to be called. */
int inspection_start(struct inspection *k, struct session *s, const char *verb, struct slice job,
		     void (*ended)(struct inspection *k, struct slice report, const struct err *e),
		     struct err *e);
void inspection_done(struct inspection *k);
/* Some go on in a session that is to be closed: they are told to stop, and session_advance is called then. */
bool inspections_stopping(struct session *s);
