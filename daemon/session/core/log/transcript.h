/*
 * transcript.h - one entry of the event log as a public event: {seq, ts, sessionId, turnId?, traceparent?,
 * clientRequestId?, attempt?, labels of the session, sandboxId?, kind, event?, final?, ...data}.
 *
 * kind is one of a closed list: plan, tool_call, result, check, ask_approval, complete, prompt, message, thought,
 * usage, artifact, lifecycle, error. data are the members of the ACP update (or of our own event) as they are; one that
 * would be mistaken for a member of ours is renamed (kind -> toolKind, any other x -> updateX). event names the ACP
 * update where the kind covers several. final marks the event that ends a turn: kind complete or error.
 *
 * Pure: nothing is kept, every entry gives exactly one event, so that seq has no holes. The object is one line: no CR
 * or LF, whatever white space the frame carried.
 */
#pragma once

#include "session/core/log/evlog.h"

/* Appends the object of e, without a newline; 0 or -E2BIG. */
int transcript_put(struct buf *b, const char *session_id, const struct evlog_entry *e);
/* Events are gone: {ts, sessionId, kind: "lifecycle", event: "gap", from, to, reason?}. */
int transcript_put_gap(struct buf *b, const char *session_id, const struct evlog_gap *g);
/* {ts, sessionId, kind: "lifecycle", event: "deleted"} */
int transcript_put_deleted(struct buf *b, const char *session_id);
