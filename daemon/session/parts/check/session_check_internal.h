/*
 * session_check_internal.h - the checks of a session: the one run of them that goes on.
 *
 * This folder owns struct session_checks (`check` in struct session). The run frees itself when it has ended; a session
 * that is closed waits for that.
 */
#pragma once

#include "session/parts/check/check.h"

/* In struct session: check. */
struct session_checks {
	struct check_run *run;
};

struct session_part;
extern const struct session_part check_part;

/* The session is closed, or the daemon ends: the run is cancelled. */
void session_checks_abort(struct session *s);
