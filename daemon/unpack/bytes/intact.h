/*
 * intact.h - checks that an archive file still has the digest that names it. Its bytes are hashed as they are read for
 * unpacking (feed.h). What unpacking skipped, and a zip, whose pieces are read in another order, is read for the hash
 * at the end. Nothing is committed before.
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
/* Bytes at offset. Those that do not continue what is hashed are left for the end. */
void intact_add(struct intact *i, const void *p, size_t n, uint64_t offset);
/* r: the result of reading the archive, with v. If the digest differs, that explains any other fault. Returns r, or
 * -EBADMSG with ARCHIVE_DAMAGED and the digest. */
int intact_end(struct intact *i, int fd, int r, struct verdict *v);
/* Names the archive of this digest in the verdict. */
void intact_blame(struct verdict *v, const struct sha256 *d);
/* "sha256:" and hex digits. */
bool intact_parse(const char *text, struct sha256 *ret);
