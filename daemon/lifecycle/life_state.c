/*
 * life_state.c - the states of the daemon as a table of changes; the one setter refuses and logs any other.
 *
 * There is no way out of draining: a daemon that ends does not come back.
 */
#include "lifecycle/life_state.h"

#include "base/log.h"

static const char *const words[LIFE_STATE_MAX] = { [LIFE_PROVISIONING] = "provisioning",
						   [LIFE_READY] = "ready",
						   [LIFE_PAUSED] = "paused",
						   [LIFE_DRAINING] = "draining" };

static const struct {
	enum life_state from, to;
	const char *when;
} changes[] = {
	{ LIFE_PROVISIONING, LIFE_READY, "it is claimed" },
	{ LIFE_PROVISIONING, LIFE_PAUSED, "a restore is noticed" },
	{ LIFE_PROVISIONING, LIFE_DRAINING, "it is told to end, or its time is over" },
	{ LIFE_READY, LIFE_PROVISIONING, "its claim is dropped" },
	{ LIFE_READY, LIFE_PAUSED, "a restore is noticed" },
	{ LIFE_READY, LIFE_DRAINING, "it is told to end, or its time is over" },
	{ LIFE_PAUSED, LIFE_READY, "it goes on, and its claim stands" },
	{ LIFE_PAUSED, LIFE_PROVISIONING, "it goes on as another, without a claim" },
	{ LIFE_PAUSED, LIFE_DRAINING, "it is told to end, or its time is over" },
};

bool life_state_may(enum life_state from, enum life_state to)
{
	if (from == to)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		if (changes[i].from == from && changes[i].to == to)
			return true;
	return false;
}

bool life_state_set(enum life_state *state, enum life_state to, const char *why)
{
	bool may = life_state_may(*state, to);

	if (*state == to)
		return true;
	if (may)
		log_info("life", "state", "from", words[*state], "to", words[to], "why", why);
	else
		log_error("life", "a change of state that there is not", "from", words[*state],
			  "to", words[to], "why", why);
	*state = may ? to : *state;
	return may;
}

const char *life_state_word(enum life_state s)
{
	return words[s];
}

void life_states_put_table(struct buf *ret)
{
	buf_puts(ret, "| from | to | when |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		buf_printf(ret, "| %s | %s | %s |\n", words[changes[i].from], words[changes[i].to],
			   changes[i].when);
}
