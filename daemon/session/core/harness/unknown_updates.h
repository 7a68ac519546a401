/*
 * unknown_updates.h - updates of a harness whose kind is not in ACP as acpd knows it, passed on as events.
 *
 *	{kind: "lifecycle", event: "update_unknown", update}
 *
 * An update above UNKNOWN_UPDATE_MAX is described instead: {…, sessionUpdate?, bytes}. Beyond UNKNOWN_UPDATES_MAX in a
 * turn, or between two turns, they are counted, and the last event of this kind is {…, more}. An event and not a
 * session/update, because clients may validate these by their own schema.
 */
#pragma once

#include "base/slice.h"

#include <stdint.h>

struct session;

/* In struct session_harness: unknown. */
struct unknown_updates {
	unsigned told; /* events since the turn began, or the last one ended */
	uint64_t more; /* updates since then without an event */
};

/* update: raw object. */
void unknown_updates_take(struct session *s, struct slice update);
/* A turn begins or ends. */
void unknown_updates_tell_more(struct session *s);
