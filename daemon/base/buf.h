/*
 * buf.h - growing byte buffer with a hard maximum, for everything whose size a peer decides.
 *
 * Bytes live at data[pos..len); consuming moves pos and the space is reclaimed lazily. A buf that is all zeros is
 * valid and has the default maximum. Append functions return 0 or -E2BIG / -ENOMEM and then set a sticky
 * `failed` flag, so that an encoder may append freely and check once at the end.
 */
#pragma once

#include "base/limits.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct buf {
	char *data;
	size_t pos, len, cap;
	size_t max; /* 0: BUF_MAX_DEFAULT */
	bool failed;
};

/* What buf_done is, where there is something. */
void buf_release(struct buf *b);
/* Room for more, made if there is none: what buf_reserve is. */
int buf_grow(struct buf *b, size_t more);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_consume(struct buf *b, size_t n);
void buf_reset(struct buf *b);
/* Frees the memory beyond keep bytes once the buffer is empty. */
void buf_trim(struct buf *b, size_t keep);

/* Inline: most buffers that a function has for the rare case are never used. */
static inline void buf_done(struct buf *b)
{
	if (b->data || b->failed)
		buf_release(b);
}

/* buf_done of a text with secrets, whose bytes are wiped. What the buffer outgrew is not: reserve first. */
void secret_buf_done(struct buf *b);
/* Wipes a string that is freed next. Takes NULL. */
void secret_text_wipe(char *s);

/* Inline: an encoder asks a dozen times per message, and nearly always there is room. */
static inline int buf_reserve(struct buf *b, size_t more)
{
	size_t max = b->max ? b->max : BUF_MAX_DEFAULT;

	return more <= b->cap - b->len && b->len + more <= max ? 0 : buf_grow(b, more);
}

/* Inline: an encoder adds a dozen pieces per message, most of them of a length the compiler knows. */
static inline int buf_add(struct buf *b, const void *p, size_t n)
{
	int r;

	if (!n)
		return 0;
	r = buf_reserve(b, n);
	if (r < 0)
		return r;
	memcpy(b->data + b->len, p, n);
	b->len += n;
	return 0;
}

static inline int buf_puts(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

static inline int buf_add_slice(struct buf *b, struct slice s)
{
	return buf_add(b, s.p, s.n);
}

static inline int buf_putc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

static inline struct slice buf_slice(const struct buf *b)
{
	return (struct slice){ b->data ? b->data + b->pos : NULL, b->len - b->pos };
}

static inline size_t buf_len(const struct buf *b)
{
	return b->len - b->pos;
}
