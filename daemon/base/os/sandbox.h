/*
 * sandbox.h - what this machine is to the one who made it: the provider of the sandbox, and the sandbox's id there.
 *
 * The id is the first of these that is there: the first word of a file (E2B writes it anew after each restore), the id
 * that the one who claimed the daemon gave, the variable E2B_SANDBOX_ID. A variable is last because it is as old as the
 * process: after a restore it may be the id of the machine where the template was built. An id has 1 to SANDBOX_ID_MAX
 * characters: letters, digits and "._:-"; anything else counts as absent.
 *
 * State of the process, like the log's; of one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SANDBOX_ID_MAX 64
#define SANDBOX_ID_FILE "/run/e2b/.E2B_SANDBOX_ID"

/* By the signs that a provider leaves: "e2b", "kubernetes", "podman", "docker"; NULL: there is none of them, which
 * proves nothing. */
const char *sandbox_provider(void);
/* The file, instead of SANDBOX_ID_FILE; lives as long as it is in use. */
void sandbox_id_from(const char *file);
const char *sandbox_id_file(void);
bool sandbox_id_valid(const char *id);
/* As the claim says; it has passed sandbox_id_valid. NULL: nobody says so any more. */
void sandbox_id_set(const char *id);
/* Reads file and variable anew. True: the file has another id than the one it had before. A file that is new, or gone,
 * says nothing of that. */
bool sandbox_id_refresh(void);
/* As last read; NULL: not known. */
const char *sandbox_id(void);
/* The same, of the file alone. */
const char *sandbox_id_in_file(void);
