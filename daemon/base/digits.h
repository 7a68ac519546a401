/*
 * digits.h - numbers that others write as plain digits: no sign, no blank, nothing else. Each caller has its own
 * bound besides.
 *
 * strtoull and its like take blanks, signs and prefixes, need a NUL, and say in three ways that something was wrong.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* All of text is a decimal number that fits. False: it is not, and *ret is as it was. */
bool u64_parse(struct slice text, uint64_t *ret);
/* Takes decimal digits off the front of s, at most max of them, and says how many. *ret is their number;
 * UINT64_MAX stands for more. */
size_t u64_take(struct slice *s, size_t max, uint64_t *ret);
/* The value of a hexadecimal digit of either case; -1: it is none. */
int hex_digit(char c);
