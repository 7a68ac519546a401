#include "usage/cost.h"

#include "harnesses/harness.h"

#include <inttypes.h>

_Static_assert(COST_UNIT == 1000000000000LL, "COST_DIGITS");

char *decimal_text(uint64_t amount, unsigned digits, char out[COST_TEXT_SIZE])
{
	uint64_t scale = 1;
	int len;

	for (unsigned i = 0; i < digits; i++)
		scale *= 10;
	len = snprintf(out, COST_TEXT_SIZE, "%" PRIu64, amount / scale);
	if (amount % scale == 0)
		return out;
	len += snprintf(out + len, (size_t)(COST_TEXT_SIZE - len), ".%0*" PRIu64, (int)digits,
			amount % scale);
	/* A digit after the point is not 0, so this stops before the point. */
	while (out[len - 1] == '0')
		out[--len] = '\0';
	return out;
}

char *cost_text(int64_t cost, char out[COST_TEXT_SIZE])
{
	char digits[COST_TEXT_SIZE];

	/* Negated as unsigned: -INT64_MIN does not fit an int64_t. */
	decimal_text(cost < 0 ? -(uint64_t)cost : (uint64_t)cost, COST_DIGITS, digits);
	snprintf(out, COST_TEXT_SIZE, "%s%.*s", cost < 0 ? "-" : "", COST_TEXT_SIZE - 2, digits);
	return out;
}
