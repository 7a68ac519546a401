/*
 * session_level.h - how far what runs for a session is confined: its level (confine/confinement.h), and what of it this
 * machine and this daemon cannot give.
 *
 * A level that somebody names (_meta.acpd.level, --level, --level-min) is met whole, or the session is refused:
 * CONFINEMENT_UNSUPPORTED. With atLeast: false, and where nobody named one, as much of it holds as can be had. Either
 * way the answer says {requested, achieved, missing: [{what, why}]}. A client that asks for less than --level-min is
 * refused: LEVEL_NOT_ALLOWED.
 *
 * What a level needs is one table. The same table answers for a session and, without one, for what a new session would
 * get (/ready, /v1/info, doctor, the log).
 */
#pragma once

#include "proc/cgroup/group_limits.h"
#include "session/core/harness/setup.h"

struct confinement;
struct egress_rules;
struct session;
struct session_store;
struct jw;

extern const struct session_parameter level_parameter, limits_parameter;

/* The level that a client has named for a session with this setup. */
const struct level_wish *level_wish_of(const struct setup *s);
/* The level that is tried for a session with this setup. */
enum confine_level session_level(const struct session *s);
/* What it refuses is recorded (session_refusals.h). */
bool session_level_logs(const struct session *s);
/* And for what runs for no session. */
enum confine_level store_level(const struct session_store *st);
/* What a child of that level is given, as far as this machine can; NULL: nothing. flags: enum confine_flag. */
const struct confinement *level_confinement(enum confine_level level, unsigned flags);
/* That of a session with setup have (NULL: none yet) that is given p. */
enum confine_level level_for(const struct session_store *st, const struct setup *have,
			     const struct setup_params *p);

/* Checks p against the ceiling of a token that is limited to the session: a client may ask for what the session has, or for
 * what the ceiling names beyond that. LEVEL_NOT_ALLOWED, FIELD_OUT_OF_RANGE. Both have been checked as parameters. */
int session_ceiling_check(const struct session *s, const struct setup_params *p,
			  const struct setup_params *ceiling, struct err *e);
