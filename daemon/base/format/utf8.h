/* utf8.h - well-formed UTF-8 as Unicode defines it, for JSON strings, names and texts. Inline, because the JSON scanner
 * calls it often. */
#pragma once

#include "base/slice.h"

#include <stdint.h>

/* Length of the well-formed UTF-8 sequence at p (2..4), or 0. Table 3-7 of the Unicode standard. */
static inline size_t utf8_sequence(const unsigned char *p, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;

	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (left < n)
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	if (p[1] < lo || p[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Checks 8 bytes at a time where they are ASCII. */
static inline bool utf8_valid(struct slice s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t i = 0, n;

	while (i < s.n) {
		uint64_t word;

		if (s.n - i >= sizeof(word)) {
			memcpy(&word, p + i, sizeof(word));
			if (!(word & 0x8080808080808080ull)) {
				i += sizeof(word);
				continue;
			}
		}
		n = p[i] < 0x80 ? 1 : utf8_sequence(p + i, s.n - i);
		if (!n)
			return false;
		i += n;
	}
	return true;
}

/* How much of text, well-formed, has at most max bytes and ends with a whole character. */
static inline size_t utf8_fitting(struct slice text, size_t max)
{
	size_t n = text.n;

	if (n <= max)
		return n;
	for (n = max; n && ((unsigned char)text.p[n] & 0xc0) == 0x80; n--)
		;
	return n;
}
