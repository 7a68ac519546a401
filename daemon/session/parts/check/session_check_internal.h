/*
 * session_check_internal.h - the checks of a session: the one run of them that goes on.
 *
 * This folder owns struct session_checks . The run frees itself when it has ended; a session
 * that is closed waits for that.
 */
#pragma once

#include "session/parts/session_parts.h"
#include "session/parts/check/check.h"
#include "session/parts/check/turn_proof.h"

/* State of the part. */
struct session_checks {
	struct check_run *run;
	struct turn_proof
		recalled; /* of the turn that another attempt was to follow, as the journal is read (first 0: none) */
};

static inline struct session_checks *checks_of(const struct session *s)
{
	return s->parts[PART_CHECK];
}

/* The session is closed, or the daemon ends: the run is cancelled. */
void session_checks_abort(struct session *s);
