/* cost.h - costs are integers of 10^-12 of a currency unit (COST_UNIT); their sums and their texts. */
#pragma once

#include <stdint.h>

/* Harnesses are not trusted to report sensible numbers: a sum stops at the largest number. */
static inline int64_t cost_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

#define COST_TEXT_SIZE 32
#define COST_DIGITS 12 /* decimal places of COST_UNIT */

/* A JSON number of so many decimal places, without needless zeros. Returns out. */
char *decimal_text(uint64_t amount, unsigned digits, char out[COST_TEXT_SIZE]);
/* A JSON number without exponent and without needless zeros: 12300000000 is "0.0123". Returns out. */
char *cost_text(int64_t cost, char out[COST_TEXT_SIZE]);
