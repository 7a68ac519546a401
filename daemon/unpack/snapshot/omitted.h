/*
 * omitted.h - the list, for the answer, of what a snapshot, a patch or an archive leaves out: the first SKIPPED_MAX
 * paths (or 512 KiB of them) as the elements of a JSON array, the others only counted. A path that is not UTF-8 is
 * shown with U+FFFD in it.
 */
#pragma once

#include "json/jenc.h"

#include <stdint.h>

struct omitted {
	struct buf json;
	uint64_t total;
};

void omitted_add(struct omitted *o, const char *path, const char *reason);
/* As two members of an object. */
void omitted_put(const struct omitted *o, struct jw *w, const char *key, const char *total);
void omitted_done(struct omitted *o);
