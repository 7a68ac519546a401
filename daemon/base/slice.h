/*
 * slice.h - a borrowed run of bytes. Never owns, never NUL-terminated by contract; valid as long as what it
 * points into. SLICE("literal") makes one from a string literal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
	const char *p;
	size_t n;
};

#define SLICE(lit) ((struct slice){ "" lit, sizeof(lit) - 1 })
#define SLICE_NONE ((struct slice){ NULL, 0 })

static inline struct slice slice_of(const char *s)
{
	return (struct slice){ s, s ? strlen(s) : 0 };
}

static inline bool slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_is(struct slice a, const char *s)
{
	return slice_eq(a, slice_of(s));
}

static inline bool slice_starts(struct slice a, const char *prefix)
{
	size_t n = strlen(prefix);

	return a.n >= n && memcmp(a.p, prefix, n) == 0;
}

/* Returns s without its first n bytes; n is at most s.n. Adds nothing to a null pointer, which C forbids even for 0. */
static inline struct slice slice_after(struct slice s, size_t n)
{
	return n ? (struct slice){ s.p + n, s.n - n } : s;
}

/* True if s starts with prefix; s then begins after it. */
static inline bool slice_skip(struct slice *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (!slice_starts(*s, prefix))
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* Takes the bytes before the first `at` off the front of s, and that byte, too. False: s has no such byte, and stays. */
static inline bool slice_cut(struct slice *s, char at, struct slice *ret)
{
	const char *end = s->n ? memchr(s->p, at, s->n) : NULL;

	if (!end)
		return false;
	*ret = (struct slice){ s->p, (size_t)(end - s->p) };
	*s = slice_after(*s, ret->n + 1);
	return true;
}

/* Takes the next item off a list. After the last one the list is SLICE_NONE; an item behind it is empty: "a," has two. False:
 * list is SLICE_NONE. */
static inline bool slice_item(struct slice *list, char separator, struct slice *ret)
{
	if (!list->p)
		return false;
	if (!slice_cut(list, separator, ret)) {
		*ret = *list;
		*list = SLICE_NONE;
	}
	return true;
}

/* Bytes of the first line of s, with its newline if it has one. */
static inline size_t slice_line(struct slice s)
{
	const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;

	return end ? (size_t)(end - s.p) + 1 : s.n;
}

/* Returns s without those of these bytes that are around it. */
static inline struct slice slice_trim(struct slice s, const char *bytes)
{
	while (s.n && memchr(bytes, *s.p, strlen(bytes)))
		s = slice_after(s, 1);
	while (s.n && memchr(bytes, s.p[s.n - 1], strlen(bytes)))
		s.n--;
	return s;
}

/* Returns true if s has no other bytes than these. */
static inline bool slice_only(struct slice s, const char *bytes)
{
	size_t n = strlen(bytes);

	while (s.n && memchr(bytes, *s.p, n))
		s = slice_after(s, 1);
	return !s.n;
}

/* Returns true if s is of visible ASCII without the bytes of `but`: no blanks, no control bytes. */
static inline bool slice_is_visible(struct slice s, const char *but)
{
	while (s.n && *s.p > ' ' && *s.p <= '~' && !strchr(but, *s.p))
		s = slice_after(s, 1);
	return !s.n;
}

static inline bool slice_has_control(struct slice s)
{
	while (s.n && (unsigned char)*s.p >= ' ' && *s.p != '\x7f')
		s = slice_after(s, 1);
	return s.n;
}
