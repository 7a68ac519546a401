/*
 * offending.h - which of the changed paths of a diff break rules: one that matches none of allow (if there are any), or
 * one of deny. The first of them (some KiB) as the elements of a JSON array, all of them counted.
 *
 * Patterns are those of tree/glob.h for whole paths; one without a slash is for names at any depth. A path may be made
 * so that it takes long to match: that is why this is done here and not in the daemon.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct offending {
	bool wanted; /* there are rules */
	char **allow, **deny;
	size_t nallow, ndeny;
	bool allows; /* allow was given, even if it is empty */
	struct buf json;
	uint64_t total;
};

/* Raw arrays of strings, or empty. -EINVAL: they are no such. */
int offending_init(struct offending *o, struct slice allow, struct slice deny);
void offending_add(struct offending *o, const char *path);
void offending_done(struct offending *o);
