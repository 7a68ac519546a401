/*
 * lines.c - a buffer that is read into and handed out line by line, and the end of standard error.
 *
 * `scanned` remembers how far no newline was found, so that a long line that arrives in pieces is
 * searched once. The end of standard error is a fixed array: a child can write without end.
 */
#include "proc/output/lines.h"

#include "base/util.h"

void lines_init(struct lines *l, size_t max)
{
	*l = (struct lines){ .in = { .max = max + CHILD_READ_BYTES + KIB }, .max = max };
}

void lines_done(struct lines *l)
{
	buf_done(&l->in);
	l->scanned = 0;
}

char *lines_space(struct lines *l, size_t want)
{
	if (buf_reserve(&l->in, want) < 0)
		return NULL;
	return l->in.data + l->in.len;
}

void lines_filled(struct lines *l, size_t n)
{
	l->in.len += n;
}

int lines_next(struct lines *l, struct slice *ret)
{
	struct slice have = buf_slice(&l->in);
	const char *nl = NULL;
	size_t n;

	if (have.n > l->scanned)
		nl = memchr(have.p + l->scanned, '\n', have.n - l->scanned);
	if (!nl) {
		l->scanned = have.n;
		return have.n > l->max ? -E2BIG : 0;
	}
	n = (size_t)(nl - have.p);
	l->scanned = 0;
	if (n > l->max)
		return -E2BIG;
	*ret = (struct slice){ have.p, n && have.p[n - 1] == '\r' ? n - 1 : n };
	buf_consume(&l->in, n + 1);
	return 1;
}

void lines_trim(struct lines *l)
{
	/* most are idle most of the time, and the next piece finds the same memory again */
	buf_trim(&l->in, 0);
}

struct slice lines_rest(const struct lines *l)
{
	return buf_slice(&l->in);
}

/* --- standard error -------------------------------------------------------------------------------------- */

void text_tail_add(struct text_tail *t, const char *s, size_t n)
{
	if (n >= CHILD_STDERR_TAIL) {
		s += n - CHILD_STDERR_TAIL;
		n = CHILD_STDERR_TAIL;
		t->n = 0;
	}
	if (t->n + n > CHILD_STDERR_TAIL) {
		size_t drop = t->n + n - CHILD_STDERR_TAIL;

		memmove(t->text, t->text + drop, t->n - drop);
		t->n -= drop;
	}
	memcpy(t->text + t->n, s, n);
	t->n += n;
}

const char *text_tail_show(struct text_tail *t)
{
	t->text[t->n] = '\0';
	for (char *s = t->text; *s; s++)
		if ((unsigned char)*s < 0x20)
			*s = ' ';
	return t->text;
}
