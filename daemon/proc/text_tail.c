#include "proc/text_tail.h"

#include <string.h>

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
