/*
 * discard.h - removes what sessions have left:
 *
 *	discard	{directory, names: [...]}	removes these entries of a directory of the daemon's own:
 *						{"done":{"failed":[names]}}
 *
 * Each entry is a directory, of which "home" may be another user's: that one is emptied first, in a confined process of
 * that user. Then the entry is removed, also confined, with the rights of the daemon, so that files of others in a home
 * cannot keep it.
 */
#pragma once

#include "unpack/job/confine.h"
#include "unpack/job/unpack_report.h"

enum unpack_exit discard_run(struct slice line);
/* Removes an entry of dir in a confined process of that user; name NULL: all that is in dir, not itself. 0; positive:
 * not all of it could be removed; a negative errno: there was no process. */
int discard_as(const struct user *user, int dir, const char *name);
