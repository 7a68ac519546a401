#include "base/digits.h"

#include "base/buf.h"

static bool add_digit(uint64_t *v, char c)
{
	return !__builtin_mul_overflow(*v, (uint64_t)10, v) &&
	       !__builtin_add_overflow(*v, (uint64_t)(c - '0'), v);
}

bool u64_parse(struct slice text, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < '0' || text.p[i] > '9' || !add_digit(&v, text.p[i]))
			return false;
	if (text.n)
		*ret = v;
	return text.n > 0;
}

size_t u64_take(struct slice *s, size_t max, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	bool fits = true;

	for (; i < s->n && i < max && s->p[i] >= '0' && s->p[i] <= '9'; i++)
		fits = fits && add_digit(&v, s->p[i]);
	*ret = fits ? v : UINT64_MAX;
	if (i)
		*s = (struct slice){ s->p + i, s->n - i };
	return i;
}

void u64_put(struct buf *b, uint64_t v)
{
	char text[24], *p = text + sizeof(text);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
