/*
 * sandbox.h - what this machine is to the one who made it: the provider of the sandbox, and the sandbox's id there. Read
 * anew at each call: after a restore from a snapshot both may have changed. The id is, in this order, what the provider
 * has written into its file, what the one said who claimed the daemon, and what the environment said at the start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* By the signs that a provider leaves: "e2b", "kubernetes", "podman", "docker"; NULL: there is none of them, which
 * proves nothing. */
const char *sandbox_provider(void);
#define SANDBOX_ID_MAX 128 /* characters of one that is given */

/* Visible ASCII, cut to the room; false: it is not known. */
bool sandbox_id(char *ret, size_t room);
/* Visible ASCII, not empty, at most SANDBOX_ID_MAX. */
bool sandbox_id_valid(const char *id);
/* It has passed sandbox_id_valid; NULL: nobody says so any more. */
void sandbox_id_set(const char *id);
