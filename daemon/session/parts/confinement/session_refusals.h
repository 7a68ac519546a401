/*
 * session_refusals.h - what the programs of a session were refused by its level, as events: for who asked with
 * _meta.acpd.level {log: true}.
 *
 *	{kind: "lifecycle", event: "confinement_refused", call, detail?, errno, count, rule}
 *
 * The first time at once, and at the end of each turn what has happened again since, with its count. What the record
 * (confine/watch/refusal.h) had no room for is only counted: {…, more}. At most REFUSALS_TOLD_MAX events for a turn
 * and REFUSALS_TOLD_ALL for a session.
 *
 * The record is the session's: harnesses come and go above it.
 */
#pragma once

#include "loop/loop.h"
#include "session/parts/session_parts.h"

struct refusals;

/* State of the part. */
struct session_refusals {
	struct refusals *record; /* NULL: nobody asked */
	struct loop_io news;
	unsigned told_turn, told_all;
};

static inline struct session_refusals *refusals_of(const struct session *s)
{
	return s->parts[PART_REFUSALS];
}
