#include "fetch/wiping_memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void wiping_free(void *p)
{
	if (p)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *wiping_realloc(void *p, size_t n)
{
	size_t had = p ? malloc_usable_size(p) : 0;
	void *grown;

	if (n && n <= had && had - n < n)
		return p; /* it fits, and would not shrink by much */
	grown = malloc(n ? n : 1);
	if (!grown)
		return NULL;
	if (p)
		memcpy(grown, p, had < n ? had : n);
	wiping_free(p);
	return grown;
}

CURLcode wiping_memory_init(void)
{
	return curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc,
				    strdup, calloc);
}
