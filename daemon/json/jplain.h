/*
 * jplain.h - how much of the text of a JSON string stands for itself: printable ASCII without quote and backslash. Inline,
 * because scanner and encoder spend most of their time in it. Nothing is allocated, nothing fails.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 16 bytes at a time; a compiler makes of it what the machine has. */
typedef signed char jbytes16 __attribute__((vector_size(16)));
typedef char jchars16 __attribute__((vector_size(16)));
typedef uint64_t jwords2 __attribute__((vector_size(16)));

/* The first of the bytes that is not 0, if there is one. */
static inline bool jplain_first(jbytes16 set, unsigned *at)
{
#ifdef __SSE2__
	unsigned bits = (unsigned)__builtin_ia32_pmovmskb128((jchars16)set);

	if (bits)
		*at = (unsigned)__builtin_ctz(bits);
	return bits;
#else
	jwords2 w = (jwords2)set;

	if (!(w[0] | w[1]))
		return false;
	*at = (w[0] ? 0 : 64) + (unsigned)__builtin_ctzll(le64toh(w[0] ? w[0] : w[1]));
	*at /= 8;
	return true;
#endif
}

/* The first byte that needs a check, if there is one: a control byte, a quote, a backslash or a byte that is not ASCII, which
 * is negative here. */
static inline bool jplain_find(const unsigned char *p, unsigned *at)
{
	jbytes16 b;

	memcpy(&b, p, sizeof(b));
	return jplain_first((b < ' ') | (b == '"') | (b == '\\'), at);
}

static inline bool jplain_is(unsigned char c)
{
	return c >= ' ' && c < 0x80 && c != '"' && c != '\\';
}

/* Where the first byte that needs a check is, or the end. */
static inline const unsigned char *jplain_skip(const unsigned char *p, const unsigned char *end)
{
	unsigned at;

	for (; end - p >= (ptrdiff_t)sizeof(jbytes16); p += sizeof(jbytes16))
		if (jplain_find(p, &at))
			return p + at;
	while (p < end && jplain_is(*p))
		p++;
	return p;
}
