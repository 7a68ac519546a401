/*
 * feed.h - the packed bytes: a part of the archive file, read in pieces with pread, and a count of what was made of
 * them.
 */
#pragma once

#include "digest/digest.h"
#include "unpack/job/verdict.h"

struct intact {
	struct sha256 want;
	struct sha256_stream sum;
	uint64_t at; /* bytes hashed so far, from the beginning on */
};

void intact_begin(struct intact *i, const struct sha256 *want);
/* r: the result of reading the archive, with v. If the digest differs, that explains any other fault. Returns r, or
 * -EBADMSG with ARCHIVE_DAMAGED and the digest. */
int intact_end(struct intact *i, int fd, int r, struct verdict *v);

struct feed_limits {
	uint64_t bytes, ratio;
};

struct feed {
	int fd;
	uint64_t size;	   /* of the file */
	uint64_t pos, end; /* what is still to be read of this part */
	uint64_t made;
	struct feed_limits limits;
	struct verdict v;
	struct intact *intact; /* hashes what is read; or NULL */
	size_t at, have;       /* in[at..have) waits */
	uint8_t in[128 * KIB];
};

/* Begins with the whole file. */
void feed_init(struct feed *f, int fd, uint64_t size, struct feed_limits limits);
/* Goes on with this part. */
void feed_part(struct feed *f, uint64_t pos, uint64_t n);
/* The number of bytes waiting, after reading more if there were none; 0: the end of the part. */
ssize_t feed_fill(struct feed *f);
/* The next byte; -ENODATA with ARCHIVE_TRUNCATED at the end. */
int feed_byte(struct feed *f);
/* How many more may be made. */
uint64_t feed_left(const struct feed *f);
/* Counts n bytes made of them. */
int feed_made(struct feed *f, size_t n);
