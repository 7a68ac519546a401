/*
 * event_fields.h - which strings of an event are text of others, and which are words of the protocol.
 *
 * Secrets are hidden in text only. A member's name, an id, a status, a model's name or a number is what programs act
 * on: with "***" there the protocol is broken, or usage has no owner. So every kind of update and of our
 * own events has a table of its members: those that are protocol, and where others lie deeper. What no table names is
 * text, so that a member nobody has heard of leaks nothing.
 *
 * Pure. The input has been validated; it is read once, whatever its depth, and everything but the strings that change
 * is copied as it is.
 */
#pragma once

#include "session/core/log/event_table.h"
#include "session/core/redact/mask.h"

struct event_field {
	const char *const *names;     /* NULL: the last; in is then what other members have */
	const struct event_field *in; /* NULL: text */
};

/* Of an update object, or of the members of an event of ours; kind: enum harness_update or event_kind. */
const struct event_field *event_fields_of(unsigned kind);
extern const struct event_field
	event_fields_question[]; /* params of a permission request or an elicitation */
extern const struct event_field
	event_fields_options[]; /* modes and config options, as a harness has them */
extern const struct event_field event_fields_webhook[]; /* data of a webhook */
extern const struct event_field event_fields_head[];	/* the "session" record of a journal */

/* json: one value, or, members, those of an object without its braces. Appends it with the secrets in its text
 * hidden. */
void event_fields_mask(const struct mask *m, struct slice json, bool members,
		       const struct event_field *table, struct buf *ret);
