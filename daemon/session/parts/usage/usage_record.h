/* usage_record.h - records of the usage ledger: one for each model call that is reported, and one for every turn. */
#pragma once

#include "session/core/turn/turn_internal.h"

struct metered;

/* One attempt of a model call that passed the daemon. */
struct call_report {
	const struct metered *use;
	const char *model_asked, *call_id, *request_id; /* each may be NULL */
	unsigned attempt;
	size_t sent, received; /* bytes of bodies */
	bool answered, auxiliary, cancelled, succeeded;
	uint64_t ttfb_ms, duration_ms;
};

/* t: its turn, or NULL: it counts in the session's totals alone. */
void usage_record_metered(struct session *s, struct session_turn *t, const struct call_report *r);
/* call_span.c: a call that passed has ended just now. t: its turn, or NULL. */
void model_call_span(struct session *s, const struct session_turn *t, const struct call_report *r);
