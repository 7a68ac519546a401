/*
 * digits.h - numbers that others write as plain digits: no sign, no blank, nothing else. Each caller checks its own
 * bound as well.
 *
 * And our own, written so: printf takes ten times as long for it.
 *
 * strtoull and its like take blanks, signs and prefixes, need a NUL, and say in three ways that something was wrong.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

struct buf;

/* True if all of text is a decimal number that fits. Else *ret is unchanged. */
bool u64_parse(struct slice text, uint64_t *ret);
/* Takes at most max decimal digits off the front of s, and returns how many. *ret is their value, UINT64_MAX if that is
 * too large. */
size_t u64_take(struct slice *s, size_t max, uint64_t *ret);
/* The longest number. */
#define U64_DIGITS 20
/* Writes v in decimal, at most U64_DIGITS bytes and no NUL; returns their end. */
char *u64_write(char *out, uint64_t v);
/* Appends v in decimal. */
void u64_put(struct buf *b, uint64_t v);
/* The value of a hexadecimal digit of either case, or -1. */
int hex_digit(char c);
/* Writes 2 * n lower-case hexadecimal digits and a NUL. */
void hex_put(const unsigned char *bytes, size_t n, char *out);
