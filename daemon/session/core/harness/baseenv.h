/*
 * baseenv.h - what a child may know of the daemon's own environment: a fixed list of names that say how the machine is
 * set up, and what the operator lets through (--pass-env). Everything else of it stays with us; what is ours (ACPD_*)
 * does whatever the operator says.
 */
#pragma once

#include "harnesses/spawn_plan.h"

#include <netinet/in.h>

/* pass_env: names or NAME*, comma-separated, or NULL. Adds PATH and LANG in any case. */
void baseenv_put(struct harness_plan *plan, const char *pass_env);
/* Value of the variable of that name that the operator lets through, or NULL. */
const char *baseenv_passed(const char *pass_env, const char *name);
/* The variables by which programs find an HTTP proxy at that address. */
void baseenv_proxy(struct harness_plan *plan, const struct sockaddr_in *at);
/* Once all else is set: loopback is never asked of a proxy, in both spellings of NO_PROXY, even if one was set before.
 * What a harness, its tools and ours say to each other goes over loopback, with keys. own: an address of the session's
 * own there, or NULL. */
void baseenv_no_proxy(struct harness_plan *plan, const char *own);
