/*
 * internal.h - what the adapter's files share.
 *
 * OpenCode runs as its own ACP server ("opencode acp", opencode.c); README.md has what is mapped. normalise.c mends what that
 * loses, and report.c reads the plugin. Their state of one session is the hook_state of the generic adapter. Everything except
 * the commands belongs to the running turn.
 *
 * The plugin (plugin.mjs) is planted in the session's private home. It runs inside OpenCode and writes what
 * its ACP leaves out as notifications "_acpd/…" onto the same stdout, whole lines in the order of events and so
 * before the prompt's answer:
 *
 *	_acpd/call   {sessionId, model, provider, summary, reason, tokens, cost, child}   a model call is over, subagents' too
 *	_acpd/retry  {sessionId, attempt, message}     it waits to try a failed request again
 *	_acpd/error  {sessionId, name, message, status, retryable}   why the turn fails
 *	_acpd/compaction {sessionId, id, status}
 *	_acpd/summary {sessionId, messageId, id}       that message is a compaction's summary, not an answer
 *	_acpd/again {sessionId, messageId}             the next attempt at that message begins
 *	_acpd/plan {sessionId, todos}                  the list of the model's tasks
 *	_acpd/change {sessionId, callId, diffs}        what a call wrote, for the tools whose diffs ACP leaves out
 *
 * It reads _acpd/limit {toolCalls} from the same stdin as OpenCode, before each prompt: of the calls of that turn no
 * more are let run. It switches compaction off for the rest of a turn in which the context was too long twice with no
 * answer in between: OpenCode would compact for ever. It also adds the session's system prompt, gives the model the
 * exit code of a command that failed, keeps our variables from the commands, and answers what subagents ask: ACP
 * shows their questions to nobody, and the turn would hang. It rejects all but the edits that the session's approval
 * allows.
 */
#pragma once

#include "harnesses/acp/internal.h"

#define OPENCODE_PROVIDER_ID "acpd"
#define OPENCODE_PLUGIN_FILE "acpd-report.js"

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

static inline struct opencode_state *opencode_state_of(struct harness *h)
{
	return h->hook_state;
}

/* normalise.c: the row and its hooks. */
extern const struct acp_quirks opencode_quirks;
/* opencode.c: plugin.mjs */
extern const char opencode_plugin[];
/* report.c: a notification of the plugin. */
void opencode_on_notification(struct harness *h, const char *method, struct slice params);
