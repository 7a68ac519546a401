/*
 * buf.c - the slow paths of buf.h: growth, compaction, formatting.
 *
 * The maximum applies to the unconsumed bytes, not to the allocation: capacity doubles and can
 * exceed it. The consumed prefix is removed only when the buffer must grow and the prefix is at
 * least half of it. So each byte is moved a constant number of times on average. Slices into a
 * buffer are invalid after any append.
 */
#include "base/buf.h"

#include "base/util.h"

#include <stdarg.h>

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

void secret_buf_done(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_done(b);
}

void secret_text_wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
}

static void buf_compact(struct buf *b)
{
	if (!b->pos)
		return;
	memmove(b->data, b->data + b->pos, b->len - b->pos);
	b->len -= b->pos;
	b->pos = 0;
}

int buf_grow(struct buf *b, size_t more)
{
	size_t max = b->max ? b->max : BUF_MAX_DEFAULT;
	size_t need, cap;
	char *p;

	if (more > max || buf_len(b) > max - more) {
		b->failed = true;
		return -E2BIG;
	}
	if (b->cap - b->len >= more)
		return 0;
	if (b->pos >= b->cap / 2)
		buf_compact(b);
	need = b->len + more;
	if (b->cap >= need)
		return 0;
	for (cap = b->cap ? b->cap : 256; cap < need;)
		cap *= 2;
	p = realloc(b->data, cap);
	if (!p) {
		b->failed = true;
		return -ENOMEM;
	}
	b->data = p;
	b->cap = cap;
	return 0;
}

/* Formats into the room there is, and a second time only when the text does not fit. */
int buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t room = b->cap - b->len;
	va_list ap, again;
	int n, r;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	r = n < 0 ? -EINVAL : buf_reserve(b, (size_t)n + 1);
	if (r == 0) {
		if ((size_t)n >= room)
			vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
	return r;
}

void buf_consume(struct buf *b, size_t n)
{
	b->pos += MIN(n, buf_len(b));
	if (b->pos == b->len)
		b->pos = b->len = 0;
}

void buf_reset(struct buf *b)
{
	b->pos = b->len = 0;
	b->failed = false;
}

void buf_trim(struct buf *b, size_t keep)
{
	if (buf_len(b) == 0 && b->cap > keep)
		buf_done(b);
}
