#include "skill/skill_internal.h"

size_t utf8_next(struct slice s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char c = (unsigned char)s.p[0];
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	uint32_t v = n == 1 ? c : c & (0x7fu >> n);

	if (!n || n > s.n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)s.p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | ((unsigned char)s.p[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*ret = v;
	return n;
}

bool utf8_valid(struct slice s)
{
	uint32_t c;
	size_t n;

	for (; s.n; s.p += n, s.n -= n) {
		n = utf8_next(s, &c);
		if (!n)
			return false;
	}
	return true;
}

size_t utf8_count(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The characters that Python's str.strip removes. */
static bool is_space(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0x09, 0x0d },	    { 0x1c, 0x20 },	{ 0x85, 0x85 },	    { 0xa0, 0xa0 },
		{ 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f },
		{ 0x205f, 0x205f }, { 0x3000, 0x3000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

bool utf8_blank(const char *text)
{
	struct slice s = slice_of(text);
	uint32_t c;
	size_t n;

	for (; s.n; s.p += n, s.n -= n) {
		n = utf8_next(s, &c);
		if (!n || !is_space(c))
			return false;
	}
	return true;
}
