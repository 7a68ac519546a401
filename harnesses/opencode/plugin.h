/*
 * plugin.h - a plugin for OpenCode, planted in the session's private home. It runs inside OpenCode and writes what
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

#define OPENCODE_PLUGIN_FILE "acpd-report.js"

extern const char opencode_plugin[];
