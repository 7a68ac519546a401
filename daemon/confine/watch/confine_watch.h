/*
 * confine_watch.h - answers the calls that a filter with CONFINE_LOG hands to its listener, and says what they were.
 *
 * A call that a row of confine_denials.h refuses fails with that row's errno, as it would without a listener: nothing is
 * allowed because somebody watches. All others (watched.h) go on, and are named where they will fail.
 *
 * It does so in a thread for each child, because reading about a call may take as long as its process likes (caller.h).
 * Then that process waits, not the loop and no other child.
 */
#pragma once

#include "confine/confinement.h"
#include "confine/watch/refusal.h"

struct watch_scope {
	const struct confinement *confinement;
	bool walled; /* in a network with nothing but a loopback */
	struct refusals *to;
};

/* Takes the listener. What the thread needs of scope it references. The thread ends with the last process under that filter;
 * no caller waits for it. If there can be none, the child fails by its first refused call (ENOSYS), and the log says why. */
void confine_watch_start(int listener, const struct watch_scope *scope);
