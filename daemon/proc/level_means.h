/*
 * level_means.h - what of a level of confinement this machine gives, whoever it is for: one table for sessions
 * (session/harness/session_level.h) and for `acpd confine try`. Who runs, and within which limits, is not among it.
 */
#pragma once

#include "confine/level.h"

#include <stdbool.h>
#include <stddef.h>

/* what: a word of the protocol. why: a sentence without its end. Both are static. */
typedef void (*level_lack_fn)(void *ctx, const char *what, const char *why);

/* Calls fn, unless it is NULL, for each means of the level that is missing, and says how many are. log: what is refused is
 * to be recorded. */
size_t level_means_lack(enum confine_level level, bool log, level_lack_fn fn, void *ctx);
