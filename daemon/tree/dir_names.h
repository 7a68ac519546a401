/*
 * dir_names.h - the names in one directory, in the order of their bytes. Every walk whose order must be repeatable
 * begins with them.
 *
 * They are read through a descriptor of their own, so that the directory's offset stays. "." and ".." are never among
 * them. Names that others add or remove meanwhile may be among them or not. A struct dir_names starts zeroed, except
 * for text.max if the names may exceed a buf's default. dir_names_done frees it, also after an error.
 */
#pragma once

#include "base/buf.h"

struct dir_names {
	struct buf text;
	uint32_t *at; /* where each begins in text */
	size_t n;
};

/* want: 1: this name; 0: not this one; negative: stop. NULL: every name. Returns 0, that number, or a negative errno; in each case the
 * names read so far are there, sorted. */
int dir_names_read(int dir, int (*want)(void *ctx, const char *name), void *ctx,
		   struct dir_names *ret);
void dir_names_done(struct dir_names *names);

static inline const char *dir_names_at(const struct dir_names *names, size_t i)
{
	return names->text.data + names->at[i];
}
