/*
 * redact_internal.h - what a session hides from text that leaves it.
 *
 * This folder owns struct session_redact (`redact` in struct session). Values are wiped when the session
 * is freed. Masking allocates only where something is hidden, and never fails.
 */
#pragma once

#include "base/buf.h"
#include "session/core/redact/event_fields.h"
#include "session/core/redact/secrets.h"
#include "session/core/session.h"

/* In struct session: redact. What is secret: the part secrets keeps it. */
struct session_redact {
	struct secrets known;
};

/* session_mask.c */
/* json with the secrets in its text hidden, in b; json itself if it has none. members, table: event_fields_mask. */
struct slice session_mask_json(const struct session *s, struct slice json, bool members,
			       const struct event_field *table, struct buf *b);
void session_mask_string(const struct session *s, char **text);
struct err session_mask_err(const struct session *s, const struct err *e);
/* The same of the end of a longer text (cut), in place: its first half is left out, where the rest of a secret may be. */
void session_mask_rest(const struct session *s, struct buf *b, bool cut);
/* A file of ours, by a copy. */
int session_mask_file(const struct session *s, const char *path);
