/*
 * inside.h - checks whether a file lies in a session's directories, as the kernel resolves its path: symbolic links are
 * followed, also one whose target does not exist yet, since writing to it makes that. Directories are resolved in the
 * same way. What cannot be determined is outside.
 *
 * The result holds for the moment. Between it and the write any user who may write there can put a link in the way;
 * only a confinement of the harness could prevent that. No file is opened: a link is read, so that no FIFO can block
 * us.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

/* The place that a path, absolute or below cwd, really names; ret has room for PATH_MAX bytes. False: it cannot be
 * determined. */
bool harness_place(const char *path, const char *cwd, char *ret);
/* path: absolute, or below cwd; one with ".." is outside. additional_dirs: raw array of strings, or empty. */
bool harness_inside(const char *path, const char *cwd, struct slice additional_dirs);
