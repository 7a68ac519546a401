/*
 * jstr.h - JSON string text to bytes and back.
 *
 * Decoding is for what the daemon itself must understand (ids, paths, names); everything else stays raw. A decoded
 * string is a C string, so "\u0000" is refused rather than cut off.
 *
 * Text is Unicode. An escape that is half of a surrogate pair, which JavaScript writes where it has cut a string, stands
 * for no character, and most readers fail on it. Where text of another party enters, each half becomes U+FFFD, so that
 * from there on there is none; the decoders here refuse it.
 */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "json/jscan.h"

#define JSTR_U_LENGTH ((size_t)6)

/* True if the text at p, of which n bytes are left, begins with \uXXXX. */
static inline bool jstr_is_u(const char *p, size_t n)
{
	if (n < JSTR_U_LENGTH || p[0] != '\\' || p[1] != 'u')
		return false;
	for (size_t i = 2; i < JSTR_U_LENGTH; i++)
		if ((p[i] < '0' || p[i] > '9') && ((p[i] | 0x20) < 'a' || (p[i] | 0x20) > 'f'))
			return false;
	return true;
}

/* Of an escape \uXXXX at p that is a surrogate: the length of the pair that begins there; 0: it is half of one. */
size_t jstr_surrogates(const char *p, const char *end);
/* Writes U+FFFD in the place of each half of a surrogate pair, by an escape of the same length: spans stay what they are.
 * How many there were. */
size_t jstr_repair_halves(char *text, size_t n);
/* Appends text, valid JSON but for halves of surrogate pairs and bytes that are not UTF-8, with U+FFFD for each of them. How
 * many there were. */
size_t jstr_repair(struct slice text, struct buf *ret);

/* Compares a raw (still escaped) member name with a plain ASCII key; jkey_same is its dear part. */
bool jkey_same(struct slice raw_key, const char *key);

/* The string that a key of a scanned text is: with its quotes, which are just outside of the slice. */
static inline struct jval jkey_string(struct slice raw_key)
{
	return (struct jval){ J_STRING, { raw_key.p - 1, raw_key.n + 2 } };
}

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
/* Decodes a string that is only shown: NUL, halves of surrogate pairs and bytes that are not UTF-8 become U+FFFD, and
 * a text longer than max bytes is cut off before the character that does not fit. Caller frees *ret. -EINVAL: not a string. */
int jstr_decode_shown(struct jval v, size_t max, char **ret);
/* The same as jstr_decode into ret, which has room for size bytes with the NUL, and without memory of its own if nothing is escaped. */
int jstr_copy(struct jval v, char *ret, size_t size);
/* The same of the member key, by either of the two; NULL where they return an error. */
char *jobj_str(struct slice object, const char *key, size_t max);
char *jobj_shown(struct slice object, const char *key, size_t max);
/* Puts the string v, or the raw text of a v of that type, in the place of *slot. False, and *slot stays, where v is none. */
bool jstr_set(char **slot, struct jval v, size_t max);
bool jraw_set(char **slot, struct jval v, enum jtype type);
/* Appends the bytes, NUL too: for contents, which are no C strings. */
int jstr_decode_bytes(struct jval v, struct buf *ret);
/* Appends s as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD. */
int jstr_encode(struct buf *b, struct slice s);
