/*
 * estimate.h - what a model call may use, before it is made. Pure.
 *
 * Calls that run at the same time must not go beyond a budget together. So what each may use is reserved until its real
 * usage is known: one step; a token for every four bytes of the request, and as many as the answer may have, by the request
 * or 4096; the cost of these by the provider's prices, else by what the tokens of the session have cost so far. As
 * long as nobody has told of any cost all of it is reserved: the first call goes alone.
 */
#pragma once

#include "usage/budget.h"

struct call_size {
	uint64_t bytes, output; /* output: tokens that the request allows; 0: it says nothing */
};

void estimate_tokens(const struct call_size *size, uint64_t *input, uint64_t *output);
/* used: by the session so far. cost: of these tokens by prices; NULL: there are none. */
void estimate_call(const struct call_size *size, const struct spending *used, const int64_t *cost,
		   struct spending *ret);
