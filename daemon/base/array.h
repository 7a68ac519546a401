/*
 * array.h - an array that grows one by one, without a capacity to keep beside its number: it is full at the powers of
 * two.
 *
 * The array is the owner's to free. Nothing else may have allocated it, and it may be cut short (its number lowered)
 * at any time. For what has a bound of ours: memory that is gone aborts. What a peer makes as long as it likes goes
 * through base/buf.h.
 */
#pragma once

#include <stddef.h>

/* The array with room for item n, which is all zeros. */
void *array_grow(void *array, size_t n, size_t size);

/* The place of one more item of v, zeroed; counts n up. */
#define GROW(v, n)                                                                                 \
	({                                                                                         \
		(v) = array_grow((v), (n), sizeof(*(v)));                                          \
		&(v)[(n)++];                                                                       \
	})
