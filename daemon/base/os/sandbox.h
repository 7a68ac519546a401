/*
 * sandbox.h - what this machine is to the one who made it: the provider of the sandbox, and the sandbox's id there. Read
 * anew at each call: after a restore from a snapshot both may have changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* By the signs that a provider leaves: "e2b", "kubernetes", "podman", "docker"; NULL: there is none of them, which
 * proves nothing. */
const char *sandbox_provider(void);
/* Visible ASCII, cut to the room; false: it is not known. */
bool sandbox_id(char *ret, size_t room);
