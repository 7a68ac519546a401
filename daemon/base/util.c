#include "base/util.h"

#include <stdlib.h>
#include <string.h>

void *array_grow(void *array, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0) {
		array = reallocarray(array, n ? 2 * n : 1, size);
		if (!array)
			abort();
	}
	memset((char *)array + n * size, 0, size);
	return array;
}
