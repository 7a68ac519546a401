/*
 * jstr.h - JSON string text to bytes and back.
 *
 * Decoding is for what the daemon itself must understand (ids, paths, names); everything else stays raw. A decoded
 * string is a C string, so "\u0000" is refused rather than cut off, and a lone surrogate is refused rather than
 * replaced.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "json/jscan.h"

/* Compares a raw (still escaped) member name with a plain ASCII key; jkey_same is its dear part. */
bool jkey_same(struct slice raw_key, const char *key);

/* Inline: nearly all names differ in their first byte, and one that begins as it is written cannot be another one. */
static inline bool jkey_is(struct slice raw_key, const char *key)
{
	char first = raw_key.n ? *raw_key.p : '\0';

	return (first == *key || first == '\\') && jkey_same(raw_key, key);
}

/* True if v is a string whose decoded text equals s. */
static inline bool jstr_is(struct jval v, const char *s)
{
	return v.type == J_STRING && jkey_is((struct slice){ v.raw.p + 1, v.raw.n - 2 }, s);
}

/* Decodes a string value; caller frees *ret. -EINVAL: not a string, holds NUL or a lone surrogate; -ENAMETOOLONG
 * if longer than max bytes. */
int jstr_decode(struct jval v, size_t max, char **ret);
/* The same into ret, which has room for size bytes with the NUL, and without memory of its own if nothing is escaped. */
int jstr_copy(struct jval v, char *ret, size_t size);
/* Appends the bytes, NUL too: for contents, which are no C strings. */
int jstr_decode_bytes(struct jval v, struct buf *ret);
/* Appends s as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD. */
int jstr_encode(struct buf *b, struct slice s);
