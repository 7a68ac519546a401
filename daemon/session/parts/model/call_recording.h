/*
 * call_recording.h - the model calls of a session, written down as they pass: --record-model (protocol/bundles.md).
 *
 * They are lines of runs/<session>/model/calls.ndjson, in the order in which things happened: a request, its answer's head, its
 * pieces, its end; calls that run at the same time lie between each other, and are told by their id. A line is
 * written at once, but for what of an answer may hold a part of a secret (session/core/redact/masked_answer.h).
 *
 * The session's secrets are hidden as in events. An answer in which they cannot be found, because it is compressed or
 * beyond the bounds of masked_answer.h, ends there: "failed", ANSWER_NOT_RECORDED. Requests have no headers here, and answers those that a harness gets. A
 * recording that would be longer than --record-max, or cannot be written, stops for good: its last line says why, an
 * event says so, and so does the manifest of a bundle. Calls go on as if there was none.
 */
#pragma once

#include "base/buf.h"
#include "json/jenc.h"
#include "session/core/redact/masked_answer.h"

struct provider_call;
struct session;

/* In struct session_model: recording. */
struct recording {
	bool open; /* fd is its file */
	int fd;
	uint64_t bytes;
	const char *stopped; /* why nothing more is recorded; NULL: it is */
};

/* In struct provider_call: trace. */
struct call_trace {
	bool recorded;
	struct masked_answer *answer; /* NULL: it is not recorded */
};

/* An attempt begins. */
void call_record_begin(struct provider_call *c);
/* headers: raw object of strings, as the provider sent them. */
void call_record_head(struct provider_call *c, int status, struct slice headers);
void call_record_data(struct provider_call *c, struct slice bytes);
/* how: "complete", "failed" or "cancelled"; reason: the refusal's word, or NULL. */
void call_record_end(struct provider_call *c, const char *how, const char *reason);
/* The call is gone, whatever was recorded of it. */
void call_record_forget(struct provider_call *c);
/* No call of the session is open. */
void call_record_close(struct session *s);
/* Why the recording in this file was stopped, or NULL. */
const char *call_record_stopped(int fd);
