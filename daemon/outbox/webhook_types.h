/* webhook_types.h - the types of events that webhooks tell of. webhook_gap is none that one can choose: it always comes. */
#pragma once

#include "base/buf.h"

enum webhook_type {
	WEBHOOK_TURN_ENDED,
	WEBHOOK_QUESTION_OPEN,
	WEBHOOK_BUDGET_WARNING,
	WEBHOOK_SESSION_BROKEN,
	WEBHOOK_ARTIFACT_CREATED,
	WEBHOOK_CHECK_FAILED,
	WEBHOOK_DRAFT_READY,
	WEBHOOK_TYPES,
};

#define WEBHOOK_ALL ((1u << WEBHOOK_TYPES) - 1)
#define WEBHOOK_GAP "webhook_gap"

extern const char *const webhook_types[WEBHOOK_TYPES];
/* WEBHOOK_TYPES: it is none. */
enum webhook_type webhook_type_find(struct slice name);
/* The names of those in the set, separated by commas. */
void webhook_types_put(unsigned set, struct buf *b);
/* What webhook_types_put wrote; unknown words are left out. */
unsigned webhook_types_parse(struct slice names);
