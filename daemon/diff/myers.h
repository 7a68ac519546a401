/*
 * myers.h - which elements of two sequences differ: the algorithm of E. W. Myers, "An O(ND) Difference Algorithm and
 * Its Variations" (1986), in linear space: forward and backward search meet in the middle of the shortest way, which
 * cuts the problem in two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct myers_side {
	const uint32_t *id;   /* equal elements have equal ids */
	const uint32_t *line; /* where the caller keeps the element */
	uint32_t n;
	bool *changed; /* out, by line: true if it has no counterpart. All false before. */
};

/* 0 or -ENOMEM (a few KiB). */
int myers_compare(const struct myers_side *a, const struct myers_side *b);
