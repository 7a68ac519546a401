/*
 * glob.h - the wildcards of gitignore, byte by byte as git's wildmatch: '*', '?', '[a-z]' with '!' or '^' and
 * [:classes:], '\\' before any character, and, between slashes, "**" for any number of directories.
 *
 * No recursion: the last '*' and the last "**" are the only places that are ever tried again, which is enough because
 * a '*' ends at a slash and what a later star takes an earlier one need not. Time is at most the product of the
 * lengths times the number of slashes.
 */
#pragma once

#include "base/slice.h"

/* How many bytes of a pattern stand for themselves before the first special one. */
size_t glob_literal(struct slice pattern);
/* in_path: text is a path, whose slashes only a slash or "**" matches. Otherwise '*' takes everything. A pattern that
 * is malformed matches nothing. */
bool glob_match(struct slice pattern, struct slice text, bool in_path);
