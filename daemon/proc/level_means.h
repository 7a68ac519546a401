/*
 * level_means.h - what of a level of confinement this machine gives, whoever it is for: one table for sessions
 * (session/parts/confinement/session_level.h) and for `acpd confine try`. Who runs, and within which limits, is not among it.
 */
#pragma once

#include "confine/confinement.h"

/* what: a word of the protocol. why: a sentence without its end. Both are static. */
typedef void (*level_lack_fn)(void *ctx, const char *what, const char *why);

/* What is asked for. */
struct level_ask {
	enum confine_level level;
	bool log;      /* refused calls are recorded */
	bool switched; /* what it is for runs as another user than the daemon, which is root */
};

/* Calls fn, unless it is NULL, for each means of the level that is missing, and returns how many are. */
size_t level_means_lack(const struct level_ask *ask, level_lack_fn fn, void *ctx);
