/*
 * lines.h - splits a byte stream into lines on '\n' only; a '\r' before it is dropped, U+2028 is no line end.
 *
 * Reads go straight into the buffer (lines_space / lines_filled), lines are handed out in place. A line beyond max is
 * -E2BIG: a protocol fault, after which the stream is not usable. Memory beyond one read is given
 * back when the buffer runs empty.
 */
#pragma once

#include "base/buf.h"
#include "base/limits.h"

#include <stddef.h>

struct lines {
	struct buf in;
	size_t scanned; /* bytes from in.pos already searched for '\n' */
	size_t max;
};

void lines_init(struct lines *l, size_t max);
void lines_done(struct lines *l);
/* Room for at least want bytes, or NULL if memory is gone. */
char *lines_space(struct lines *l, size_t want);
void lines_filled(struct lines *l, size_t n);
/* 1: *ret is the next line, valid until the next lines_space; 0: none complete; -E2BIG: too long. */
int lines_next(struct lines *l, struct slice *ret);
/* Gives memory back if nothing is buffered. */
void lines_trim(struct lines *l);
/* What is left without a newline, at end of stream; empty if nothing. */
struct slice lines_rest(const struct lines *l);

/* The end of what a child says on its standard error, for the message when it ends. All zeros is empty. */
struct text_tail {
	char text[CHILD_STDERR_TAIL + 1];
	size_t n;
};

void text_tail_add(struct text_tail *t, const char *s, size_t n);
/* NUL-terminated, control bytes as spaces. */
const char *text_tail_show(struct text_tail *t);
