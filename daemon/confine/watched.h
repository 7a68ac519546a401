/*
 * watched.h - calls that no filter refuses, but that fail nevertheless: writes, by what a process sees of the file
 * system, and connections, by the network it is in. With CONFINE_LOG they go to the listener too, which lets every one
 * of them go on and says which will fail (confine_watch.h). Static.
 *
 * What a call may do is not decided here: it goes on, whatever is found.
 */
#pragma once

#include "confine/confine_list.h"

/* What has to be at the path for the call to get as far as to the question whether it may write there. */
enum watched_target {
	TARGET_OLD, /* something */
	TARGET_NEW, /* nothing */
	TARGET_ANY,
	TARGET_FLAGS,	/* as the flags of open say, which the call has as an argument */
	TARGET_HOW,	/* the same, behind a pointer */
	TARGET_ADDRESS, /* no path: the address of a socket, and its length after it */
};

struct watched {
	const char *call;
	int dir, path; /* arguments; dir -1: paths are relative to the working directory */
	enum watched_target target;
	bool no_follow; /* a link at the end is the target itself */
	unsigned flags; /* the argument, for TARGET_FLAGS and TARGET_HOW */
	struct confine_condition when[CONFINE_CONDITIONS_MAX];
};

const struct watched *watched_calls(size_t *n);
/* The row of a call; NULL: none. */
const struct watched *watched_find(int number, const uint64_t args[CONFINE_CALL_ARGS]);
