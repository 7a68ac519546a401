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
