/*
 * daemon_caps.h - the capabilities that the daemon keeps. All others leave its effective and permitted sets at its start,
 * and its inheritable and ambient sets are emptied. The bounding set stays whole: what root starts has again all that
 * the bounding set has, and sudo of a session at level open needs that. What becomes another user has none anyway.
 *
 * Each row of the table says what it is for; daemon/README.md names the test that shows the need, and a test compares
 * both with what the kernel says of a running daemon.
 *
 * The kernel keeps them by thread, and a new thread has those of the one that makes it: so the daemon gives them up
 * before it makes any. Of a user who has none nothing is taken. Two system calls, no allocation.
 */
#pragma once

#include "base/err.h"

enum daemon_phase {
	DAEMON_STARTS,
	DAEMON_SERVES, /* its listeners are open */
};

/* 0 or -errno with e. Each phase takes what it does not need; nothing comes back. */
int daemon_caps_keep(enum daemon_phase phase, struct err *e);
