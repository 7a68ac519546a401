/*
 * session_next.h - what a session does next: one table (session_next.c), read from top to bottom; the first row that
 * fits acts. session_advance reads it.
 *
 * A row asks for the states of session and harness and for facts. The facts are found first, all of them; finding them
 * changes nothing. A row without an action says what the session waits for: the code that brings it calls
 * session_advance. daemon/README.md shows the table. A unit test compares, and holds that every combination has a row.
 */
#pragma once

#include "session/core/session_internal.h"

enum session_fact {
	FACT_FORK_COPIES,
	FACT_PROVISIONING,
	FACT_DRAFT,
	FACT_DRAFT_QUEUE,
	FACT_POOL_QUEUE,
	FACT_RESTART,
	FACT_RECONFIGURE,
	FACT_WAITER,
	FACT_PROMPT,
	FACT_RUNNING_TURN,
	FACT_ENDING_TURN,
	FACT_DUE_BASELINE,
	FACT_SNAPSHOT,
	FACT_CANCELLED_TICK,
	FACT_INSPECTION,
	FACT_CHECK,
	FACT_MAX
};

struct next_row {
	unsigned sessions, harnesses; /* bits of enum session_state, enum harness_state */
	unsigned with, without;	      /* bits of enum session_fact */
	void (*act)(struct session *s);
	const char *next;
};

/* facts: bits. NULL: there is no such row, which is a defect. */
const struct next_row *next_row_find(enum session_state session, enum harness_state harness,
				     unsigned facts);
/* NULL after the last. */
const struct next_row *next_row_at(size_t i);
