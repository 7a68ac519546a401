/*
 * dir_names.h - the names in one directory, in the order of their bytes: what every walk that has to come out the same
 * twice begins with.
 *
 * Read through a descriptor of its own, so that the directory's offset stays; "." and ".." are never among them. What
 * somebody adds or removes meanwhile may be among them or not. A struct dir_names starts zeroed, but for text.max if
 * the names may come to more than a buf's default; dir_names_done gives it up, after errors too.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

struct dir_names {
	struct buf text;
	uint32_t *at; /* where each begins in text */
	size_t n, cap;
};

/* want: 1: this name; 0: not this one; negative: reading ends with that. 0, that, or a negative errno: then those
 * that were read are there, sorted. */
int dir_names_read(int dir, int (*want)(void *ctx, const char *name), void *ctx,
		   struct dir_names *ret);
void dir_names_done(struct dir_names *names);

static inline const char *dir_names_at(const struct dir_names *names, size_t i)
{
	return names->text.data + names->at[i];
}
