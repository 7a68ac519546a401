/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - the command line of the load programs: WORK KEY=VALUE… [-- PROGRAM ARG…]. */
#pragma once

#include <stddef.h>

/* Where a value goes: one of both. */
struct arg_key {
	const char *key;
	const char **text;
	long *number;
};

/* Also fills set.argv with what stands behind "--", and set.token from set.token_file. Ends the program for what it does not know. */
void args_read(int argc, char **argv, const struct arg_key *keys, size_t n);

/* What a program can do: its first word. */
struct arg_work {
	const char *name;
	void (*run)(void);
};

/* Reads the command line and does that, within set.seconds. Ends the program for a work it does not know. */
void args_work(int argc, char **argv, const struct arg_key *keys, size_t n,
	       const struct arg_work *works, size_t nworks);
