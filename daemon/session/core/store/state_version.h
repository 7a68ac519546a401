/*
 * state_version.h - which daemons may open a state directory. <state>/version holds one number; a directory without it
 * is of version 1, which all daemons before that file wrote. Every later daemon opens what an earlier one wrote; a
 * directory of a later one is refused before anything in it is touched (STATE_VERSION).
 */
#pragma once

#include "base/err.h"

#define STATE_VERSION_NOW 1

int state_version_check(const char *state_dir, struct err *e);
/* The directory is ours, and is there. */
void state_version_write(const char *state_dir);
