/*
 * globs.h - patterns as people and models write them: those of tree/glob.h, and braces: "src/{a,b}.{c,h}" is four.
 *
 * A pattern without a slash matches a name at any depth if deep is set, and else only in the start directory; one with
 * a slash matches a path from the start directory. "./" in front has no meaning.
 */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct globs {
	char **v;
	size_t n;
	bool deep;
};

/* Adds a pattern, or returns -EINVAL with PATTERN_INVALID if it is empty, absolute or not closed, is longer than
 * TOOL_GLOB_BYTES_MAX, has more than TOOL_GLOB_BRACES_MAX braces, or makes g larger than TOOL_GLOBS_MAX. */
int globs_add(struct globs *g, const char *pattern, const char *field, struct err *e);
/* No patterns match nothing. */
bool globs_match(const struct globs *g, const char *path);
void globs_done(struct globs *g);
