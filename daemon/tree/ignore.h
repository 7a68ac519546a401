/*
 * ignore.h - which paths of a tree its .gitignore files leave out, as git decides it.
 *
 * A walk enters each directory with the bytes of its .gitignore (none: an empty slice), asks about each name in it, and
 * leaves it. Patterns of a deeper directory win over those above. In one file the last match wins. Everything below an
 * excluded directory is excluded, even if a pattern says otherwise, and also if the walk enters that directory.
 *
 * Paths are relative to the start of the walk, without "./" and without a slash at the end; the beginning itself is "".
 */
#pragma once

#include "base/slice.h"

struct ignore;

struct ignore *ignore_new(void);
struct ignore *ignore_free(struct ignore *ig);
/* Enters dir, which is in the directory entered last. Keeps a copy of gitignore. 0; -E2BIG beyond IGNORE_FILE_MAX,
 * IGNORE_PATTERNS_MAX or IGNORE_LEVELS_MAX, -ENOMEM: then nothing was entered. */
int ignore_push(struct ignore *ig, const char *dir, struct slice gitignore);
/* Leaves the directory entered last. */
void ignore_pop(struct ignore *ig);
/* True if path, which is in the directory entered last, is left out. is_dir is false for a symbolic link to a
 * directory. */
bool ignore_match(const struct ignore *ig, const char *path, bool is_dir);
