/*
 * path_rules.h - the rules for names that an archive, a job or a source brings.
 *
 * A path is taken apart into components; empty ones and "." are dropped ("./a//b" is a/b). These are refused, with the
 * reason:
 *
 *	NAME_EMPTY	nothing is left, and it is not the root
 *	NAME_ABSOLUTE	begins with "/", or with a drive letter and a colon
 *	NAME_DOTDOT	has a component ".."
 *	NAME_CONTROL	has a control character: a byte below 0x20, DEL, or C1 (U+0080 to U+009F); they steer terminals
 *	NAME_BACKSLASH	has a backslash, which is a separator for many programs
 *	NAME_NOT_UTF8	is not UTF-8 (no overlong forms, no surrogates)
 *	NAME_TOO_LONG	has a component of more than 255 bytes
 *	PATH_TOO_LONG, PATH_TOO_DEEP	beyond the limits
 *	NAME_RESERVED	has a component that begins like our stage directories
 *
 * Names that differ only in case or in the form of an accent are different names, as on every file system of Linux.
 * Names may begin with "-".
 */
#pragma once

#include "base/limits.h"
#include "base/slice.h"

#include <stdint.h>

#define NAME_BYTES_MAX 255
#define STAGE_PREFIX ".acpd-stage"

struct path_limits {
	uint64_t path_bytes, depth; /* at most PATH_BYTES_MAX, PATH_DEPTH_MAX */
};

struct checked_path {
	char path[PATH_BYTES_MAX + 1]; /* "": the root */
	size_t n;
	unsigned depth;	  /* components */
	bool slash_after; /* it ended in a slash: a directory is meant */
};

struct path_fault {
	const char *reason, *message;
	uint64_t limit, used; /* limit 0: none */
};

/* False: fault says why. The root ("./") passes: the caller decides whether it may be. */
bool checked_path_parse(struct slice raw, const struct path_limits *limits,
			struct checked_path *ret, struct path_fault *fault);
/* Removes the first components; false: nothing is left. */
bool checked_path_strip(struct checked_path *name, unsigned components);
/* Puts the parsed path dir before it; false as above. */
bool checked_path_under(struct checked_path *name, const char *dir,
			const struct path_limits *limits, struct path_fault *fault);
/* The rules for the bytes alone, for targets of links; NULL: they are good. */
const char *path_bytes_fault(struct slice raw);
