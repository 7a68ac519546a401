/*
 * event_table.h - kinds of events in a session's log: the ACP updates, and our own after them. One table says for each
 * whether it belongs to a turn, whether it is shown on replay, and which clients may see it.
 */
#pragma once

#include "base/slice.h"
#include "harnesses/harness.h"

enum session_event_kind {
	/* 0 .. UPDATE_MAX-1: enum harness_update */
	EVENT_TURN_END = UPDATE_MAX, /* _acpd/turn_end */
	EVENT_ASK,		     /* _acpd/event: a question was put */
	EVENT_ANSWER,		     /* _acpd/event: and answered */
	EVENT_USAGE,		     /* _acpd/event: a model call was reported */
	EVENT_LIFECYCLE, /* _acpd/event: harness ended, session closed or taken up again */
	EVENT_ARTIFACT,	 /* _acpd/event: an artifact was added */
	EVENT_CHECK,	 /* _acpd/event: a check has ended */
	EVENT_KIND_MAX,
};

/* What a client must have announced to be sent an event. */
enum client_cap {
	CLIENT_ACPD = 1,	 /* clientCapabilities._meta.acpd */
	CLIENT_NOTICES = 2,	 /* session.notices */
	CLIENT_COMPACTION = 4,	 /* session.compaction */
	CLIENT_PLAN = 8,	 /* plan */
	CLIENT_SUBAGENTS = 16,	 /* subagents */
	CLIENT_BOOLEAN = 32,	 /* session.configOptions.boolean */
	CLIENT_ELICITATION = 64, /* elicitation.form */
	CLIENT_ELICIT_URL = 128, /* elicitation.url */
	CLIENT_DEDUPS = 256,	 /* _meta.acpd.deduplicatesToolCalls */
};

enum event_flag {
	EVENT_F_TURN = 1,  /* belongs to a turn: dropped when none is open */
	EVENT_F_LIVE = 2,  /* not shown on replay */
	EVENT_F_NEVER = 4, /* never passed on from a harness */
};

struct event_kind_row {
	unsigned flags;
	unsigned needs; /* client_cap bits, all required */
};

const struct event_kind_row *event_kind_row(unsigned kind);
const char *event_kind_name(unsigned kind);
/* EVENT_KIND_MAX if unknown. */
unsigned event_kind_find(struct slice name);
