/*
 * passing_home.h - a home for a program that is only asked something: an empty directory of its user's own below /tmp, that
 * goes with what the program has put there. Some do not even say their version without a home that they can write.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct passing_home {
	char dir[40];	   /* empty: none could be made */
	char variable[48]; /* HOME=..., /nonexistent then */
};

/* give: to uid and gid; else it is the caller's. */
void passing_home_make(struct passing_home *h, bool give, uid_t uid, gid_t gid);
/* Nothing of the program runs any more. */
void passing_home_remove(struct passing_home *h);
