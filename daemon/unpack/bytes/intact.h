/*
 * intact.h - is an archive file still the one that its digest names? Its bytes are hashed as they are read for
 * unpacking (feed.h); what unpacking passed over, and a zip, whose pieces are read in another order, is read for the
 * hash at the end. Nothing is committed before.
 */
#pragma once

#include "digest/digest.h"
#include "unpack/job/verdict.h"

#include <stddef.h>

struct intact {
	struct sha256 want;
	struct sha256_stream sum;
	uint64_t at; /* bytes hashed so far, from the beginning on */
};

void intact_begin(struct intact *i, const struct sha256 *want);
/* Bytes that stand at offset; those that do not go on where the hash is are left for the end. */
void intact_add(struct intact *i, const void *p, size_t n, uint64_t offset);
/* r: what reading the archive came to, of which v tells. Another digest is the reason for whatever was found wrong.
 * Returns r, or -EBADMSG with ARCHIVE_DAMAGED and the digest. */
int intact_end(struct intact *i, int fd, int r, struct verdict *v);
/* The verdict is about the archive of this digest. */
void intact_blame(struct verdict *v, const struct sha256 *d);
/* "sha256:" and hex digits. */
bool intact_parse(const char *text, struct sha256 *ret);
