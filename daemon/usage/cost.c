#include "usage/cost.h"

#include "harnesses/harness.h"

#include <stdio.h>

char *cost_text(int64_t cost, char out[COST_TEXT_SIZE])
{
	uint64_t n = cost < 0 ? -(uint64_t)cost : (uint64_t)cost;
	int len = snprintf(out, COST_TEXT_SIZE, "%s%llu.%012llu", cost < 0 ? "-" : "",
			   (unsigned long long)(n / (uint64_t)COST_UNIT),
			   (unsigned long long)(n % (uint64_t)COST_UNIT));

	while (out[len - 1] == '0')
		out[--len] = '\0';
	if (out[len - 1] == '.')
		out[--len] = '\0';
	return out;
}
