/*
 * array.h - an array that grows one by one. No capacity is kept beside its number: the array is full when the number is
 * a power of two.
 *
 * The owner frees the array. Only array_grow may allocate it. It may be cut short (its number lowered) at any time. It
 * is for contents that have a bound of ours: without memory it aborts. What a peer makes as long as it likes goes
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
