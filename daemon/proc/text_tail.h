/* text_tail.h - the end of what a child says on its standard error, for the message when it ends. All zeros is empty. */
#pragma once

#include "base/limits.h"

#include <stddef.h>

struct text_tail {
	char text[CHILD_STDERR_TAIL + 1];
	size_t n;
};

void text_tail_add(struct text_tail *t, const char *s, size_t n);
/* NUL-terminated, control bytes as spaces. */
const char *text_tail_show(struct text_tail *t);
