/*
 * inside.h - whether a file lies in a session's directories, judged as the kernel resolves its path: symbolic links
 * are followed, also one whose end does not exist yet, since writing to it makes that. Directories are resolved
 * likewise. What cannot be determined is outside.
 *
 * It is a judgement of the moment. Between it and the write any user who may write there can put a link in the way;
 * only a confinement of the harness could prevent that. No file is opened: a link is read, and nothing waits for a
 * writer.
 */
#pragma once

#include "base/slice.h"

#include <stdbool.h>

/* path: absolute, or below cwd; one with ".." is outside. additional_dirs: raw array of strings, or empty. */
bool harness_inside(const char *path, const char *cwd, struct slice additional_dirs);
