/*
 * internal.h - what normalise.c, which mends OpenCode's ACP, and report.c, which reads its plugin, share: the state of
 * one session, kept as hook_state of the generic adapter. Everything except the commands belongs to the running turn.
 */
#pragma once

#include "harnesses/acp/internal.h"

/* ACP shows a summary as if it were an answer, and after the compaction has ended. */
struct opencode_summary {
	char message[64], compaction[64];
};

/* What a call did to files. ACP shows only what the edit tool was given. */
struct opencode_change {
	char *call, *diffs; /* diffs: raw array */
};

struct opencode_state {
	char *commands; /* raw array of those that it has announced */
	bool in_turn, counted, truncated, failed, quiet;
	char broken[64]; /* the message that a retry begins anew */
	unsigned retries;
	struct turn_error error;
	struct opencode_summary summaries[4]; /* the latest */
	unsigned nsummaries;
	struct opencode_change changes[8]; /* the latest: there are never more at once */
	unsigned nchanges;
};

static inline struct opencode_state *state_of(struct harness *h)
{
	return h->hook_state;
}

/* report.c: a notification of the plugin. */
void opencode_on_notification(struct harness *h, const char *method, struct slice params);
/* Keeps an id that fits; else to stays as it is. */
void opencode_copy_id(char to[64], struct jval v);
