#include "usage/estimate.h"

#include "base/limits.h"
#include "base/util.h"

void estimate_tokens(const struct call_size *size, uint64_t *input, uint64_t *output)
{
	*input = size->bytes / ESTIMATE_BYTES_PER_TOKEN + 1;
	*output = size->output ? MIN(size->output, ESTIMATE_OUTPUT_MAX) : ESTIMATE_OUTPUT;
}

/* By the price of a token so far. */
static uint64_t cost_of(uint64_t tokens, const struct spending *used)
{
	unsigned __int128 cost;

	if (!used->used[BUDGET_TOKENS])
		return used->used[BUDGET_STEPS] ? 0 : UINT64_MAX;
	cost = (unsigned __int128)used->used[BUDGET_COST] * tokens / used->used[BUDGET_TOKENS];
	return cost > UINT64_MAX ? UINT64_MAX : (uint64_t)cost;
}

void estimate_call(const struct call_size *size, const struct spending *used, const int64_t *cost,
		   struct spending *ret)
{
	uint64_t input, output;

	estimate_tokens(size, &input, &output);
	*ret = (struct spending){
		.used = { [BUDGET_STEPS] = 1,
			  [BUDGET_TOKENS] = input + output,
			  [BUDGET_COST] = cost ? (uint64_t)*cost : cost_of(input + output, used) }
	};
}
