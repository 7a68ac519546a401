/*
 * account.h - what one turn used: tokens and cost as the harness told, tool calls, times. Fed while the turn runs, read when it ends.
 *
 * Counts of model calls are added up; a count that the harness gave for the whole turn replaces its sum. What nobody reported stays
 * absent. The source names where a number came from.
 */
#pragma once

#include "harnesses/harness.h"
#include "json/jenc.h"

struct account {
	struct harness_usage sum, turn; /* of model calls; of the turn */
	unsigned calls;			/* model calls reported */
	char *model, *provider, *response_id, *finish_reason;
	char currency[8];
};

void account_usage(struct account *a, const struct harness_usage *u);
void account_done(struct account *a);
/* The turn's count; false: unknown. */
bool account_count(const struct account *a, enum harness_count what, uint64_t *ret);
/* ACP's PromptResponse.usage; left out unless input and output are known. */
void account_put_acp(const struct account *a, struct jw *w, const char *key);
