/*
 * glob.h - the wildcards of gitignore, byte by byte as git's wildmatch: '*', '?', '[a-z]' with '!' or '^' and
 * [:classes:], '\\' before any character, and, between slashes, "**" for any number of directories.
 */
#pragma once

#include "base/slice.h"

/* Number of literal bytes of a pattern before its first special one. */
size_t glob_literal(struct slice pattern);
/* in_path: text is a path, whose slashes only a slash or "**" matches. Otherwise '*' matches everything. A malformed
 * pattern matches nothing. */
bool glob_match(struct slice pattern, struct slice text, bool in_path);
