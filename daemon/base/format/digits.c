#include "base/format/digits.h"

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
		*s = slice_after(*s, i);
	return i;
}

/* Before end; returns where they begin. */
static char *digits_before(char *end, uint64_t v)
{
	/* two at a time: a division takes longer than all the rest */
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *p = end;

	for (; v >= 10; v /= 100)
		memcpy(p -= 2, pairs + v % 100 * 2, 2);
	if (v || p == end)
		*--p = (char)('0' + v);
	return p;
}

char *u64_write(char *out, uint64_t v)
{
	char text[U64_DIGITS], *end = text + sizeof(text), *p = digits_before(end, v);

	return mempcpy(out, p, (size_t)(end - p));
}

void u64_put(struct buf *b, uint64_t v)
{
	char text[U64_DIGITS], *end = text + sizeof(text), *p = digits_before(end, v);

	buf_add(b, p, (size_t)(end - p));
}

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hex_put(const unsigned char *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}
