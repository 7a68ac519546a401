/*
 * source.h - an archive file: which format it is, and the bytes of the tar in it.
 *
 * Errors are negative with the verdict filled.
 */
#pragma once

#include "tree/archive_format.h"
#include "unpack/bytes/feed.h"
#include "unpack/bytes/ring.h"

/* Finds the format of fd. declared: ARCHIVE_UNKNOWN if there is none. */
int format_detect(int fd, enum archive_format declared, enum archive_format *ret,
		  struct verdict *v);
/* True for a compressed stream where a tar should begin. */
bool format_is_compressed(const uint8_t *p, size_t n);
/* True for a valid tar header, with a valid checksum. */
bool format_is_tar_header(const uint8_t *block);

/* The first byte is 0, and each equals the one after it. */
static inline bool bytes_are_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

struct source;

/* intact: hashes what is read, for as long as the source is open; or NULL. */
int source_open(int fd, enum archive_format format, struct feed_limits limits,
		struct intact *intact, struct source **ret, struct verdict *v);
void source_close(struct source *s);
static inline void source_closep(struct source **s)
{
	source_close(*s);
}
/* Shows the next bytes, at least one; 0 at the end. They are valid until taken. */
ssize_t source_peek(struct source *s, const uint8_t **p);
void source_take(struct source *s, size_t n);
/* See ring.h. */
void source_sums(struct source *s, struct sums *sums);
/* Copies n bytes; fewer only at the end. */
ssize_t source_read(struct source *s, void *to, size_t n);
/* Skips n bytes; ARCHIVE_TRUNCATED if there are fewer. */
int source_skip(struct source *s, uint64_t n);
