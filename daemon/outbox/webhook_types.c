#include "outbox/webhook_types.h"

const char *const webhook_types[WEBHOOK_TYPES] = {
	[WEBHOOK_TURN_ENDED] = "turn.ended",
	[WEBHOOK_QUESTION_OPEN] = "question.open",
	[WEBHOOK_BUDGET_WARNING] = "budget.warning",
	[WEBHOOK_SESSION_BROKEN] = "session.broken",
	[WEBHOOK_ARTIFACT_CREATED] = "artifact.created",
	[WEBHOOK_CHECK_FAILED] = "check.failed",
	[WEBHOOK_DRAFT_READY] = "draft.ready",
};

enum webhook_type webhook_type_find(struct slice name)
{
	int i = 0;

	while (i < WEBHOOK_TYPES && !slice_is(name, webhook_types[i]))
		i++;
	return (enum webhook_type)i;
}

void webhook_types_put(unsigned set, struct buf *b)
{
	bool more = false;

	for (int i = 0; i < WEBHOOK_TYPES; i++) {
		if (!(set & (1u << i)))
			continue;
		if (more)
			buf_putc(b, ',');
		buf_puts(b, webhook_types[i]);
		more = true;
	}
}

unsigned webhook_types_parse(struct slice names)
{
	struct slice name;
	unsigned set = 0;

	while (slice_item(&names, ',', &name))
		set |= 1u << webhook_type_find(name);
	return set & WEBHOOK_ALL;
}
