/*
 * state_dir.h - the state directory as a whole: which daemons may open it, and who can access it.
 *
 * <state>/version holds one number; a directory without it is of version 1, which all daemons before that file wrote.
 * Every later daemon opens what an earlier one wrote; a directory of a later one is refused before anything in it is
 * touched (STATE_VERSION).
 *
 * Only the daemon's user can access what is in it. The directory itself and homes/ can be passed through (0711), since
 * each session's home belongs to the user who runs it; everything else of the daemon's is 0700, and files 0600. The
 * daemon creates it so, and restores that at each start, whatever a copy, a package or a chmod has made of it. Entries
 * that are not the daemon's by name are left alone.
 */
#pragma once

#include "base/err.h"

#define STATE_VERSION_NOW 1

int state_version_check(const char *state_dir, struct err *e);
/* The directory is ours, and is there. */
void state_version_write(const char *state_dir);

/* Only removes permissions. Logs each change, and each one that cannot be made. */
void state_modes_mend(const char *state_dir);
