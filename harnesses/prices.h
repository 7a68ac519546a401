/*
 * prices.h - what a provider charges, as the client says it, and what a model call cost by that. Pure.
 *
 * {MODEL: {input?, output?, cacheRead?, cacheWrite5m?, cacheWrite1h?}}: amounts of currency for a million tokens. They
 * are decimal and exact to 10^-12, and so is what is computed with them; it is rounded once, at its end. Where a kind of
 * token was used that has no price, there is no cost.
 */
#pragma once

#include "harnesses/harness.h"

/* raw: an object, or empty. prefix: of the fields that errors name, with a dot at its end. */
int prices_check(struct slice raw, const char *prefix, struct err *e);
/* What u cost with the prices of model. False: there is no such model, or not all is known. */
bool prices_cost(struct slice raw, const char *model, const struct harness_usage *u, int64_t *ret);
