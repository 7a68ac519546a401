/*
 * session_ceiling.h - what a client may ask of a session whose token is limited to it: at most what the session has, or what
 * the token says beyond that. Level, network and limits.
 */
#pragma once

#include "egress/wire/egress_rules.h"
#include "session/core/harness/setup.h"

struct session;

/* What a token says; members that it does not name: nothing beyond what the session has. */
struct session_ceiling {
	struct level_wish level;
	struct egress_rules *network; /* NULL: it does not name one */
	struct group_limits limits;
};

/* LEVEL_NOT_ALLOWED, FIELD_OUT_OF_RANGE; members of p have been checked. */
int session_ceiling_check(const struct session *s, const struct setup_params *p,
			  const struct session_ceiling *c, struct err *e);
