/*
 * setup_check.h - whether a session can be given its parameters, before anything changes: each part checks its own.
 */
#pragma once

#include "session/core/harness/setup.h"
#include "session/core/session.h"

/* have: the setup of the session; NULL: it is new. */
int setup_check(const struct session_store *st, const struct harness_def *def,
		const struct setup *have, const struct setup_params *p, struct err *e);
