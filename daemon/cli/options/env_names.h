/*
 * env_names.h - which of the variables ACPD_* in our environment nothing reads: a misspelt setting is one that nobody
 * misses until the daemon does what it was told not to.
 *
 * Known are those of the table of options, of any subcommand, and those of a table of its own (env_names.c): what acpd
 * gives its children, where its helpers are, and what its tests use.
 */
#pragma once

/* Calls fn for each that is not known, at most ENV_NAMES_UNKNOWN_MAX times. name is cut to a line. nearest: the known one
 * that is most alike. */
void env_names_unknown(void (*fn)(void *ctx, const char *name, const char *nearest), void *ctx);
