#include "base/util.h"

#include <stdarg.h>

char *xprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	if (vasprintf(&p, fmt, ap) < 0)
		abort();
	va_end(ap);
	return p;
}

char *text_print(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return out;
}

void *array_grow(void *array, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0) {
		array = reallocarray(array, n ? 2 * n : 1, size);
		if (!array)
			abort();
	}
	/* Also where the array was cut short before: the item may have an old value. */
	memset((char *)array + n * size, 0, size);
	return array;
}
