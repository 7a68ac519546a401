/*
 * session_env.h - the environment that a client gives a session: env, envKeep and secrets of _meta.acpd.
 *
 * Values are in memory only, but those of env whose names stand in envKeep: they are written into the journal and kept
 * with the session. Of all others the names are written, so that a daemon started anew can ask for them: env_missing,
 * ENV_REQUIRED.
 *
 * env replaces env, and secrets secrets; a variable that is kept stays until it is named in another env, or another
 * envKeep leaves it out. Pure functions on raw JSON that the protocol side has checked: objects of strings, names of
 * variables without escapes.
 */
#pragma once

#include "session/core/harness/setup.h"

/* A raw member's name that a client may give a variable: a name for a shell, and none of the daemon's (ACPD_). */
bool session_env_name(struct slice key);
/* Checks p against what s has, before anything changes: envKeep names what is there, and nothing that is missing is
 * left out. */
int session_env_check(const struct setup *s, const struct setup_params *p, struct err *e);
/* Member "names": the variables that an earlier daemon had, and p does not give. True if there are any. */
bool session_env_put_missing(const struct setup *s, const struct setup_params *p, struct jw *w);
