/*
 * confine_watch.h - answers the calls that a filter with CONFINE_LOG hands to its listener, and says what they were.
 *
 * A call that a row of confine_denials.h refuses fails with that row's errno, as it would without a listener: nothing is
 * allowed because somebody watches. All others (watched.h) go on, and are named where they will fail.
 *
 * Reading about a call may take long (caller.h): for a thread. The caller waits meanwhile, and nobody else.
 */
#pragma once

#include "confine/confinement.h"
#include "confine/watch/refusals.h"

struct watch_scope {
	const struct confinement *confinement;
	bool walled; /* in a network with nothing but a loopback */
	struct refusals *to;
};

/* Waits for the next call, records it if it is refused, and then answers it: who has seen it fail finds it in the record.
 * 0, also if its process is gone; -errno: no call will come any more. */
int confine_watch_next(int listener, const struct watch_scope *scope);
