/*
 * life_state.h - the state of the daemon as one word: which may follow which, and why. Pure.
 *
 * The word is for whoever runs many daemons. It says what the daemon is there for now, not whether it works: that is
 * "busy" (lifecycle.h). The one setter holds each change against the table and logs it. A change that is not in the
 * table is refused. daemon/README.md shows the table; a unit test compares.
 */
#pragma once

#include "base/buf.h"

enum life_state {
	LIFE_PROVISIONING, /* nobody has claimed it */
	LIFE_READY,
	LIFE_PAUSED,   /* it holds still until it knows what a restore has made of it */
	LIFE_DRAINING, /* it ends when its work has, or the time is over */
	LIFE_STATE_MAX,
};

/* The change is known, or is none. */
bool life_state_may(enum life_state from, enum life_state to);
/* False: the table has no such change, and state stays. why: for the log. */
bool life_state_set(enum life_state *state, enum life_state to, const char *why);
const char *life_state_word(enum life_state s);
/* The table as lines of markdown. */
void life_states_put_table(struct buf *ret);
